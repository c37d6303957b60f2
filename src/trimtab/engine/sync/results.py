"""How outcomes become results: the state of an operation after some acts, and at its end. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import assert_never

from msgspec.structs import replace

from trimtab.engine.operations import (
    HookRun,
    OperationPhase,
    OperationState,
    StepName,
    StepPhase,
    StepResult,
    StepStatus,
    taken_up,
)
from trimtab.engine.sync.acts import Clear, Discard, Done, Failed, Look, Outcome, Rehearse, Release
from trimtab.engine.sync.steps import Apply, CreateNamespace, Prune, RunHook, Step, WriteMode
from trimtab.resources.counting import counted
from trimtab.resources.keys import ResourceKey
from trimtab.resources.sentences import joined

_MOST_CAUSES = 10


def folded(state: OperationState, outcomes: Iterable[Outcome], *, dry_run: bool = False) -> OperationState:
    """The state with these outcomes in it."""
    results = {(each.key, each.sync_phase): each for each in state.results}
    runs = {(each.key, each.sync_phase): each for each in state.hooks}
    rehearsed: list[Outcome] = []
    for outcome in outcomes:
        if isinstance(outcome.act, Rehearse):
            rehearsed.append(outcome)
        found = _result_after(outcome, dry_run=dry_run)
        if found is not None:
            _add(results, found)
        if isinstance(outcome.act, Clear | Release | Discard):
            _note(runs, outcome.act, outcome)
    passed = state.rehearsed or (bool(rehearsed) and not any(each.problem for each in rehearsed))
    return replace(state, results=tuple(results.values()), hooks=tuple(runs.values()), rehearsed=passed)


def _result_after(outcome: Outcome, *, dry_run: bool) -> StepResult | None:
    """What an outcome says about its step; None if the step is no further than before."""
    match outcome.act:
        case CreateNamespace() | Apply() | Prune() | RunHook() as step:
            return _written(step, outcome)
        case Rehearse(step=step):
            return _tried(step, outcome) if dry_run or outcome.problem else None
        case Clear(step=step):
            return _written(step, outcome) if outcome.problem else None
        case Look(step=step):
            return replace(_written(step, outcome), phase=StepPhase.ERROR) if outcome.problem else None
        case Release() | Discard():
            return None
        case _:
            assert_never(outcome.act)


def result_of(
    step: Step, *, status: StepStatus, phase: StepPhase, message: str, outcome: Outcome | None = None
) -> StepResult:
    """The result of a step, not yet in its order."""
    return StepResult(
        key=step.key,
        sync_phase=step.phase,
        status=status,
        phase=phase,
        hook=isinstance(step, RunHook),
        message=message,
        version=step.api_version.rpartition("/")[2],
        images=step.images if isinstance(step, Apply | RunHook) else (),
        uid=outcome.uid if outcome else "",
        resource_version=outcome.resource_version if outcome else "",
        at=outcome.at if outcome else None,
    )


def _written(step: Step, outcome: Outcome) -> StepResult:
    if outcome.problem:
        failed = StepStatus.SYNC_FAILED
        return result_of(
            step, status=failed, phase=StepPhase.FAILED, message=outcome.problem, outcome=outcome
        )
    if isinstance(step, Apply) and step.mode is WriteMode.CREATE:
        outcome = replace(outcome, resource_version="")  # under its made-up name nobody will ever hear of it
    status = StepStatus.PRUNED if isinstance(step, Prune) else StepStatus.SYNCED
    phase = StepPhase.RUNNING if is_awaited(step) else StepPhase.SUCCEEDED
    return result_of(step, status=status, phase=phase, message=outcome.message, outcome=outcome)


def is_awaited(step: Step) -> bool:
    """Whether what a step wrote can be looked for afterwards."""
    return isinstance(step, RunHook) or (isinstance(step, Apply) and step.mode is not WriteMode.CREATE)


def _tried(step: Step, outcome: Outcome) -> StepResult:
    if outcome.problem:
        return _written(step, outcome)
    return result_of(
        step, status=StepStatus.SYNCED, phase=StepPhase.SUCCEEDED, message=f"{outcome.message} (dry run)"
    )


def _add(results: dict[StepName, StepResult], result: StepResult) -> None:
    place = (result.key, result.sync_phase)
    before = results.get(place)
    if before is None:
        results[place] = replace(result, order=len(results) + 1)
    else:
        results[place] = replace(result, order=before.order, uid=result.uid or before.uid)


def with_results(state: OperationState, found: Iterable[StepResult]) -> OperationState:
    """The state with these results in it, each in the place of the one it follows."""
    results = {(each.key, each.sync_phase): each for each in state.results}
    for result in found:
        _add(results, result)
    return replace(state, results=tuple(results.values()))


def _note(runs: dict[StepName, HookRun], act: Clear | Release | Discard, outcome: Outcome) -> None:
    """Write down what was done with a hook's run; what failed is not tried for ever."""
    place = (act.step.key, act.step.phase)
    run = runs.get(place) or HookRun(key=act.step.key, sync_phase=act.step.phase)
    if isinstance(act, Clear):
        runs[place] = replace(run, cleared=True)
        return
    deleted = run.deleted or isinstance(act, Discard)
    runs[place] = replace(run, released=True, deleted=deleted, problem=outcome.problem or run.problem)


def crucial(state: OperationState) -> tuple[object, ...]:
    """What must be recorded before anything more is done: whoever takes over could not find it out again.

    That a hook has ended is part of it: it is about to lose its finalizer, and may be deleted.
    """
    hooks = [(each.key, each.sync_phase, each.phase) for each in state.results if each.hook]
    return (state.begun, state.hooks, hooks, state.phase, state.rehearsed, state.plan, state.operation)


# -- the end ---------------------------------------------------------------------------------------------


def causes(results: Iterable[StepResult]) -> str:
    """Why a sync failed: every cause once, with the first object that it befell."""
    first: dict[str, ResourceKey] = {}
    count: dict[str, int] = {}
    for each in results:
        first.setdefault(each.message, each.key)
        count[each.message] = count.get(each.message, 0) + 1
    told = [
        f"{key}{f' and {count[why] - 1} more' if count[why] > 1 else ''}: {why}"
        for why, key in list(first.items())[:_MOST_CAUSES]
    ]
    more = len(first) - len(told)
    return joined([*told, f"and {counted(more, 'more cause')}" if more else ""])


def closed(state: OperationState, end: Done | Failed, now: datetime) -> OperationState:
    """The state at the end of an attempt: final, or with the time of the next attempt."""
    settled = replace(state, waiting_since=None, begun=())
    if isinstance(end, Done):
        return replace(settled, phase=OperationPhase.SUCCEEDED, message=end.message, finished_at=now)
    if not end.again or not _may_retry(state):
        return replace(settled, phase=end.phase, message=end.message, finished_at=now)
    count = state.retry_count + 1
    at = now + retry_wait(state, count)
    timeout = state.operation.timeout
    if timeout is not None and at >= state.started_at + timeout:
        return replace(settled, phase=end.phase, message=end.message, finished_at=now)
    message = f"{end.message.removesuffix('.')}. Attempt {count + 1} starts at {at:%H:%M:%S} UTC."
    return replace(settled, message=message, retry_count=count, retry_at=at)


def _may_retry(state: OperationState) -> bool:
    limit = state.operation.retry.limit
    ending = state.phase is OperationPhase.TERMINATING
    return not ending and not state.operation.dry_run and (limit < 0 or state.retry_count < limit)


def retry_wait(state: OperationState, count: int) -> timedelta:
    """How long to wait before the count-th retry; the first waits as long as was asked."""
    limits = state.operation.retry
    longest = limits.longest.total_seconds()
    factor = max(limits.factor, 1.0)
    seconds = limits.wait.total_seconds()
    for _ in range(count - 1):
        if seconds >= longest or factor == 1.0:
            break
        seconds *= factor
    return timedelta(seconds=min(seconds, longest))


def next_attempt(state: OperationState, now: datetime) -> OperationState:
    """The state at the beginning of the next attempt: nothing is done, and hooks run again."""
    return replace(
        state,
        retry_at=None,
        attempt_at=now,
        operation=taken_up(state.operation, state),
        results=(),
        hooks=(),
        begun=(),
        rehearsed=False,
        message="",
        plan="",
    )
