"""`trimtab apply`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from trimtab.errors import Conflict
from trimtab.files import read_file
from trimtab.interfaces.cli.consent import Word, consent_options, tell_held
from trimtab.interfaces.cli.lastwords import LastWords
from trimtab.interfaces.cli.output import paper_at, tell_away
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app import Apps, Work
    from trimtab.app.planfiles import StoredPlan

_LARGEST: Final = 256 << 20


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@consent_options
@cluster_options
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
        if len(plans) > 1:
            for each in plans:
                await _check(apps, each)
        for each in plans:
            await _carry_out(invocation, apps, each, word)


async def _check(apps: Apps, stored: StoredPlan) -> None:
    """Whether a plan can be carried out: of several, none is begun if one cannot."""
    from trimtab.app.applying import work_for

    known = await apps.find(stored.unit.id)
    if stored.is_done(known) or stored.is_under_way(known):
        return
    async with work_for(apps, stored, known) as work:
        stored.check(await work.plan(stored.agreed()))


async def _carry_out(invocation: Invocation, apps: Apps, stored: StoredPlan, word: Word) -> None:
    from trimtab.app.applying import work_for

    known = await apps.find(stored.unit.id)
    is_done, last_words = stored.is_done(known), LastWords()
    async with work_for(apps, stored, known) as work:
        with last_words.told():
            if is_done:
                click.echo(f"{work.name}: this plan was carried out already", err=True)
                work.take_over()  # whoever carried it out may not have lived to see what became of it
            else:
                work.check_hold(stored.agreed())
                act = _begin if work.unfinished is None else _finish
                await act(invocation, work, stored, word, last_words)
            if not word.dry_run:
                last_words.of_waiting()
                await _see_well(invocation, work, word)


async def _see_well(invocation: Invocation, work: Work, word: Word) -> None:
    """Wait until all is well, and say so."""
    from trimtab.interfaces.cli.telling import telling

    async with telling(invocation, work, None) as told:
        unit = await work.until_well(word.timeout, told.look)
    tell_away(work.away)
    status = unit.status
    click.echo(f"{unit.id} is {status.verdict.value} and {status.health.status.value} at {status.revision}")


async def _begin(
    invocation: Invocation, work: Work, stored: StoredPlan, word: Word, last_words: LastWords
) -> None:
    """Show the plan, ask, and do it, if nothing has moved since it was stored."""
    from trimtab.engine.sync.showing import plan_table
    from trimtab.interfaces.cli.telling import telling

    operation = stored.agreed()
    plan = await work.plan(operation)
    stored.check(plan)
    click.echo(plan_table(plan, paper_at(invocation)), nl=False)
    if word.dry_run:
        return
    consent = await word.given(plan)
    async with telling(invocation, work, plan) as told, last_words.of_operation(work, word.timeout):
        await work.carry_out(operation, plan, consent=consent, held=tell_held)
    click.echo(f"done: {told.counts()}", err=True)


async def _finish(
    invocation: Invocation, work: Work, stored: StoredPlan, word: Word, last_words: LastWords
) -> None:
    """Go on with this very plan, if it is what somebody began; anything else has to end first."""
    from trimtab.interfaces.cli.telling import telling

    work.check_deletion()
    if work.unfinished is None or work.unfinished.plan_digest != stored.digest:
        remedy = f"Finish it with trimtab sync {work.name}, or end it with trimtab terminate {work.name}"
        raise Conflict(f"app {work.name}", "another operation was not seen through", remedy)
    if word.dry_run:
        click.echo(f"{work.name}: this plan was begun and not seen through; it would go on", err=True)
        return
    click.echo("This plan was begun and not seen through: going on with it.", err=True)
    async with telling(invocation, work, None), last_words.of_operation(work, word.timeout):
        await work.finish(consent=word.deletions, held=tell_held)
