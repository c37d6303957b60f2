"""`trimtab cluster up|status|down`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.output import Listing, facts, paper_at, show, words_option
from trimtab.interfaces.cli.verbs import Invocation, Suggesting
from trimtab.resources.tables import Column

if TYPE_CHECKING:
    from trimtab.apiserver.background import State

_COLUMNS = (
    Column("SERVER", least=16),
    Column("KUBECONFIG", least=16, names=True),
    Column("SINCE", least=20, wide=True),
    Column("PID", wide=True),
)


@click.group(cls=Suggesting)
def cluster() -> None:
    """Run a Kubernetes API in memory, for trying things out.

    It answers like a real cluster, keeps everything in memory, and forgets it at the end.

    \b
    Examples:
      trimtab cluster up
      trimtab cluster status
      trimtab cluster down
    """


@cluster.command()
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Add the context `trimtab` to this file and make it current, instead of writing a file of its own.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Listen here; 0 takes a free port.")
@click.option("--foreground", is_flag=True, help="Stay here until Ctrl-C instead of going to the background.")
@click.pass_obj
def up(invocation: Invocation, kubeconfig: Path | None, port: int, *, foreground: bool) -> None:
    """Start the cluster and print how to reach it; it runs until `down`.

    \b
    Examples:
      trimtab cluster up
      trimtab cluster up --kubeconfig ~/.kube/config
      trimtab cluster up --foreground --port 6443
    """
    from trimtab.apiserver import background

    folder = folder_of(invocation.environment)
    if (already := background.running(folder)) is not None:
        _check_asked(already, kubeconfig, port, foreground=foreground)
        click.echo(_told("The cluster is up already", already, invocation.environment))
        return
    config = (kubeconfig or folder / background.KUBECONFIG).absolute()
    if foreground:
        click.echo(f"The cluster runs until Ctrl-C; use it with: export KUBECONFIG={config}")
        _stay(folder, config, port)
    else:
        started = background.start(folder, config, port=port, environment=invocation.environment)
        click.echo(_told("The cluster is up", started, invocation.environment))


def _stay(folder: Path, config: Path, port: int) -> None:
    from trimtab.apiserver import MemoryCluster
    from trimtab.apiserver.hosting import host
    from trimtab.tasks.loops import run_main, stay

    serving = host(MemoryCluster(), folder, config, port=port)
    stay()
    run_main(serving)


def _check_asked(already: State, kubeconfig: Path | None, port: int, *, foreground: bool) -> None:
    """Refuse what a cluster that is up cannot be: whoever relies on it might reach another cluster."""
    from urllib.parse import urlsplit

    from trimtab.errors import Conflict

    asked = {
        "--foreground": foreground,
        f"--port {port}": port not in {0, urlsplit(already.url).port},
        f"--kubeconfig {kubeconfig}": kubeconfig and str(kubeconfig.absolute()) != already.kubeconfig,
    }
    unmet = [option for option, differs in asked.items() if differs]
    if unmet:
        reason = f"it is up already at {already.url}, and not with {' '.join(unmet)}"
        remedy = f"Stop it first with trimtab cluster down, or use it: export KUBECONFIG={already.kubeconfig}"
        raise Conflict("cluster", reason, remedy)


@cluster.command()
@words_option
@click.pass_obj
def status(invocation: Invocation, output: str) -> None:
    """Print where the cluster is, if it runs.

    \b
    Examples:
      trimtab cluster status
      trimtab cluster status -o json
    """
    from trimtab.apiserver import background
    from trimtab.errors import Missing

    found = background.running(folder_of(invocation.environment))
    if found is None:
        raise Missing("cluster", "none is running", "Start one with: trimtab cluster up")
    told = {"server": found.url, "kubeconfig": found.kubeconfig, "since": found.since, "pid": str(found.pid)}
    if output == "text":
        click.echo(facts(list(told.items()), paper_at(invocation)))
    else:
        row = tuple(told.values())
        show(invocation, Listing(_COLUMNS, [row], [f"cluster/{background.CONTEXT}"], told), output)


@cluster.command()
@click.pass_obj
def down(invocation: Invocation) -> None:
    """Stop the cluster; what was in it is gone.

    \b
    Examples:
      trimtab cluster down
    """
    from trimtab.apiserver import background

    background.stop(folder_of(invocation.environment))
    click.echo("The cluster is down.")


def folder_of(environment: Mapping[str, str]) -> Path:
    """Where the cluster in memory says that it runs."""
    from trimtab.settings.places import placed

    return Path(placed("~/.local/state/trimtab/cluster", environment)[0]).expanduser()


def _told(sentence: str, state: State, environment: Mapping[str, str]) -> str:
    """How the cluster is reached: without a word by ourselves, where nothing leads elsewhere."""
    from trimtab.interfaces.cli.reaching import names_no_file

    is_found = names_no_file(environment) and not environment.get("KUBERNETES_SERVICE_HOST")
    by_itself = "trimtab sync SOURCE; for kubectl: " if is_found else ""
    lines = (
        f"{sentence} at {state.url}",
        f"  use it:   {by_itself}export KUBECONFIG={state.kubeconfig}",
        "  look:     kubectl get namespaces",
        "  stop it:  trimtab cluster down",
    )
    return "\n".join(lines)
