"""The command itself: its global options, and its verbs, each imported only when it is called.

A new verb is a file here and a line in `VERBS`. It takes the `Invocation` with `@click.pass_obj`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import click

#: verbs, as the help sorts them, and what it says of each; the module beside this one is called like the verb
_SECTIONS = {
    "Begin": {
        "demo": "Show what Trimtab does, in a minute.",
        "cluster": "Run a Kubernetes API in memory.",
        "doctor": "Say what is wrong with access and machine.",
        "install": "Put the runner into a cluster.",
        "run": "Keep apps in sync for ever.",
    },
    "Change": {
        "plan": "Show what a sync would do.",
        "sync": "Bring a cluster to what a source declares.",
        "apply": "Carry out a stored plan.",
        "rollback": "Go back to an earlier sync, and stay there.",
        "delete": "Delete an app and its objects.",
        "pause": "Let nothing happen to an app.",
        "resume": "Let an app follow its source again.",
        "terminate": "End the operation under way.",
    },
    "Look": {
        "status": "Show how apps stand.",
        "why": "Say why an app or an object is as it is.",
        "tree": "Show the objects of an app, down to the pods.",
        "diff": "Show what differs, field by field.",
        "history": "Show the syncs of an app.",
        "wait": "Wait until an app is well.",
        "render": "Print the manifests of a source.",
        "health": "Judge objects in a file.",
    },
    "This command": {
        "settings": "Show every setting, and who made it.",
        "completion": "Have a shell complete what you type.",
        "version": "Print the version.",
    },
}
VERBS = {verb: says for section in _SECTIONS.values() for verb, says in section.items()}


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
        if args == ["help"]:
            click.echo(ctx.get_help())
            ctx.exit()
        try:
            return super().resolve_command(ctx, _asking_for_help(args))
        except click.NoSuchCommand as exc:
            from trimtab.interfaces.cli.hints import meant_by

            verbs, word = self.list_commands(ctx), exc.command_name
            if meant := meant_by(word, verbs):
                raise click.NoSuchCommand(word, f"{exc.message} {meant}", ctx=ctx) from None
            raise click.NoSuchCommand(word, possibilities=verbs, ctx=ctx) from None


def _asking_for_help(args: list[str]) -> list[str]:
    """The words, with --help for who writes `help VERB` or `VERB help`; `VERB -- help` names one."""
    if args[0] == "help":
        return [*args[1:], "--help"]
    return [args[0], "--help"] if args[1:] == ["help"] and not Path("help").exists() else args


class Verbs(Suggesting):
    """A group that imports a verb when somebody asks for it, so that the others cost nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in order."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"{__package__}.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """All verbs, by what they are for."""
        for title, verbs in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(verb.ljust(10), says) for verb, says in verbs.items()])


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
