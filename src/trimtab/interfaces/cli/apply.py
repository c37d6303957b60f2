"""`trimtab apply`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from trimtab.errors import Conflict
from trimtab.files import read_file
from trimtab.interfaces.cli.consent import Word, consent_options, tell_held
from trimtab.interfaces.cli.lastwords import LastWords, goes_on
from trimtab.interfaces.cli.outcomes import is_for_people, show_outcomes, show_plan, show_plans, standing
from trimtab.interfaces.cli.output import tell_away
from trimtab.interfaces.cli.reaching import Reach, app_cluster_options, apps_at
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app import Apps, Work
    from trimtab.app.planfiles import StoredPlan
    from trimtab.engine.operations import OperationState
    from trimtab.engine.sync.steps import SyncPlan
    from trimtab.engine.units import SyncUnit

_LARGEST: Final = 256 << 20


class _Act(NamedTuple):
    """How a plan is carried out: who is asked, what is said in the end, and what goes on with it."""

    word: Word
    last_words: LastWords
    again: str

    def under_way(self, work: Work) -> AbstractAsyncContextManager[None]:
        """Have the plan be carried out."""
        return self.last_words.of_operation(work, self.word.timeout, self.again)


class _Told:
    """What is answered of the plans of a file: sentences as they come, or a document in the end."""

    def __init__(self, invocation: Invocation, word: Word, *, several: bool) -> None:
        self.invocation = invocation
        self._output = word.output
        self._only_shows = word.dry_run
        self._is_list = several
        self._plans: list[SyncPlan] = []
        #: the digests of those that somebody has seen and agreed to
        self._shown: set[str] = set()
        self._reports: list[dict[str, Any]] = []

    async def agreed(self, plans: Sequence[SyncPlan], word: Word) -> Word:
        """Show several plans and ask once, where somebody is asked; the word for each of them."""
        if not word.asks or word.dry_run:
            return word
        for plan in plans:
            show_plan(self.invocation, plan, self._output)
        self._shown = {plan.digest for plan in plans}
        return await word.given_for_all(plans)

    def plan(self, plan: SyncPlan, *, is_answer: bool) -> None:
        """A plan is about to be carried out, or is all that is answered."""
        if plan.digest in self._shown:
            click.echo(f"{plan.unit}: plan {plan.digest[:12]}", err=True)
        elif is_answer and not is_for_people(self._output):
            self._plans.append(plan)
        else:
            show_plan(self.invocation, plan, self._output)

    def well(self, unit: SyncUnit, state: OperationState | None) -> None:
        """A plan was carried out, and its app is well."""
        from trimtab.app.reports import outcome_report

        self._reports.append(outcome_report(unit, state))
        if is_for_people(self._output):
            click.echo(f"{standing(unit)} at {unit.status.revision}")

    def end(self) -> None:
        """All plans were carried out."""
        if is_for_people(self._output):
            return
        if self._only_shows:
            show_plans(self.invocation, self._plans, self._output)
        else:
            value = self._reports if self._is_list else self._reports[0]
            show_outcomes(self.invocation, self._reports, value, self._output)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@consent_options
@app_cluster_options
@click.pass_obj
def apply(invocation: Invocation, /, reach: Reach, word: Word, file: Path) -> None:
    """Carry out exactly the plan in FILE, which `trimtab plan --out` wrote.

    If anything it was planned on has moved, nothing is done, and what moved is said: the revision, what it
    renders to, the app's record, or an object in the cluster. Running it again after it was stopped goes on.

    \b
    Examples:
      trimtab plan shop --prune --out shop.plan
      trimtab apply shop.plan
      trimtab apply shop.plan --yes --confirm-deletions
    """
    from trimtab.tasks.loops import run_main

    run_main(_applied(invocation, reach, word, file))


async def _applied(invocation: Invocation, reach: Reach, word: Word, file: Path) -> None:
    from trimtab.app.planfiles import read
    from trimtab.engine import Keyring

    remedy = f"Make it with: trimtab plan SOURCE --out {file}"
    content = read_file(file, subject=f"plan file {file}", limit=_LARGEST, absent=remedy, pipes=True)
    async with apps_at(invocation, reach, renders=True) as apps:
        installation = apps.installation
        keys = Keyring(installation.key)
        plans = read(content, name=str(file), installation=installation.id, keys=keys)
        for each in plans:
            apps.check_within(each.unit)
        again = goes_on(f"apply {shlex.quote(str(file))}", agreed=word.deletions)
        told = _Told(invocation, word, several=len(plans) > 1)
        if len(plans) > 1:
            found = [plan for each in plans if (plan := await _checked(apps, each, word)) is not None]
            word = await told.agreed(found, word)
        for each in plans:
            await _carry_out(told, apps, each, word, again)
        told.end()


async def _checked(apps: Apps, stored: StoredPlan, word: Word) -> SyncPlan | None:
    """A plan that is yet to be begun; refused if it cannot be carried out: of several, none is begun then."""
    from trimtab.app.applying import work_for

    known = await apps.find(stored.unit.id)
    if stored.is_done(known):
        return None
    async with work_for(apps, stored, known) as work:
        plan = await _still_agreed(work, stored)
        if plan is not None and not word.dry_run:
            await work.check_ready(plan, consent=word.asks or word.deletions)
    return plan


async def _still_agreed(work: Work, stored: StoredPlan) -> SyncPlan | None:
    """The plan, if nothing has moved since it was stored; None if it was begun, and is to be gone on with."""
    operation = stored.agreed()
    work.check_hold(operation)
    if work.unfinished is None:
        plan = await work.plan(operation)
        stored.check(plan)
        return plan
    work.check_deletion()
    if work.unfinished.plan_digest != stored.digest:
        remedy = f"Finish it with trimtab sync {work.name}, or end it with trimtab terminate {work.name}"
        raise Conflict(f"app {work.name}", "another operation was not seen through", remedy)
    return None


async def _carry_out(told: _Told, apps: Apps, stored: StoredPlan, word: Word, again: str) -> None:
    from trimtab.app.applying import work_for

    known = await apps.find(stored.unit.id)
    is_done, last_words = stored.is_done(known), LastWords()
    act = _Act(word, last_words, again)
    async with work_for(apps, stored, known) as work:
        with last_words.told():
            if is_done:
                click.echo(f"{work.name}: this plan was carried out already", err=True)
                work.take_over()  # whoever carried it out may not have lived to see what became of it
                state = known.status.operation_state if known is not None else None
            elif (plan := await _still_agreed(work, stored)) is not None:
                state = await _begin(told, work, stored, plan, act)
            else:
                state = await _finish(told, work, act)
            if not word.dry_run:
                last_words.of_waiting()
                await _see_well(told, work, word, state)


async def _see_well(told: _Told, work: Work, word: Word, state: OperationState | None) -> None:
    """Wait until all is well, and say so."""
    from trimtab.interfaces.cli.telling import telling

    async with telling(told.invocation, work, None) as live:
        unit = await work.until_well(word.timeout, live.look)
    tell_away(work.away)
    told.well(unit, state)


async def _begin(
    told: _Told, work: Work, stored: StoredPlan, plan: SyncPlan, act: _Act
) -> OperationState | None:
    """Show the plan, ask, and do it."""
    from trimtab.interfaces.cli.telling import telling

    told.plan(plan, is_answer=act.word.dry_run)
    if act.word.dry_run:
        return None
    consent = await act.word.given(plan)
    async with telling(told.invocation, work, plan) as live, act.under_way(work):
        state = await work.carry_out(stored.agreed(), plan, consent=consent, held=tell_held)
    click.echo(f"done: {live.counts()}", err=True)
    return state


async def _finish(told: _Told, work: Work, act: _Act) -> OperationState | None:
    """Go on with this very plan, which somebody began."""
    from trimtab.interfaces.cli.telling import telling

    if act.word.dry_run:
        click.echo(f"{work.name}: this plan was begun and not seen through; it would go on", err=True)
        return None
    click.echo("This plan was begun and not seen through: going on with it.", err=True)
    async with telling(told.invocation, work, None), act.under_way(work):
        return await work.finish(consent=act.word.deletions, held=tell_held)
