"""How well an object is, and how well a unit is: small pure functions, one per kind.

    health_of(manifest)        one object, by the table of built-in kinds or a user's rule
    health_in(raw, …)          the same from bytes, decoding no more than the judgement needs
    worst_of(parts)            a unit, by its objects

`values` holds the words, `workloads`, `pods`, `serving` and `definitions` the rules of the kinds, `unit` the
summing up. Nothing here waits for anything: a judgement is about one state of one object.
"""

from trimtab.engine.health.judging import (
    HealthRule,
    deletion_health,
    health_in,
    health_of,
    is_judged,
)
from trimtab.engine.health.unit import Part, UnitHealth, worst_of
from trimtab.engine.health.values import (
    HOOK_FINALIZER,
    HOOK_FINALIZERS,
    PENDING_DELETION,
    Health,
    HealthStatus,
)

__all__ = [
    "HOOK_FINALIZER",
    "HOOK_FINALIZERS",
    "PENDING_DELETION",
    "Health",
    "HealthRule",
    "HealthStatus",
    "Part",
    "UnitHealth",
    "deletion_health",
    "health_in",
    "health_of",
    "is_judged",
    "worst_of",
]
