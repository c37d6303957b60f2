"""What verbs that carry out a plan share: the options that say who is asked, and how consent is given."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trimtab.interfaces.cli.asking import agreed
from trimtab.interfaces.cli.lastwords import LastWords
from trimtab.interfaces.cli.output import words_option
from trimtab.interfaces.cli.patience import timeout_option
from trimtab.resources.counting import counted

if TYPE_CHECKING:
    from trimtab.app import Work
    from trimtab.engine.sync.steps import SyncPlan


class Word(NamedTuple):
    """Whether somebody is asked, what was agreed to beforehand, and how long is waited."""

    asks: bool
    deletions: bool
    timeout: float
    dry_run: bool = False
    output: str = "text"

    async def given(self, plan: SyncPlan) -> bool:
        """Whether deletions are agreed to; whoever sees the plan and says yes agrees to all of it."""
        if self.asks and plan.steps:
            await agreed_to(plan)
            return True
        return self.deletions

    async def given_for_all(self, plans: Sequence[SyncPlan]) -> Word:
        """The word for each of these plans, which were shown together: about all of them it is asked once."""
        if not self.asks or not any(plan.steps for plan in plans):
            return self
        await agreed_to(*plans)
        return self._replace(asks=False, deletions=True)


async def agreed_to(*plans: SyncPlan) -> None:
    """Ask whether plans are to be done; of long ones, what scrolled away is counted once more."""
    from trimtab.engine.sync.showing import plan_sum

    together = f"{counted(len(plans), 'plan')}: " if len(plans) > 1 else ""
    await agreed(f"{together}{plan_sum(*plans)}. Do this?")


def consent_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb `--dry-run`, `--yes`, `--confirm-deletions`, `--timeout` and `-o`, all as one `word`."""

    @click.option("--dry-run", is_flag=True, help="Only show what would be done.")
    @click.option("-y", "--yes", is_flag=True, help="Do not ask.")
    @click.option(
        "--confirm-deletions", is_flag=True, help="Agree to deletions that need somebody's consent."
    )
    @timeout_option("How long to wait.")
    @words_option
    @functools.wraps(verb)
    def gathered(
        *arguments: Any,
        dry_run: bool,
        yes: bool,
        confirm_deletions: bool,
        timeout: float,
        output: str,
        **given: Any,
    ) -> None:
        asks = not yes and sys.stdin.isatty()
        word = Word(asks=asks, deletions=confirm_deletions, timeout=timeout, dry_run=dry_run, output=output)
        verb(*arguments, word=word, **given)

    return gathered


async def end_first(work: Work, word: Word) -> None:
    """End what is under way on an app, with somebody's word for it where somebody is asked."""
    from trimtab.app.patience import ended

    if work.unfinished is None:
        return
    click.echo("Another operation of this app was not seen through, and is ended first.", err=True)
    if word.asks:
        await agreed("End it?")
    last_words = LastWords()
    last_words.of_ending(work.name)
    with last_words.told():
        await ended(work, word.timeout, tell_held)


def tell_held(holder: str) -> None:
    """Say whom the command waits for."""
    click.echo(f"{holder} works on this app; waiting", err=True)
