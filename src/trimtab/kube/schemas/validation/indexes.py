"""What is wrong with the numbers of a Job's pods: how many may fail, and which must succeed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from trimtab.kube.gotext import Shown, quoted
from trimtab.kube.schemas.validation.causes import (
    Causes,
    entries,
    invalid,
    not_supported,
    part,
    required,
    too_long,
    too_many,
)
from trimtab.kube.schemas.validation.names import at_least_zero

Json = Mapping[str, Any]
MODES: Final = ("NonIndexed", "Indexed")
#: how many pods may run or fail at once, and of Jobs with more numbers than that where each has a limit
MOST, MOST_OF_MANY = 100_000, 10_000
MOST_RULES, LONGEST_NUMBERS = 20, 1 << 16
UNNUMBERED: Final = "requires indexed completion mode"
WITH_MANY: Final = (
    f"must be less than or equal to {MOST_OF_MANY} when completions are above {MOST} "
    "and used with backoff limit per index"
)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_LARGEST: Final = 2**63 - 1


def limits(spec: Json, path: str) -> Causes:
    """What is wrong with how often pods of each number, and pods of how many numbers, may fail."""
    yield from at_least_zero(spec.get("backoffLimitPerIndex"), f"{path}.backoffLimitPerIndex")
    failing = spec.get("maxFailedIndexes")
    yield from at_least_zero(failing, f"{path}.maxFailedIndexes")
    if failing is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")


def numbering(spec: Json, path: str) -> Causes:
    """What is wrong with how the pods of a Job are counted."""
    mode = spec.get("completionMode")
    if mode is not None and mode not in MODES:
        yield not_supported(f"{path}.completionMode", mode, MODES)
    if mode == "Indexed":
        yield from _numbered(spec, path)
        return
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(name) is not None:
            yield invalid(f"{path}.{name}", spec[name], UNNUMBERED)


def _numbered(spec: Json, path: str) -> Causes:
    completions, failing = spec.get("completions"), spec.get("maxFailedIndexes")
    parallelism = spec.get("parallelism") or 0
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > MOST:
        told = f"must be less than or equal to {MOST} when completion mode is Indexed"
        yield invalid(f"{path}.parallelism", parallelism, told)
    if completions is not None and failing is not None and failing > completions:
        yield invalid(f"{path}.maxFailedIndexes", failing, "must be less than or equal to completions")
    if failing is not None and failing > MOST:
        yield invalid(f"{path}.maxFailedIndexes", failing, f"must be less than or equal to {MOST}")
    if completions is None or completions <= MOST or spec.get("backoffLimitPerIndex") is None:
        return
    if failing is None:
        yield required(f"{path}.maxFailedIndexes", f"must be specified when completions is above {MOST}")
    if parallelism > MOST_OF_MANY:
        yield invalid(f"{path}.parallelism", parallelism, WITH_MANY)
    if failing is not None and failing > MOST_OF_MANY:
        yield invalid(f"{path}.maxFailedIndexes", failing, WITH_MANY)


# -- when enough have succeeded ---------------------------------------------------------------------------


def success_policy(spec: Json, path: str) -> Causes:
    """What is wrong with a Job's rules for when enough of its pods have succeeded."""
    policy = part(spec, "successPolicy")
    if spec.get("completionMode") != "Indexed":
        yield invalid(path, held_success(policy), UNNUMBERED)
        return
    rules = list(entries(policy.get("rules")))
    if not rules:
        told = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", told)
    if len(rules) > MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), MOST_RULES)
    for number, rule in rules:
        yield from _success_rule(rule, spec.get("completions"), f"{path}.rules[{number}]")


def _success_rule(rule: Json, completions: int | None, path: str) -> Causes:
    numbers, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if numbers is None and count is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    named = 0
    if numbers is not None:
        place = f"{path}.succeededIndexes"
        if len(numbers.encode()) > LONGEST_NUMBERS:
            yield too_long(place, LONGEST_NUMBERS)
        try:
            named = counted(numbers, completions)
        except ValueError as exc:
            yield invalid(place, numbers, f"error parsing succeededIndexes: {exc}")
    if count is None:
        return
    place = f"{path}.succeededCount"
    yield from at_least_zero(count, place)
    if completions is not None and count > completions:
        told = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid(place, count, told)
    if numbers is not None and count > named:
        listed = f"{named} (the number of indexes in the specified succeededIndexes field)"
        yield invalid(place, count, f"must be less than or equal to {listed}")


def counted(numbers: str, completions: int | None) -> int:
    """How many numbers are listed, as in `0,2-4`; raises ValueError in the server's words."""
    total, last = 0, -1
    for fragment in numbers.split(",") if numbers else ():
        parts = fragment.split("-")
        if len(parts) > 2:
            reason = (
                "violates the requirement that an index interval can have at most two parts separated by '-'"
            )
            raise ValueError(f"the fragment {quoted(fragment)} {reason}")
        first = _next(parts[0], last, completions)
        last = _next(parts[1], first, completions) if len(parts) > 1 else first
        total += last - first + 1
    return total


def _next(text: str, before: int, completions: int | None) -> int:
    """A number that must be larger than the one before it."""
    if not _NUMBER.fullmatch(text) or len(text) > 20 or abs(int(text)) > _LARGEST:
        raise ValueError(f"cannot convert string to integer for index: {quoted(text)}")
    number = int(text)
    if completions is not None and number >= completions:
        raise ValueError(f"too large index: {quoted(text)}")
    if number <= before:
        raise ValueError(f"non-increasing order, previous: {before}, current: {number}")
    return number


def held_success(policy: Json) -> Shown:
    """A Job's rules for success, with the names and the order that they have inside."""
    if policy.get("rules") is None:
        return Shown(Rules=None)
    return Shown(
        Rules=[
            Shown(SucceededIndexes=rule.get("succeededIndexes"), SucceededCount=rule.get("succeededCount"))
            for _, rule in entries(policy["rules"])
        ]
    )
