"""Progress of a sync: from a plan, what was done, and what the world shows, to what follows. Pure.

`progress` is asked again whenever something happened; it remembers nothing. A wave begins when the one before
is healthy and what it pruned is gone; a hook is judged by its object's health; what failed is tidied up, and
hooks for failure run. Acts are asked for once: what has a result is not done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import TypeVar

from msgspec.structs import replace

from trimtab.engine.live import Live
from trimtab.engine.operations import (
    HookRun,
    OperationPhase,
    OperationState,
    StepPhase,
    StepResult,
    StepStatus,
    SyncPhase,
)
from trimtab.engine.sync.acts import (
    Act,
    Awaited,
    Clear,
    Discard,
    Done,
    Facts,
    Failed,
    Look,
    Move,
    Next,
    Progress,
    Rehearse,
    Release,
    Wait,
    Wave,
)
from trimtab.engine.sync.hooks import DeletePolicy
from trimtab.engine.sync.judging import (
    AGREED_OTHERWISE,
    ESTABLISHED_WITHIN,
    RENAME_HOOK,
    in_the_way,
    is_established,
    is_gone,
    judged,
    look_due,
    moved,
    question_due,
    standing,
)
from trimtab.engine.sync.ordering import kind_rank
from trimtab.engine.sync.results import causes, result_of, with_results
from trimtab.engine.sync.steps import Apply, CreateNamespace, Prune, Refuse, RunHook, Step, SyncPlan
from trimtab.resources.counting import counted
from trimtab.resources.sentences import joined

TERMINATED = "Terminated"
#: what is said of a deletion before the causes why it failed, by the phase in which it did
_FAILED_HOOKS = {
    SyncPhase.PRE_DELETE: "a PreDelete hook failed, so its objects stay: ",
    SyncPhase.POST_DELETE: "a PostDelete hook failed, though all else is deleted: ",
}
_S = TypeVar("_S", bound=Step)


def progress(plan: SyncPlan, state: OperationState, facts: Facts, now: datetime) -> Progress:
    """What is known of the operation now, and what follows from it."""
    return Course(plan).progress(state, facts, now)


class Course:
    """A plan in its groups: the same for every decision on it."""

    def __init__(self, plan: SyncPlan) -> None:
        self.plan = plan
        main = [step for step in plan.steps if step.phase is not SyncPhase.SYNC_FAIL]
        self.on_failure = [step for step in plan.steps if step.phase is SyncPhase.SYNC_FAIL]
        self.groups = [list(group) for _, group in groupby(main, key=_group_of)]
        #: the hooks of all phases but the one for failure
        self.hooks = [step for step in main if isinstance(step, RunHook)]
        #: what makes kinds known that others need
        self.defining = [step for step in main if isinstance(step, Apply) and step.defines]

    def progress(self, state: OperationState, facts: Facts, now: datetime) -> Progress:
        """What is known of the operation now, and what follows from it."""
        turn = _Turn(self, state, facts, now)
        move = turn.move()
        return Progress(turn.state_after(move), move)


class _Turn:
    """One decision, with the results as they become known while deciding."""

    def __init__(self, course: Course, state: OperationState, facts: Facts, now: datetime) -> None:
        self.course, self.plan = course, course.plan
        self.state, self.facts, self.now = state, facts, now
        self.results = {(each.key, each.sync_phase): each for each in state.results}
        self.runs = {(each.key, each.sync_phase): each for each in state.hooks}
        self.recorded = frozenset(self.runs)
        self.begun = set(state.begun)
        self.fresh: list[StepResult] = []
        #: everything of the unit goes, so nothing of its hooks stays either
        self.deletes = state.operation.delete

    def state_after(self, move: Move) -> OperationState:
        """The state with all that was found out."""
        state = with_results(self.state, self.fresh) if self.fresh else self.state
        message, since = self._waiting_words(move)
        return replace(
            state,
            plan=state.plan or self.plan.digest,
            hooks=tuple(self.runs.values()),
            begun=tuple(sorted(self.begun)) if len(self.begun) > len(state.begun) else state.begun,
            message=message,
            waiting_since=since,
        )

    def _waiting_words(self, move: Move) -> tuple[str, datetime | None]:
        """What is waited for and since when; asking the server in between does not end the wait."""
        state = self.state
        match move:
            case Wait(what=what):
                return what, (state.waiting_since if state.message == what else None) or self.now
            case Next(acts=acts) if all(isinstance(act, Look) for act in acts):
                return state.message, state.waiting_since
            case _:
                return state.message, None

    def move(self) -> Move:
        """What follows."""
        refusal = self._refusal()
        if refusal is not None:
            return refusal
        self._judge()
        self._heed()
        move = self._end() if self.state.phase is OperationPhase.TERMINATING else self._go_on()
        return self._before_deadline(move)

    # -- what was found out ------------------------------------------------------------------------------

    def _refusal(self) -> Failed | None:
        """Why nothing may be done at all."""
        agreed = self.state.operation.plan_digest
        begun = self.state.begun or self.state.results or self.state.hooks or self.state.retry_count
        if agreed and not begun and agreed != self.plan.digest:
            told = f"{AGREED_OTHERWISE}: agreed to was {agreed[:12]}, now it is {self.plan.digest[:12]}"
            return Failed(message=told, again=False)
        blocking = [str(each) for each in self.plan.refused if each.blocks]
        return Failed(message=joined(blocking)) if blocking else None

    def _judge(self) -> None:
        """Look at everything that still runs and is waited for."""
        main = self.course.groups if len(self.course.groups) > 1 or self.course.hooks else ()
        for step in (*(step for group in main for step in group), *self.course.on_failure):
            result = self._result(step)
            if result is not None and not result.phase.final:
                now = judged(step, result, self.facts)
                if now is not result:
                    self._learn(now)

    def _learn(self, result: StepResult) -> None:
        self.results[(result.key, result.sync_phase)] = result
        self.fresh.append(result)

    def _result(self, step: Step) -> StepResult | None:
        return self.results.get((step.key, step.phase))

    def _run_of(self, step: RunHook) -> HookRun:
        return self.runs[(step.key, step.phase)]

    def _pending(self, steps: Iterable[_S]) -> list[_S]:
        return [step for step in steps if self._result(step) is None]

    def _running(self, steps: Iterable[Step]) -> list[Step]:
        return [step for step in steps if (found := self._result(step)) and not found.phase.final]

    def _bad(self, steps: Iterable[Step]) -> list[StepResult]:
        return [found for step in steps if (found := self._result(step)) and found.phase.bad]

    def _heed(self) -> None:
        """Keep a consent that was given, and terminate when asked to, or when the time is over."""
        approved, operation = self.facts.asks.approved_at, self.state.operation
        if approved is not None and approved != operation.deletions_approved_at:
            asked = replace(operation, deletions_approved_at=approved)
            self.state = replace(self.state, operation=asked)
        if self.state.phase is not OperationPhase.RUNNING:
            return
        deadline = self._deadline()
        if self.facts.asks.terminate:
            why = "the operation was terminated"
        elif deadline is not None and self.now >= deadline:
            why = f"the operation took longer than {self.state.operation.timeout}"
        else:
            return
        self.state = replace(self.state, phase=OperationPhase.TERMINATING, message=why)

    def _deadline(self) -> datetime | None:
        timeout = self.state.operation.timeout
        return self.state.started_at + timeout if timeout else None

    def _before_deadline(self, move: Move) -> Move:
        deadline = self._deadline()
        if not isinstance(move, Wait) or deadline is None:
            return move
        return replace(move, until=min(move.until or deadline, deadline))

    # -- the usual course --------------------------------------------------------------------------------

    def _go_on(self) -> Move:
        if self.plan.dry_run:
            return self._try_out()
        return self._agree() or self._prepare() or self._release_ended() or self._sync()

    def _agree(self) -> Move | None:
        """A deletion begins when all of it is agreed to, with what an earlier try of it has seen through."""
        if not self.deletes:
            return None
        held = self._pending(self.plan.held)
        if held and not self._is_approved():
            return self._wait_for_consent(held)
        for step in self._pending(self.course.hooks):
            if step.ran:
                self.runs[(step.key, step.phase)] = HookRun(key=step.key, sync_phase=step.phase)
                done = result_of(
                    step, status=StepStatus.SYNCED, phase=StepPhase.SUCCEEDED, message="it ran before"
                )
                self._learn(replace(done, uid=step.ran))
        return None

    def _sync(self) -> Move:
        for group in self.course.groups:
            move = self._advance(group, last=group is self.course.groups[-1])
            if move is not None:
                return move
            if self._bad(group):
                return self._fail()
        return self._succeed()

    def _advance(self, group: list[Step], *, last: bool) -> Move | None:
        """What the first wave that is not over needs; None if this one is over, or has failed."""
        pending = self._pending(group)
        if pending and not self._bad(step for step in group if isinstance(step, Prune)):
            move = self._begin_or_go_on(pending, last=last)
            if move is not None:
                return move
        return None if self._bad(group) else self._await(group, last=last)

    def _begin_or_go_on(self, pending: list[Step], *, last: bool) -> Move | None:
        prunes = [step for step in pending if isinstance(step, Prune)]
        held = [step for step in prunes if step.hold and not step.skip]
        if held and not self._is_approved():
            return self._wait_for_consent(held)
        move = self._look_for(pending, again=False) if self.course.hooks else None
        if move is not None:
            return move
        wave = Wave(phase=pending[0].phase, wave=pending[0].wave, final=last)
        pending = self._begin(pending)
        if not prunes:
            return self._write(pending, wave)
        acts = [step for step in pending if isinstance(step, Prune) and not self._settled(step)]
        writes = [step for step in pending if not isinstance(step, Prune)]
        if acts:
            return Next(acts=tuple(acts), completes=None if writes else wave)
        refused = self._bad(step for step in pending if isinstance(step, Prune))
        return None if refused else self._write(writes, wave)

    def _write(self, writes: Sequence[Step], wave: Wave) -> Move | None:
        move = self._clear(step for step in writes if isinstance(step, RunHook))
        if move is not None:
            return move
        left = [step for step in writes if not self._settled(step)]
        if not left:
            return None
        batch = next(list(same) for _, same in groupby(left, key=_rank_of))
        move = self._wait_for_kinds(batch)
        if move is not None:
            return move
        acts = tuple(step for step in batch if not isinstance(step, Refuse))
        return Next(acts=acts, completes=wave if len(batch) == len(left) else None)

    def _await(self, group: list[Step], *, last: bool) -> Move | None:
        """What has to be waited for before the next wave, or the end."""
        running = self._running(group)
        hooks = [step for step in running if isinstance(step, RunHook)]
        if hooks:
            return self._watch(hooks, Awaited.HOOKS)
        if last and not any(isinstance(step, RunHook) for step in group):
            return None
        if running:
            return self._superseded("its objects became healthy") or self._watch(running, Awaited.HEALTH)
        going = [step for step in group if isinstance(step, Prune) and self._is_going(step)]
        if going and not last:
            return self._waiting(going, Awaited.DELETION)
        return None

    def _is_going(self, step: Prune) -> bool:
        result = self._result(step)
        return result is not None and result.status is StepStatus.PRUNED and not is_gone(step, self.facts)

    # -- before the first write --------------------------------------------------------------------------

    def _prepare(self) -> Move | None:
        """Make the destination namespace, then try what is to be tried before anything else is touched."""
        for step in self.plan.steps[:1]:
            if isinstance(step, CreateNamespace):
                if self._result(step) is None:
                    self.begun.add(step.key)
                    return Next(acts=(step,))
                if bad := self._bad((step,)):
                    return Failed(message=causes(bad))
        if not self.plan.rehearse or self.state.rehearsed:
            return None
        bad = [each for each in self.results.values() if each.phase.bad]
        if bad:
            return Failed(message=causes(bad))
        tried = self._rehearsals(self._pending(self.plan.steps))
        if not tried:
            self.state = replace(self.state, rehearsed=True)
            return None
        return Next(acts=tried)

    def _rehearsals(self, steps: Iterable[Step]) -> tuple[Rehearse, ...]:
        return tuple(
            Rehearse(step) for step in steps if not isinstance(step, Prune | Refuse) and _is_rehearsable(step)
        )

    def _try_out(self) -> Move:
        """A dry run: every write is tried, nothing is made."""
        pending = self._pending(self.plan.steps)
        tried = self._rehearsals(pending)
        for step in pending:
            if isinstance(step, Prune):
                gone = StepStatus.PRUNE_SKIPPED if step.skip else StepStatus.PRUNED
                self._learn_at_once(step, gone, step.skip or "pruned (dry run)")
            elif isinstance(step, Refuse):
                self._learn_refusal(step)
            elif not _is_rehearsable(step):
                self._learn_at_once(step, StepStatus.SYNCED, "not tried (dry run)")
        if tried:
            return Next(acts=tried)
        bad = [each for each in self.results.values() if each.phase.bad]
        return Failed(message=causes(bad)) if bad else Done(message="tried out; nothing was changed")

    def _learn_at_once(self, step: Step, status: StepStatus, message: str) -> None:
        self._learn(result_of(step, status=status, phase=StepPhase.SUCCEEDED, message=message))

    # -- the wave under way ------------------------------------------------------------------------------

    def _begin(self, pending: list[Step]) -> list[Step]:
        """Write down what is about to be done, and what stands under the names of hooks; what is left."""
        for step in pending:
            if isinstance(step, RunHook):
                self._begin_hook(step)
            elif not isinstance(step, Refuse):
                self.begun.add(step.key)
        return self._pending(pending) if self.course.hooks or self.course.on_failure else pending

    def _begin_hook(self, step: RunHook) -> None:
        """Write down what a hook replaces, or that it must not: of unwatched kinds only now is it known."""
        found = standing(step.key, self.facts)
        reason = in_the_way(found, step.mark)
        if reason:
            told = f"{reason}. {RENAME_HOOK}"
            failed = StepStatus.SYNC_FAILED
            self._learn(result_of(step, status=failed, phase=StepPhase.FAILED, message=told))
        elif (step.key, step.phase) not in self.runs:
            run = HookRun(key=step.key, sync_phase=step.phase, replaces=found.uid if found else "")
            self.runs[(step.key, step.phase)] = run

    def _settled(self, step: Step) -> bool:
        """Whether nothing has to be done for a step after all; its result is noted."""
        if isinstance(step, Refuse):
            self._learn_refusal(step)
            return True
        # What this very operation has begun to write before a restart may well be changed: by itself.
        exact = self.plan.exact and step.key not in self.state.begun
        if isinstance(step, Apply) and not exact:
            return False  # applying is as right for whatever is there now
        found = standing(step.key, self.facts)
        if isinstance(step, Prune):
            if step.skip:
                self._learn_at_once(step, StepStatus.PRUNE_SKIPPED, step.skip)
                return True
            if found is not None and found.uid == step.expected.uid and found.deleting:
                self._learn_at_once(step, StepStatus.PRUNED, "pruned")
                return True
        elif isinstance(step, RunHook):
            return self._is_own_hook(step, found)
        digest = self.facts.content(found) if found else ""
        why = moved(step, found, exact=exact, digest=digest)
        if why:
            self._learn(result_of(step, status=StepStatus.SYNC_FAILED, phase=StepPhase.FAILED, message=why))
        return bool(why)

    def _learn_refusal(self, step: Refuse) -> None:
        why = f"{step.why}. {step.remedy}" if step.remedy else step.why
        self._learn(result_of(step, status=StepStatus.SYNC_FAILED, phase=StepPhase.FAILED, message=why))

    def _is_own_hook(self, step: RunHook, found: Live | None) -> bool:
        """Whether a hook was made before a restart: its run is recorded, and no older one stands there."""
        if (
            (step.key, step.phase) not in self.recorded
            or found is None
            or found.uid == self._run_of(step).replaces
        ):
            return False
        found_again = result_of(
            step, status=StepStatus.SYNCED, phase=StepPhase.RUNNING, message="found again"
        )
        made = replace(found_again, uid=found.uid, resource_version=found.resource_version, at=self.now)
        # It may have ended meanwhile, and nobody will tell of that again.
        self._learn(judged(step, made, self.facts))
        return True

    def _clear(self, hooks: Iterable[RunHook]) -> Move | None:
        """Take away what earlier runs left, and wait until it is gone."""
        acts: list[Act] = []
        going: list[Step] = []
        for step in hooks:
            run, found = self._run_of(step), standing(step.key, self.facts)
            if not run.replaces or found is None or found.uid != run.replaces:
                continue
            deletes = self.deletes or DeletePolicy.BEFORE_HOOK_CREATION in step.policies or found.deleting
            if not run.cleared:
                acts.append(Clear(step, found.uid, deletes))
            elif deletes:
                going.append(step)
        if acts:
            return Next(acts=tuple(acts))
        return self._look_for(going, again=True) or self._waiting(going, Awaited.DELETION) if going else None

    def _look_for(self, steps: Iterable[Step], *, again: bool) -> Move | None:
        """Ask the server what stands under the names of hooks, where the cache does not know their kind."""
        hooks = [step for step in steps if isinstance(step, RunHook)]
        due = [(step, question_due(step.key, self.facts, self.now, again=again)) for step in hooks]
        unknown = [(step, at) for step, at in due if at is not None]
        if not unknown:
            return None
        looks = tuple(Look(step) for step, at in unknown if at <= self.now)
        if looks:
            return Next(acts=looks)
        on = Awaited.DELETION if again else Awaited.ANSWER
        wait = self._waiting([step for step, _ in unknown], on)
        return replace(wait, until=min(at for _, at in unknown))

    def _wait_for_kinds(self, batch: list[Step]) -> Move | None:
        """Wait until the definitions that this batch needs are established."""
        if not self.course.defining:
            return None
        needed = {(step.key.group, step.key.kind) for step in batch}
        unready = [
            step for step in self.course.defining if step.defines in needed and not self._is_established(step)
        ]
        if not unready:
            return None
        move = self._watch(unready, Awaited.KINDS)
        if not isinstance(move, Wait):
            return move
        starts = (found.at for step in unready if (found := self._result(step)) and found.at)
        late = min(starts) + ESTABLISHED_WITHIN
        return replace(move, until=min(move.until or late, late))

    def _is_established(self, step: Apply) -> bool:
        result = self._result(step)
        return result is None or is_established(result, self.facts, self.now)

    def _is_approved(self) -> bool:
        operation = self.state.operation
        at = operation.deletions_approved_at
        if at is None:
            return False
        carried_out = self.state.plan or self.plan.digest
        return operation.plan_digest == carried_out or at >= (self.state.attempt_at or self.state.started_at)

    def _wait_for_consent(self, held: Sequence[Prune]) -> Move:
        newer = self._superseded("somebody agreed to its deletions")
        if newer is not None:
            return newer
        reasons = "; ".join(dict.fromkeys(step.hold for step in held))
        wait = self._waiting(held, Awaited.CONSENT)
        return replace(wait, what=f"{wait.what}: {reasons}")

    def _superseded(self, before: str) -> Failed | None:
        """A newer revision takes the place of one that only waits."""
        newer = self.facts.asks.newer
        if not newer or newer == self.state.revision:
            return None
        self.state = replace(self.state, superseded_by=newer)
        return Failed(message=f"revision {newer} took its place before {before}", again=False)

    # -- hooks that have ended ---------------------------------------------------------------------------

    def _release_ended(self) -> Next | None:
        acts = self._tidying(self.course.hooks, policy=None) if self.course.hooks else ()
        return Next(acts=acts) if acts else None

    def _tidying(self, hooks: Iterable[Step], policy: DeletePolicy | None) -> tuple[Act, ...]:
        """Hooks that have ended lose their finalizer, and those of the policy go."""
        acts: list[Act] = []
        for step in hooks:
            result = self._result(step)
            run = self.runs.get((step.key, step.phase))
            if not isinstance(step, RunHook) or result is None or not result.phase.final or run is None:
                continue
            if self._goes(step, policy) and not run.deleted:
                acts.append(Discard(step, result.uid, run.replaces))
            elif not run.released:
                acts.append(Release(step, result.uid, run.replaces))
        return tuple(acts)

    def _goes(self, step: RunHook, policy: DeletePolicy | None) -> bool:
        """Whether a hook's object is deleted now; a deletion that is done leaves none."""
        is_done = self.deletes and policy is DeletePolicy.HOOK_SUCCEEDED
        return policy in step.policies or (is_done and not step.stays)

    def _succeed(self) -> Move:
        acts = self._tidying(self.course.hooks, DeletePolicy.HOOK_SUCCEEDED)
        if acts:
            return Next(acts=acts)
        problem = self._hook_problems()
        if problem:
            return Failed(message=problem, phase=OperationPhase.ERROR)
        if not self.deletes:
            return Done(message=f"synced to {self.plan.revision or 'what was asked for'}")
        going = [step for step in self.course.hooks if self._is_standing(step)]
        if going:
            return self._look_for(going, again=True) or self._waiting(going, Awaited.DELETION)
        return Done(message="deleted")

    def _is_standing(self, step: RunHook) -> bool:
        """Whether a hook's object was deleted and is still there."""
        result, found = self._result(step), standing(step.key, self.facts)
        if result is None or not self._run_of(step).deleted:
            return False
        return found is not None and found.uid == result.uid

    def _hook_problems(self) -> str:
        return joined(dict.fromkeys(f"{run.key}: {run.problem}" for run in self.runs.values() if run.problem))

    # -- failure -----------------------------------------------------------------------------------------

    def _fail(self) -> Move:
        """Let running hooks end, tidy up, run the hooks for failure, and say why."""
        hooks = self._running(self.course.hooks)
        if hooks:
            return self._watch(hooks, Awaited.HOOKS)
        acts = self._tidying(self.course.hooks, DeletePolicy.HOOK_FAILED)
        if acts:
            return Next(acts=acts)
        return self._run_on_failure() or self._failed()

    def _run_on_failure(self) -> Move | None:
        pending = self._pending(self.course.on_failure)
        if pending:
            move = self._look_for(pending, again=False)
            if move is not None:
                return move
            wave = Wave(phase=SyncPhase.SYNC_FAIL, wave=pending[0].wave, final=True)
            move = self._write(self._begin(pending), wave)
            if move is not None:
                return move
        running = self._running(self.course.on_failure)
        if running:
            return self._watch(running, Awaited.HOOKS)
        ended = DeletePolicy.HOOK_FAILED if self._bad(self.course.on_failure) else DeletePolicy.HOOK_SUCCEEDED
        acts = self._tidying(self.course.on_failure, ended)
        return Next(acts=acts) if acts else None

    def _failed(self) -> Failed:
        bad = self._bad(step for group in self.course.groups for step in group)
        message = f"{_FAILED_HOOKS.get(bad[0].sync_phase, '')}{causes(bad)}" if bad else ""
        also = self._bad(self.course.on_failure)
        told = [message, *([f"hooks for failure failed: {causes(also)}"] if also else [])]
        return Failed(message="\n".join(filter(None, [*told, self._hook_problems()])))

    # -- an end before its time --------------------------------------------------------------------------

    def _end(self) -> Move:
        """End the hooks that run and let go of the others."""
        hooks = [*self.course.hooks, *(step for step in self.course.on_failure if isinstance(step, RunHook))]
        acts = tuple(act for step in hooks if (act := self._ending_act(step)) is not None)
        if acts:
            return Next(acts=acts)
        for step in self._running(hooks):
            self._learn(
                replace(self.results[(step.key, step.phase)], phase=StepPhase.FAILED, message=TERMINATED)
            )
        problem = self.state.failure or self._hook_problems()
        told = joined((self.state.message, problem))
        phase = OperationPhase.ERROR if problem else OperationPhase.FAILED
        return Failed(message=told, phase=phase, again=False)

    def _ending_act(self, step: RunHook) -> Act | None:
        run, result = self.runs.get((step.key, step.phase)), self._result(step)
        if run is None or run.deleted:
            return None
        if result is None:
            # It may have been made without our having heard the answer.
            found = standing(step.key, self.facts)
            return Discard(step, found.uid) if found is not None and found.uid != run.replaces else None
        if not result.uid:
            return None if run.released else Release(step, "", run.replaces)
        if not result.phase.final or (result.phase.bad and DeletePolicy.HOOK_FAILED in step.policies):
            return Discard(step, result.uid)
        return None if run.released else Release(step, result.uid)

    # -- waiting -----------------------------------------------------------------------------------------

    def _watch(self, steps: Sequence[Step], on: Awaited) -> Move:
        """Wait for objects to change; the server itself is asked for those that the cache does not show."""
        results = [(step, result) for step in steps if (result := self._result(step)) is not None]
        due = [(step, look_due(result, self.facts, self.now)) for step, result in results]
        looks = tuple(
            Look(step) for step, at in due if at and at <= self.now and isinstance(step, Apply | RunHook)
        )
        if looks:
            return Next(acts=looks)
        wait = self._waiting(steps, on)
        return replace(wait, until=min((at for _, at in due if at), default=None))

    def _waiting(self, steps: Sequence[Step], on: Awaited) -> Wait:
        more = len(steps) - 1
        others = counted(more, "more hook" if on is Awaited.HOOKS else "more object")
        first = self._held(steps) if on is Awaited.DELETION else str(steps[0].key)
        named = f"{first}{f' and {others}' if more else ''}"
        return Wait(on=on, what=f"waiting for {on.value} {named}", keys=frozenset(step.key for step in steps))

    def _held(self, steps: Sequence[Step]) -> str:
        """Which of what is deleted to name: one that somebody holds, and by what, if there is one."""
        for step in steps:
            found = standing(step.key, self.facts)
            if found is not None and found.holders:
                return f"{step.key} (held by {', '.join(found.holders)})"
        return str(steps[0].key)


def _is_rehearsable(step: CreateNamespace | Apply | RunHook) -> bool:
    return isinstance(step, CreateNamespace) or step.rehearsable


def _group_of(step: Step) -> tuple[SyncPhase, int]:
    return step.phase, step.wave


def _rank_of(step: Step) -> int:
    return kind_rank(step.key.kind)
