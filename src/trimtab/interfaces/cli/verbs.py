"""The command itself: its global options, and its verbs, each imported only when it is called.

A new verb is a file here and a line in `VERBS`. It takes the `Invocation` with `@click.pass_obj`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import click

#: verb → the module beside this one that holds the command of that name
VERBS = {
    "apply": "apply",
    "cluster": "cluster",
    "completion": "completion",
    "delete": "delete",
    "demo": "demo",
    "diff": "diff",
    "doctor": "doctor",
    "health": "health",
    "history": "history",
    "install": "install",
    "pause": "pause",
    "plan": "plan",
    "render": "render",
    "resume": "resume",
    "rollback": "rollback",
    "run": "run",
    "settings": "settings",
    "status": "status",
    "sync": "sync",
    "terminate": "terminate",
    "tree": "tree",
    "version": "version",
    "wait": "wait",
    "why": "why",
}

#: what other tools say for it → what we say
OTHERS_WORDS = {
    "create": "sync",
    "deploy": "sync",
    "describe": "why",
    "get": "status",
    "list": "status",
    "ls": "status",
    "reconcile": "sync",
    "rm": "delete",
    "start": "up",
    "stop": "down",
    "suspend": "pause",
    "template": "render",
    "undo": "rollback",
    "uninstall": "delete",
    "upgrade": "sync",
}


class Invocation(NamedTuple):
    """What every verb may need to know of how it was called."""

    environment: Mapping[str, str]
    config: Path | None
    overrides: Mapping[str, str]


class Suggesting(click.Group):
    """A group that answers a word it does not know with the near miss, or with our word for it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that is meant, or what might be meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as exc:
            verbs, word = self.list_commands(ctx), exc.command_name
            if (ours := OTHERS_WORDS.get(word)) in verbs:
                raise click.NoSuchCommand(word, f"{exc.message} Did you mean {ours!r}?", ctx=ctx) from None
            raise click.NoSuchCommand(word, possibilities=verbs, ctx=ctx) from None


class Verbs(Suggesting):
    """A group that imports a verb when somebody asks for it, so that the others cost nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in order."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"{__package__}.{VERBS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


def _overrides(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The settings given with --setting, the last one of a name winning."""
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not of the form group.name=value.")
        found[key] = value
    return found


def _tell_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's
    """Say what `trimtab version` says, and end."""
    if wanted and not context.resilient_parsing:
        from trimtab.interfaces.cli.version import version

        context.invoke(version, output="text")
        context.exit()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="Read settings from this file, not from $TRIMTAB_CONFIG or ~/.config/trimtab/config.toml.",
)
@click.option(
    "--setting",
    "overrides",
    multiple=True,
    callback=_overrides,
    metavar="NAME=VALUE",
    help="Change one setting, such as cluster.page_size=100; `trimtab settings` lists them.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_version,
    help="Print the version.",
)
@click.option("--debug", is_flag=True, help="Show the details of an error that is a bug.")
@click.pass_context
def trimtab(context: click.Context, config: Path | None, overrides: dict[str, str], *, debug: bool) -> None:
    """Keep Kubernetes clusters at the state that Git declares.

    \b
    Examples:
      trimtab cluster up                       a cluster in memory, for trying things out
      trimtab plan ./deploy -n shop            what a sync would do
      trimtab sync ./deploy -n shop            do it, and wait until all is well
      trimtab status                           how every app stands
    """
    del debug  # it matters only where an error ends
    context.obj = Invocation(environment=context.obj, config=config, overrides=overrides)
