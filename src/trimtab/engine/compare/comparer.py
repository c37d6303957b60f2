"""Compares units with a cluster: remembers what it found, and asks the server only when it must.

An unchanged pair costs a look-up. A changed one is compared here; only when that says "differs" is the
server asked for one dry-run of the apply, whose answer is remembered, too. What is remembered goes by
digests that leave out status, so status traffic never causes a comparison.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sized
from functools import partial
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.compare.ignoring import NO_RULES, NOTHING_IGNORED, KeyRules, Rules, without
from trimtab.engine.compare.jq import JqPaths
from trimtab.engine.compare.judging import (
    NO_ROW,
    SAME,
    TO_BE_MADE,
    Lens,
    Outcome,
    confirmed_differences,
    extra_outcome,
    local_differences,
    needs_other_version,
    problem_of,
)
from trimtab.engine.compare.matching import Finding, Pair, Role, ScopeOf, Wanted, paired
from trimtab.engine.compare.respecting import respecting
from trimtab.engine.digests import digest_of_bytes, encoded
from trimtab.engine.live import Live, LiveView, live_of
from trimtab.engine.marks import Mark, Tracking
from trimtab.engine.rows import Desired, Row, Verdict
from trimtab.errors import Missing, TrimtabError, UserError
from trimtab.kube.cluster import Cluster, Write
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import NotFound
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest

#: comparisons between two looks at the rest of the event loop
STRETCH: Final = 20
#: rows between two looks, where nothing has to be compared
LONG_STRETCH: Final = 500


#: puts a question to the server, which may be put again
Puts: TypeAlias = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


async def put_once(question: Callable[[], Awaitable[None]]) -> None:
    """Put a question and take whatever comes of it."""
    await question()


class Compared(Struct, frozen=True, kw_only=True):
    """The rows of one unit, and what is wrong with the rules they were compared by."""

    unit: str
    rows: tuple[Row, ...]
    problems: tuple[str, ...] = ()


class _Memory:
    """What is remembered of one unit."""

    def __init__(self) -> None:
        self.rules = b""
        self.outcomes: dict[tuple[bytes, bytes], Outcome] = {}
        self.claims: tuple[Desired, ...] = ()


class _Case:
    """One pair while it is judged."""

    __slots__ = ("lasts", "outcome", "pair")

    def __init__(self, pair: Pair, outcome: Outcome | None) -> None:
        self.pair = pair
        self.outcome = outcome
        self.lasts = True  # whether the outcome holds until the pair changes

    def close(self, outcome: Outcome, *, lasts: bool = True) -> None:
        self.outcome, self.lasts = outcome, lasts


def _unknown_scope(_group: str, _kind: str) -> bool | None:
    return None


def _plain(_manifest: Manifest) -> Role:
    return Role.RESOURCE


class Comparer:
    """Compares the units of one cluster with what is live in it."""

    def __init__(
        self,
        cluster: Cluster,
        live: LiveView,
        *,
        tracking: Tracking,
        lens: Lens,
        resource_of: Callable[[str, str], Resource | None],
        jq: JqPaths | None = None,
        scope_of: ScopeOf = _unknown_scope,
        role_of: Callable[[Manifest], Role] = _plain,
        questions: int = 8,
    ) -> None:
        """`questions` is how many requests are under way at once."""
        self._cluster = cluster
        self._live = live
        self._tracking = tracking
        self._lens = lens
        self._resource_of = resource_of
        self._jq = jq
        self._scope_of = scope_of
        self._role_of = role_of
        self._turns = asyncio.Semaphore(questions)
        self._units: dict[str, _Memory] = {}
        self._claims: dict[ResourceKey, dict[str, None]] = {}

    async def compare(self, wanted: Wanted, rules: Rules = NO_RULES, put: Puts = put_once) -> Compared:
        """The rows of a unit: what is wanted with what is live, then what is live and not wanted.

        Questions to the server are `put` once; whoever must not fail for a moment's trouble bears with it.
        """
        if rules.expressions:
            rules = rules.with_bad_expressions(await self._bad(rules))
        memory = self._memory(wanted, rules)
        mark = self._tracking.mark_for(wanted.unit)
        pairs = paired(wanted.desired, self._live.managed(mark), self._live.get, self._scope_of)
        await _breath(pairs)
        cases = await self._judged(pairs, wanted, rules, memory, put)
        await _breath(pairs)
        memory.outcomes = {
            _pair_key(case.pair): case.outcome
            for case in cases
            if case.lasts and case.outcome is not None and case.pair.live is not None
        }
        rows = tuple(
            self._row(case.pair, case.outcome, mark, wanted.unit)
            for case in cases
            if case.outcome is not None and case.outcome is not NO_ROW
        )
        if wanted.refused:
            rows += self._unwritable(wanted, {row.key for row in rows})
        await _breath(rows)
        return Compared(unit=wanted.unit, rows=rows, problems=(*rules.problems, *self._put_aside(rules)))

    async def respecting(
        self, rows: Iterable[Row], rules: Rules, is_replaced: Callable[[Manifest, Manifest], bool]
    ) -> dict[ResourceKey, Desired]:
        """The wanted objects of these rows with what is ignored of them as it is live, by their keys.

        `is_replaced` is asked of the wanted and the live object: such a write loses what it does not mention.
        """
        rules = rules.with_bad_expressions(await self._bad(rules))
        kept: dict[ResourceKey, Desired] = {}
        for row in rows:
            key_rules = rules.for_key(row.key)
            if row.desired is None or row.live is None or key_rules == NOTHING_IGNORED:
                continue
            try:
                live = await self._manifest(row.desired, row.live)
            except NotFound:
                continue
            whole = is_replaced(row.desired.manifest, live)
            kept[row.key] = await self._respected(row.desired, live, key_rules, whole=whole)
        return kept

    async def _respected(self, desired: Desired, live: Manifest, rules: KeyRules, *, whole: bool) -> Desired:
        sides = without(desired.manifest, rules.pointers), without(live, rules.pointers)
        less, live_less = await self._less(sides, rules)
        manager = self._lens.manager
        manifest = respecting(desired.manifest, less, live, live_less, rules, manager=manager, whole=whole)
        return replace(desired, manifest=manifest, digest=digest_of_bytes(encoded(manifest)))

    async def _manifest(self, desired: Desired, live: Live) -> Manifest:
        """The live object in the version that is wanted, as it is kept or else as the server has it."""
        kept = self._live.manifest(live.key)
        if kept is not None and kept.get("apiVersion") == desired.api_version:
            return kept
        return (await self._read(desired.api_version, live.key)).manifest()

    def forget(self, unit: str) -> None:
        """Forget a unit that is no more."""
        memory = self._units.pop(unit, None)
        if memory is not None:
            self._unclaim(unit, memory.claims)

    # -- memory -------------------------------------------------------------------------------------------

    def _memory(self, wanted: Wanted, rules: Rules) -> _Memory:
        memory = self._units.setdefault(wanted.unit, _Memory())
        if memory.rules != rules.digest:
            memory.rules, memory.outcomes = rules.digest, {}
        if memory.claims is not wanted.desired:
            self._claim(wanted, memory)
        return memory

    def _claim(self, wanted: Wanted, memory: _Memory) -> None:
        """Note what a unit wants now; what it wanted before others did, it still does."""
        for one in wanted.desired:
            self._claims.setdefault(one.key, {})[wanted.unit] = None
        keys = {one.key for one in wanted.desired}
        self._unclaim(wanted.unit, (one for one in memory.claims if one.key not in keys))
        memory.claims = wanted.desired

    def _unclaim(self, unit: str, claims: Iterable[Desired]) -> None:
        for one in claims:
            units = self._claims.get(one.key, {})
            units.pop(unit, None)
            if not units:
                self._claims.pop(one.key, None)

    def _rival(self, key: ResourceKey, unit: str) -> Mark | None:
        """Another unit that wants the same object, if it wanted it first."""
        first = next(iter(self._claims.get(key, {unit: None})))
        return None if first == unit else self._tracking.mark_for(first)

    # -- rows ---------------------------------------------------------------------------------------------

    def _row(self, pair: Pair, outcome: Outcome, mark: Mark, unit: str) -> Row:
        live, claim = pair.live, None
        if pair.desired is not None:
            if live is not None and live.mark is not None:
                claim = live.mark if live.mark != mark else None
            elif len(self._claims.get(pair.desired.key, ())) > 1:
                claim = self._rival(pair.desired.key, unit)
        return Row(
            key=pair.key,
            desired=pair.desired,
            live=live,
            verdict=outcome.verdict,
            differences=outcome.differences,
            ours=outcome.ours,
            claimed_by=claim,
            problem=outcome.problem,
            refusal=outcome.refusal,
            taints=outcome.taints,
        )

    def _unwritable(self, wanted: Wanted, told: Collection[ResourceKey]) -> tuple[Row, ...]:
        """What Git declares and cannot be written, and no row tells of: it is not there, or not ours."""
        found = {key: self._live.get(key) for key in wanted.refused if key not in told}
        return tuple(
            Row(
                key=key,
                desired=None,
                live=live,
                verdict=Verdict.OUT_OF_SYNC if live is None else Verdict.UNKNOWN,
                ours=live is None,
                problem=problem_in(wanted.refused[key]),
            )
            for key, live in found.items()
        )

    async def _judged(
        self, pairs: Iterable[Pair], wanted: Wanted, rules: Rules, memory: _Memory, put: Puts
    ) -> list[_Case]:
        """Every pair with its outcome, by memory or by looking."""
        cases: list[_Case] = []
        for number, pair in enumerate(pairs):
            case = _Case(pair, self._known(pair, wanted, memory))
            # What Git says of an object is not remembered by the object's own digest.
            is_said = pair.key in wanted.refused or pair.key in wanted.left
            case.lasts = pair.desired is not None or not is_said
            cases.append(case)
            if number % LONG_STRETCH == LONG_STRETCH - 1:
                await asyncio.sleep(0)
        await self._look_at([case for case in cases if case.outcome is None], rules, put)
        return cases

    def _known(self, pair: Pair, wanted: Wanted, memory: _Memory) -> Outcome | None:
        """The outcome of a pair that needs no looking at; None if it does."""
        if pair.live is None:
            key = pair.key
            is_new = pair.desired is not None and bool(pair.desired.generate_name)
            return TO_BE_MADE if is_new or self._live.knows(key.group, key.kind, key.namespace) else None
        if pair.desired is None and pair.live.key in wanted.refused:
            return Outcome(verdict=Verdict.UNKNOWN, problem=problem_in(wanted.refused[pair.live.key]))
        if pair.desired is None and pair.live.key in wanted.left:
            return NO_ROW
        return memory.outcomes.get(_pair_key(pair))

    async def _look_at(self, cases: list[_Case], rules: Rules, put: Puts) -> None:
        """Judge what is new: one after the other, and beside each other what needs the server."""
        if len(cases) < 2:
            for case in cases:
                if not self._is_judged(case, rules):
                    await self._ask(case, rules, put)
            return
        async with asyncio.TaskGroup() as group:
            for count, case in enumerate(cases, 1):
                if not self._is_judged(case, rules):
                    group.create_task(self._ask(case, rules, put))
                if count % STRETCH == 0:
                    await asyncio.sleep(0)

    def _is_judged(self, case: _Case, rules: Rules) -> bool:
        """Judge one pair without asking anybody; whether that could be done."""
        case.pair = self._as_of_now(case.pair)
        outcome = self._at_once(case.pair, rules.for_key(case.pair.key))
        if outcome is not None:
            case.close(outcome, lasts=not outcome.problem)
        return outcome is not None

    def _as_of_now(self, pair: Pair) -> Pair:
        """The pair with the live object as it is by now, so that what is found is remembered of that one."""
        now = self._live.get(pair.live.key) if pair.live is not None else None
        return pair if now is None or now is pair.live else Pair(pair.desired, now)

    def _at_once(self, pair: Pair, rules: KeyRules) -> Outcome | None:
        """The outcome of a pair that can be judged without asking anybody; None if it cannot."""
        if rules.problem:
            return Outcome(verdict=Verdict.UNKNOWN, problem=rules.problem)
        manifest = self._live.manifest(pair.live.key) if pair.live is not None else None
        if manifest is None:
            return None
        if pair.desired is None:
            return self._extra(manifest, pair.key)
        if rules.expressions or self._lens.with_admission:
            return None
        found = local_differences(*self._views(pair.desired, manifest, rules), rules, self._lens)
        return None if found else SAME

    def _extra(self, manifest: Manifest, key: ResourceKey) -> Outcome:
        if self._role_of(manifest) is not Role.RESOURCE:
            return NO_ROW
        return extra_outcome(manifest, key, self._tracking)

    def _views(self, desired: Desired, live: Manifest, rules: KeyRules) -> tuple[Manifest, Manifest]:
        migrated = self._tracking.migrated(live, desired.manifest)
        return self._lens.view(desired.manifest, rules), self._lens.view(migrated, rules)

    # -- asking -------------------------------------------------------------------------------------------

    async def _ask(self, case: _Case, rules: Rules, put: Puts) -> None:
        """Judge one pair with the server's help; what goes wrong is the pair's problem and nobody else's."""
        async with self._turns:
            try:
                await put(partial(self._asked, case, rules.for_key(case.pair.key)))
            except TrimtabError as error:
                told = problem_of(error, case.pair.key)
                case.close(Outcome(verdict=Verdict.UNKNOWN, problem=told), lasts=False)

    async def _asked(self, case: _Case, rules: KeyRules) -> None:
        case.pair = self._as_of_now(case.pair)
        desired, live = case.pair.desired, case.pair.live
        manifest = self._live.manifest(live.key) if live is not None else None
        if manifest is None:
            manifest = await self._fetched(case)
        if manifest is None:
            case.close(TO_BE_MADE if desired is not None else NO_ROW, lasts=False)
        elif desired is None:
            case.close(self._extra(manifest, case.pair.key))
        else:
            await self._compared(case, desired, manifest, rules)

    async def _fetched(self, case: _Case) -> Manifest | None:
        """The live object where its manifest, or all of its kind, is not kept; None if there is none."""
        known = case.pair.desired or case.pair.live
        try:
            found = await self._read(known.api_version if known else "", case.pair.key)
        except Missing:
            return None
        if case.pair.live is None:
            case.pair = Pair(case.pair.desired, live_of(found, self._tracking))
        return found.manifest()

    async def _compared(self, case: _Case, desired: Desired, manifest: Manifest, rules: KeyRules) -> None:
        wanted, there = await self._less(self._views(desired, manifest, rules), rules)
        found = local_differences(wanted, there, rules, self._lens)
        if needs_other_version(found):
            manifest = (await self._read(desired.api_version, case.pair.key)).manifest()
            wanted, there = await self._less(self._views(desired, manifest, rules), rules)
            found = local_differences(wanted, there, rules, self._lens)
        if not found and not self._lens.with_admission:
            case.close(SAME)
            return
        try:
            predicted = await self._predicted(desired, case.pair.key)
        except UserError as error:
            told = problem_of(error, case.pair.key)
            case.close(Outcome(verdict=Verdict.OUT_OF_SYNC, differences=found, refusal=told), lasts=False)
            return
        (new,) = await self._less((self._lens.view(predicted, rules),), rules)
        sure = confirmed_differences(wanted, there, new, rules, self._lens)
        outcome = Outcome(verdict=Verdict.OUT_OF_SYNC, differences=sure) if sure else SAME
        # Had somebody written meanwhile, the server would have told about another object than this one.
        case.close(outcome, lasts=_version(predicted) == _version(manifest))

    async def _predicted(self, desired: Desired, key: ResourceKey) -> Manifest:
        """The object that an apply would make, from a dry-run."""
        resource = self._way_to(desired.api_version, key)
        written = await self._cluster.apply(
            resource,
            key.name,
            desired.manifest,
            namespace=key.namespace if resource.namespaced else "",
            force=True,
            write=Write(manager=self._lens.manager, dry_run=True),
        )
        return written.object.manifest()

    async def _read(self, api_version: str, key: ResourceKey) -> KubeObject:
        resource = self._way_to(api_version, key)
        return await self._cluster.get(
            resource, key.name, namespace=key.namespace if resource.namespaced else ""
        )

    def _way_to(self, api_version: str, key: ResourceKey) -> Resource:
        resource = self._resource_of(api_version, key.kind)
        if resource is None:
            raise Missing(
                str(key), f"the cluster knows no {key.kind} of {api_version}", "Install its definition"
            )
        return resource

    async def _less(self, manifests: tuple[Manifest, ...], rules: KeyRules) -> tuple[Manifest, ...]:
        if not rules.expressions or self._jq is None:
            return manifests
        return tuple(await self._jq.without(manifests, rules.expressions))

    async def _bad(self, rules: Rules) -> dict[str, str]:
        if self._jq is None:
            return dict.fromkeys(rules.expressions, "jq is not available here")
        return dict(await self._jq.bad(rules.expressions))

    def _put_aside(self, rules: Rules) -> tuple[str, ...]:
        return self._jq.put_aside(rules.expressions) if self._jq is not None and rules.expressions else ()


async def _breath(work: Sized) -> None:
    """Let others have their turn, if this was a long stretch."""
    if len(work) > LONG_STRETCH:
        await asyncio.sleep(0)


def problem_in(finding: Finding) -> str:
    """What a finding says of its object, for where the object is named already."""
    told = str(finding)
    return told.removeprefix(f"{finding.key or finding.subject}: ")


def _pair_key(pair: Pair) -> tuple[bytes, bytes]:
    """What a pair is remembered by; of an object whose manifest is not kept, every version is another one.

    The digest of a live object says nothing of its name, and a copy of one that is not wanted is not ours.
    """
    desired = pair.desired.digest if pair.desired is not None else f"no {pair.key}".encode()
    live = pair.live
    if live is None:
        return desired, b""
    return desired, live.digest or f"{live.uid} {live.resource_version}".encode()


def _version(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("resourceVersion", ""))
