"""Judging one pair: normalised, less what is ignored, with stand-ins for secrets; then compared. Pure.

What the doer has to fetch (jq results, a server's prediction) comes in as values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from trimtab.engine.compare.confirming import changes
from trimtab.engine.compare.ignoring import KeyRules, pointer_of, without
from trimtab.engine.compare.normalising import Normal, normal
from trimtab.engine.compare.owners import Ownership, ownership
from trimtab.engine.compare.walking import OTHER_VERSION, Found, differences
from trimtab.engine.marks import Tracking
from trimtab.engine.rows import Difference, Verdict
from trimtab.errors import TrimtabError
from trimtab.kube.merging.typed import ABSENT
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.resources.secrets import StandIns, is_secret

COMPARE_OPTIONS: Final = "argocd.argoproj.io/compare-options"
IGNORE_EXTRANEOUS: Final = "IgnoreExtraneous"


class Outcome(Struct, frozen=True, kw_only=True):
    """What was found out about one pair, as it is remembered."""

    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    ours: bool = True
    problem: str = ""
    refusal: str = ""
    taints: bool = True


SAME: Final = Outcome(verdict=Verdict.SYNCED)
TO_BE_MADE: Final = Outcome(verdict=Verdict.OUT_OF_SYNC)
COPY: Final = Outcome(verdict=Verdict.SYNCED, ours=False)
#: of a live hook, which is neither wanted nor to be pruned
NO_ROW: Final = Outcome(verdict=Verdict.SYNCED, ours=False, taints=False)


class Lens(Struct, frozen=True, kw_only=True):
    """How objects are looked at before they are compared."""

    manager: str
    stand_ins: StandIns
    normal: Normal = Normal()
    #: status is compared, too
    with_status: bool = False
    #: what admission would change counts, too; then the server is asked about every pair that is new
    with_admission: bool = False

    def view(self, manifest: Manifest, rules: KeyRules) -> Manifest:
        """The object as it is compared: normalised, and less what the pointers of the rules name."""
        return without(normal(manifest, self.normal), rules.pointers)

    def masked(self, manifest: Manifest) -> Manifest:
        """The object with stand-ins for what is secret; equal values have equal stand-ins."""
        return self.stand_ins.masked(manifest) if is_secret(manifest) else manifest


def local_differences(
    desired: Manifest, live: Manifest, rules: KeyRules, lens: Lens
) -> tuple[Difference, ...]:
    """What an apply would change, judged without a server; both sides as the lens shows them."""
    wanted, there = lens.masked(desired), lens.masked(live)
    found = differences(wanted, there, manager=lens.manager, with_status=lens.with_status)
    return _told(found, ownership(live, lens.manager), rules, lens) if found else ()


def confirmed_differences(
    desired: Manifest, live: Manifest, predicted: Manifest, rules: KeyRules, lens: Lens
) -> tuple[Difference, ...]:
    """What an apply would change, as a server's dry-run tells; all sides as the lens shows them."""
    there, new = lens.masked(live), lens.masked(predicted)
    found = changes(
        desired,
        there,
        new,
        manager=lens.manager,
        with_status=lens.with_status,
        of_anybody=lens.with_admission,
    )
    return _told(found, ownership(live, lens.manager), rules, lens) if found else ()


def needs_other_version(found: Iterable[Difference]) -> bool:
    """Whether nothing could be told because the live object was read in another API version."""
    return any(each.rule == OTHER_VERSION for each in found)


def _told(found: Iterable[Found], owners: Ownership, rules: KeyRules, lens: Lens) -> tuple[Difference, ...]:
    told = (
        Difference(
            path=pointer_of(each.pointer),
            desired=_value(each.desired),
            live=_value(each.live),
            manager=_managers(owners, each, lens.manager),
            rule=each.rule,
        )
        for each in found
        if not rules.trusts(owners, each.path)
    )
    return tuple(sorted(told, key=lambda each: each.path))


def _value(value: Any) -> Any:
    return None if value is ABSENT else value


def _managers(owners: Ownership, found: Found, manager: str) -> str:
    """Who owns the field in the live object, others before us."""
    names = dict.fromkeys(owners.managers(found.path))
    if owners.is_ours(found.path):
        names[manager] = None
    return ", ".join(names)


#: how a server says that a right is missing: it has not looked at the object yet, so it quotes nothing of it
_LACKS_A_RIGHT: Final = re.compile(
    r'[\w.-]+(?: "[^"]*")? is forbidden: User "[^"]*" cannot \w+ resource "[^"]*" in API group "[^"]*"'
    r'(?: in the namespace "[^"]*"| at the cluster scope)(?:: RBAC: .*)?'
)


def problem_of(error: TrimtabError, key: ResourceKey) -> str:
    """What to say of an object that could not be judged, to those who know which one it is.

    Servers quote what they refuse, Secrets included: their words about these are not repeated.
    """
    if key.kind.casefold() != "secret" or _LACKS_A_RIGHT.fullmatch(error.reason):
        return error.complaint if error.subject == str(key) else str(error)
    reason = (
        f"the server refuses it ({type(error).__name__}) in words that are not shown, as they may quote it"
    )
    remedy = "Look for fields of a wrong type, or that may not be changed"
    return TrimtabError(str(key), reason, remedy).complaint


def extra_outcome(live: Manifest, key: ResourceKey, tracking: Tracking) -> Outcome:
    """An object with the unit's mark that is not wanted: to be pruned, unless it is somebody's copy."""
    if not tracking.is_itself(live, key, None):
        return COPY
    metadata = live.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    options = str(annotations.get(COMPARE_OPTIONS, "")) if isinstance(annotations, dict) else ""
    harmless = IGNORE_EXTRANEOUS in (option.strip() for option in options.split(","))
    return Outcome(verdict=Verdict.OUT_OF_SYNC, taints=not harmless)
