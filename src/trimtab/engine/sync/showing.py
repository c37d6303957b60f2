"""Plans for people and programs: as a table, as Markdown, as JSON, and what moved between two of them. Pure.

No values of objects are shown, only digests that name them, keyed for Secrets: a printed plan can be stored
and sent around.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from trimtab.engine.operations import SyncPhase
from trimtab.engine.sync.steps import (
    Apply,
    CreateNamespace,
    Prune,
    Refuse,
    RunHook,
    Step,
    SyncPlan,
    WriteMode,
)
from trimtab.resources.counting import counted
from trimtab.resources.tables import ENDLESS, Column, Paper, fitted

#: what Markdown and its readers take for more than a character
_MARKUP = frozenset("\\`*_{}[]()#+!|<>&@~$")
_COLUMNS = (
    Column("PHASE", spare=2),
    Column("WAVE", spare=3),
    Column("ACTION"),
    Column("OBJECT", least=16, names=True),
    Column("WHY", least=9, spare=1),
    Column("API VERSION", spare=5, wide=True),
    Column("UID", spare=6, names=True, wide=True),
    Column("IMAGES", spare=4, names=True, wide=True),
)
_ACTIONS = {WriteMode.SERVER_SIDE: "apply", WriteMode.REPLACE: "replace", WriteMode.CREATE: "create"}


def action(step: Step) -> str:
    """What a step does, in a word or two."""
    match step:
        case Apply():
            return _ACTIONS[step.mode] + (" (force)" if step.force else "")
        case CreateNamespace():
            return "create namespace" if not step.expected.uid else "label namespace"
        case RunHook():
            return "run hook"
        case Prune():
            return "keep" if step.skip else "prune"
        case Refuse():
            return "refuse"


def plan_table(plan: SyncPlan, paper: Paper = ENDLESS, *, wide: bool = False) -> str:
    """The plan as a table, one line per step, with what it waits for and what is refused below.

    A `wide` one also says in which version an object is written, which one is there now, and what it runs.
    """
    # What deletes an app is made of no revision.
    made_of = f" at {plan.revision}" if plan.revision else ""
    title = f"plan {plan.digest[:12]} of {plan.unit}{made_of}"
    columns = [each for each in _COLUMNS if wide or not each.wide]
    rows = [(*_row(step), *(_more(step) if wide else ())) for step in plan.steps]
    steps = fitted(columns, rows, paper) if rows else "nothing to do"
    ending = [*(f"refused: {each}" for each in plan.refused), *_held(plan)]
    return "\n".join([title, steps, *ending]) + "\n"


def _row(step: Step) -> tuple[str, str, str, str, str]:
    why = step.skip if isinstance(step, Prune) and step.skip else step.why
    return (step.phase.value, str(step.wave), action(step), str(step.key), why)


def _more(step: Step) -> tuple[str, str, str]:
    images = step.images if isinstance(step, Apply | RunHook) else ()
    return (step.api_version or "-", step.expected.uid or "-", " ".join(images) or "-")


def _held(plan: SyncPlan) -> Iterable[str]:
    reasons = dict.fromkeys(step.hold for step in plan.held)
    count = counted(len(plan.held), "deletion")
    return [f"waits for consent to {count}: {reason}" for reason in reasons]


def plan_json(plan: SyncPlan) -> dict[str, Any]:
    """The plan as JSON; it holds no manifests."""
    shown = {
        "digest": plan.digest,
        "unit": plan.unit,
        "revision": plan.revision,
        "render": plan.render,
        "dryRun": plan.dry_run,
        "rehearse": plan.rehearse,
        "steps": [_step_json(step) for step in plan.steps],
        "refused": [
            {"object": str(each.key), "reason": each.reason, "remedy": each.remedy} for each in plan.refused
        ],
    }
    built: dict[str, Any] = msgspec.to_builtins(shown)
    return built


def _step_json(step: Step) -> dict[str, Any]:
    key = step.key
    common = {
        "action": action(step),
        "object": {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name},
        "apiVersion": step.api_version,
        "phase": step.phase,
        "wave": step.wave,
        "why": step.why,
        "expected": {"uid": step.expected.uid, "digest": step.expected.digest},
    }
    match step:
        case Apply():
            return {**common, "content": step.content, "force": step.force, "validate": step.validate}
        case RunHook():
            return {**common, "content": step.content, "deletePolicies": step.policies}
        case Prune():
            return {**common, "propagation": step.propagation, "hold": step.hold, "skip": step.skip}
        case CreateNamespace():
            return {**common, "labels": dict(step.labels), "annotations": dict(step.annotations)}
        case Refuse():
            return {**common, "remedy": step.remedy}


def plan_markdown(plan: SyncPlan, *, most: int = 200) -> str:
    """The plan for a pull request's comment: a heading that counts, and a table of at most so many steps."""
    made_of = f" at {_code(plan.revision)}" if plan.revision else ""
    title = f"### {_plain(plan.unit)}{made_of}: {plan_sum(plan)}"
    rows = [f"| {' | '.join(_cells(step))} |" for step in plan.steps[:most]]
    table_ = ["| action | object | wave | why |", "|---|---|---|---|", *rows] if rows else []
    more = len(plan.steps) - most
    ending = [f"and {more} more"] if more > 0 else []
    ending += [f"**refused** {_plain(str(each))}" for each in plan.refused]
    ending += [f"**{_plain(line)}**" for line in _held(plan)]
    parts = (title, "\n".join(table_), *ending, f"plan `{plan.digest[:12]}`")
    return "\n\n".join(part for part in parts if part) + "\n"


def plan_sum(*plans: SyncPlan) -> str:
    """What plans do, counted: `2 apply, 1 prune`."""
    counts = Counter(action(step) for plan in plans for step in plan.steps)
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing to do"


def _cells(step: Step) -> tuple[str, str, str, str]:
    _, wave, done, key, why = _row(step)
    phase = "" if step.phase is SyncPhase.SYNC else f"{step.phase.value} "
    return done, _code(key), f"{phase}{wave}", _plain(why)


def _code(text: str) -> str:
    """Text in a span of code, which knows no escapes: what would end it becomes a question mark."""
    return f"`{''.join('?' if char in '`|' else char for char in ' '.join(text.split()))}`"


def _plain(text: str) -> str:
    """Text that stays text: no markup, no table, nobody is called."""
    return "".join(f"&#{ord(char)};" if char in _MARKUP else char for char in " ".join(text.split()))


def moved_between(agreed: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """What is no longer as in a plan that was printed before: revision, render, and each object's state."""
    told = []
    if agreed["revision"] != now["revision"]:
        told.append(f"the revision is {now['revision']}, not {agreed['revision']}")
    elif agreed["render"] != now["render"]:
        told.append("what the source wants is something else")
    before, after = _by_place(agreed), _by_place(now)
    told += [f"{place} is no longer part of the plan" for place in before.keys() - after.keys()]
    told += [f"{place} is a new part of the plan" for place in after.keys() - before.keys()]
    for place in before.keys() & after.keys():
        told += [f"{place}: {words}" for words in _moved(before[place], after[place])]
    return tuple(sorted(told))


def _moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[str]:
    """What moved about one step."""
    if before["action"] != after["action"]:
        yield f"it would {after['action']}, not {before['action']}"
    if before["wave"] != after["wave"]:
        yield f"it is in wave {after['wave']}, not {before['wave']}"
    if before.get("content") != after.get("content"):
        yield "it is wanted otherwise"
    yield from _moved_live(before["expected"], after["expected"])


def _moved_live(before: Mapping[str, str], after: Mapping[str, str]) -> Iterable[str]:
    """What became of the live object."""
    if before["uid"] == after["uid"]:
        if before["digest"] != after["digest"]:
            yield "it was changed in the cluster"
    elif not before["uid"]:
        yield "it was made in the cluster"
    elif not after["uid"]:
        yield "it was deleted in the cluster"
    else:
        yield "it was deleted and made anew in the cluster"


def _by_place(shown: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {_place(step): step for step in shown["steps"]}


def _place(step: Mapping[str, Any]) -> str:
    named = step["object"]
    return f"{named['kind']} {named['namespace']}/{named['name']} in {step['phase']}"
