"""From facts to an answer: which findings count, which comes first, and the links down to it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from trimtab.app.why.causes import CAUSES, Cause
from trimtab.app.why.facts import Facts, Finding
from trimtab.engine.operations import OperationState, StepPhase, by_whom
from trimtab.resources.keys import ResourceKey

#: so many chains of one cause are told; a thousand would say no more
_MOST_TOLD: Final = 3


class Link(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One link of a chain of causes."""

    object: str
    what: str
    since: datetime | None = None
    evidence: str = ""


class Chain(Struct, frozen=True, kw_only=True):
    """One cause, and how it comes to be felt: links from what was asked about down to the first cause."""

    cause: str
    sentence: str
    remedy: str
    links: tuple[Link, ...]
    #: the object that it befell; None for the app as a whole
    key: ResourceKey | None = None
    #: how many more objects suffer from the same
    more: int = 0


class Answer(Struct, frozen=True, kw_only=True):
    """Why something is as it is; no chains mean that all is well."""

    about: str
    sentence: str
    now: datetime
    chains: tuple[Chain, ...] = ()

    @property
    def well(self) -> bool:
        """Whether nothing is known to be wrong."""
        return not self.chains


class _Found(Struct, frozen=True):
    cause: Cause
    finding: Finding


def answer_from(facts: Facts) -> Answer:
    """Every cause that the facts show, the first one first."""
    chains = tuple(_chains(facts, _told(facts, _found(facts))))
    sentence = chains[0].sentence if chains else _sentence(_well(facts))
    return Answer(about=facts.about, sentence=sentence, now=facts.now, chains=chains)


def _well(facts: Facts) -> str:
    if facts.asked is None:
        return f"{facts.about} is well: it {facts.standing}."
    return f"{facts.about} is well; it belongs to {facts.owner or 'nobody known'}."


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _found(facts: Facts) -> list[_Found]:
    return [_Found(cause, finding) for cause in CAUSES for finding in cause.find(facts)]


# -- which of them count -----------------------------------------------------------------------------------


def _told(facts: Facts, found: list[_Found]) -> list[_Found]:
    """What is told: what concerns what was asked about, and weak causes only for want of others."""
    near = [each for each in found if _concerns(facts, each.finding.key)]
    strong = [each for each in near if not each.cause.weak]
    told: list[_Found] = []
    covered = {facts.root_of(each.finding.key) for each in strong if each.finding.key is not None}
    for each in near:
        if not each.cause.weak:
            told.append(each)
        elif not _is_covered(facts, each.finding, covered, is_any=bool(told)):
            told.append(each)
            if each.finding.key is not None:
                covered.add(facts.root_of(each.finding.key))
    return told


def _is_covered(facts: Facts, finding: Finding, covered: set[ResourceKey], *, is_any: bool) -> bool:
    return is_any if finding.key is None else facts.root_of(finding.key) in covered


def _concerns(facts: Facts, key: ResourceKey | None) -> bool:
    """Whether a finding is about what was asked: all of an app, or one object, what is above and below it."""
    if key is None:
        return facts.asked is None or facts.trouble is not None or bool(facts.unread)
    if facts.asked is None:
        return True
    above = {seen.key for seen in facts.line_of(facts.asked)} | {facts.asked}
    below = {seen.key for seen in facts.line_of(key)}
    return key in above or facts.asked in below


# -- chains ---------------------------------------------------------------------------------------------


def _chains(facts: Facts, found: Iterable[_Found]) -> Iterator[Chain]:
    """One chain per cause and root, a few of each cause; what else suffers from the same is counted."""
    chains: dict[tuple[str, ResourceKey | str], Chain] = {}
    places: dict[str, list[tuple[str, ResourceKey | str]]] = {}
    for each in _each_once(found):
        key, cause = each.finding.key, each.cause.name
        place = cause, facts.root_of(key) if key is not None else each.finding.what
        told = places.setdefault(cause, [])
        if place in chains or len(told) >= _MOST_TOLD:
            same = place if place in chains else told[-1]
            chains[same] = replace(chains[same], more=chains[same].more + 1)
        else:
            told.append(place)
            chains[place] = _chain(facts, each)
    yield from chains.values()


def _each_once(found: Iterable[_Found]) -> Iterator[_Found]:
    """Of every object the first finding of a cause: two containers of a pod are one pod that suffers."""
    seen: set[tuple[str, ResourceKey]] = set()
    for each in found:
        key = each.finding.key
        if key is None or (each.cause.name, key) not in seen:
            yield each
        if key is not None:
            seen.add((each.cause.name, key))


def _chain(facts: Facts, found: _Found) -> Chain:
    finding = found.finding
    last = Link(object=finding.subject, what=finding.what, since=finding.since, evidence=finding.evidence)
    return Chain(
        cause=found.cause.name,
        sentence=_sentence(f"{finding.subject} {finding.what}."),
        remedy=finding.remedy,
        links=(*_above(facts, finding), last),
        key=finding.key,
    )


def _above(facts: Facts, finding: Finding) -> Iterator[Link]:
    """The app, its operation where that is concerned, and the owners of the object, from the root down."""
    if facts.unit is not None:
        since = facts.unit.status.health_since
        what = facts.standing or "could not be looked at"
        yield Link(object=f"app {facts.unit.id}", what=what, since=since, evidence=f"from {facts.source}")
    elif facts.owner:
        yield Link(object=facts.owner, what=f"manages {facts.root_of(facts.asked) if facts.asked else ''}")
    if finding.key is None:
        return
    yield from _operation(facts, facts.root_of(finding.key))
    for seen in facts.line_of(finding.key)[:-1]:
        health = seen.health
        what = "owns the next" if health is None else _healthily(health.status.value, health.message)
        yield Link(object=str(seen.key), what=what)


def _operation(facts: Facts, root: ResourceKey) -> Iterator[Link]:
    """How the app's operation stands, if it waits for this root or failed on it."""
    state = facts.state
    if state is None or not (facts.is_unfinished or facts.has_failed):
        return
    touched = {each.key for each in state.results if each.phase is StepPhase.RUNNING or each.phase.bad}
    if root not in touched:
        return
    asked = by_whom(state.operation.person, state.operation.asked_by)
    by = f" (by {asked})" if asked else ""
    since = state.waiting_since if facts.is_unfinished else state.finished_at
    is_deletion = state.operation.delete
    name = "its deletion" if is_deletion else f"its sync to {state.revision or 'the newest revision'}"
    words = _progress(state, is_unfinished=facts.is_unfinished)
    works = f"{facts.holder} carries it on" if facts.holder and facts.is_unfinished else ""
    yield Link(object=f"{name}{by}", what=words, since=since, evidence=works)


def _progress(state: OperationState, *, is_unfinished: bool) -> str:
    if not is_unfinished:
        return f"{state.phase.value.lower()}: {state.message}"
    if state.retry_at is not None:
        return f"failed, and is tried again: {state.message}"
    return f"is {state.message}" if state.waiting_since is not None else "is under way"


def _healthily(status: str, message: str) -> str:
    return f"is {status}{f': {message}' if message else ''}"
