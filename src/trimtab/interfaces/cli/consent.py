"""What verbs that carry out a plan share: the options that say who is asked, and how consent is given."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trimtab.interfaces.cli.asking import agreed

if TYPE_CHECKING:
    from trimtab.app import Work
    from trimtab.engine.sync.steps import SyncPlan


class Word(NamedTuple):
    """Whether somebody is asked, what was agreed to beforehand, and how long is waited."""

    asks: bool
    deletions: bool
    timeout: float

    async def given(self, plan: SyncPlan) -> bool:
        """Whether deletions are agreed to; whoever sees the plan and says yes agrees to all of it."""
        if self.asks and plan.steps:
            await agreed("Do this?")
            return True
        return self.deletions


def consent_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb `--yes`, `--confirm-deletions` and `--timeout`; it takes them as one `word`."""

    @click.option("-y", "--yes", is_flag=True, help="Do not ask.")
    @click.option(
        "--confirm-deletions", is_flag=True, help="Agree to deletions that need somebody's consent."
    )
    @click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds to wait.")
    @functools.wraps(verb)
    def gathered(*arguments: Any, yes: bool, confirm_deletions: bool, timeout: float, **given: Any) -> None:
        asks = not yes and sys.stdin.isatty()
        verb(*arguments, word=Word(asks=asks, deletions=confirm_deletions, timeout=timeout), **given)

    return gathered


async def end_first(work: Work, word: Word) -> None:
    """End what is under way on an app, with somebody's word for it where somebody is asked."""
    from trimtab.app.patience import ended

    if work.unfinished is None:
        return
    click.echo("Another operation of this app was not seen through, and is ended first.", err=True)
    if word.asks:
        await agreed("End it?")
    await ended(work, word.timeout, tell_held)


def tell_held(holder: str) -> None:
    """Say whom the command waits for."""
    click.echo(f"{holder} works on this app; waiting", err=True)
