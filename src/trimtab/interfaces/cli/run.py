"""`trimtab run`: the runner as a process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.names import NAMESPACES, not_empty
from trimtab.interfaces.cli.reaching import Reach, access_of, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app.running.clusters import Connect
    from trimtab.app.running.figures import RunnerFigures
    from trimtab.app.unitfiles import Origin
    from trimtab.settings import RunnerSettings, Settings


@click.command()
@click.option(
    "-f",
    "--units",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Record the units that the YAML files of this folder declare.",
)
@click.option(
    "--repo",
    default="",
    callback=not_empty,
    help="Record the units that YAML files in this repository declare.",
)
@click.option("--path", default="", help="With --repo: the folder that holds them.")
@click.option(
    "--revision",
    default="",
    callback=not_empty,
    help="With --repo: the branch, tag or range of versions to follow.",
)
@click.option(
    "--cluster",
    "clusters",
    multiple=True,
    metavar="NAME=CONTEXT",
    help="A further cluster that units may name, by its context; may be repeated.",
)
@click.option("--namespaces", type=NAMESPACES, help="Read and write these alone, with commas between them.")
@click.option("--listen", default="", help="Where probes, metrics and status are served, as host:port.")
@click.option("--webhooks", default="", help="Where webhooks are heard, as host:port.")
@click.option("--shards", type=click.IntRange(min=1), help="Divide units into so many parts.")
@click.option("--log", type=click.Choice(["text", "json"]), help="How events are told on stderr.")
@cluster_options
@click.pass_obj
def run(
    invocation: Invocation,
    /,
    reach: Reach,
    folder: Path | None,
    repo: str,
    path: str,
    revision: str,
    **given: object,
) -> None:
    """Keep units in sync for ever: follow Git, heal what drifts, and say how all stands.

    Keeps every app that is recorded in the cluster: automated ones in sync, others are only looked at. With
    --units or --repo it first records what the files there declare, and follows them. Ends with SIGTERM;
    what is under way then goes on with the next runner.

    \b
    Examples:
      trimtab run
      trimtab run --units ./units --listen 127.0.0.1:9090
      trimtab run --repo https://git.example/team/fleet.git --path units --cluster prod=prod-admin
      trimtab run --namespaces shop,cart --log json
    """
    from trimtab.app.running import Process, keep_running
    from trimtab.app.running.figures import RunnerFigures
    from trimtab.app.running.telling import Log
    from trimtab.tasks.loops import run_main, stay

    settings, figures = _settings(invocation, given), RunnerFigures()
    log = Log(lambda line: click.echo(line, err=True), as_json=settings.runner.log == "json")
    process = Process(
        connections=_connections(invocation, reach, settings, figures),
        settings=settings,
        path=invocation.environment.get("PATH", ""),
        me=_me(),
        origin=_origin(folder, repo, path, revision),
        tell=log.tell,
        figures=figures,
    )
    stay()
    run_main(keep_running(process))


def _settings(invocation: Invocation, given: dict[str, object]) -> Settings:
    """The settings, with what the flags say instead."""
    from msgspec.structs import replace

    from trimtab.interfaces.cli.configuration import settings_of

    settings = settings_of(invocation)
    if given["webhooks"] and not settings.runner.webhook_secrets:
        remedy = "name their files with the setting runner.webhook_secrets=github=FILE"
        raise click.UsageError(f"--webhooks hears nobody without agreed secrets: {remedy}.")
    return replace(settings, runner=_runner_settings(settings.runner, given))


def _runner_settings(settings: RunnerSettings, given: dict[str, object]) -> RunnerSettings:
    from msgspec.structs import replace

    return replace(settings, **{name: value for name, value in given.items() if value})


def _connections(
    invocation: Invocation, reach: Reach, settings: Settings, figures: RunnerFigures
) -> dict[str, Connect]:
    """How each cluster is reached: the one at hand, and the others by their contexts."""
    from trimtab.app.appsources import HERE
    from trimtab.app.running.clusters import named
    from trimtab.kube import Access, connect

    def way(name: str, access: Access) -> Connect:
        return lambda: connect(access, settings.cluster, told=figures.exchanged(name))

    contexts = named(settings.runner.clusters, "cluster", "NAME=CONTEXT")
    others = {
        name: way(name, access_of(invocation, reach._replace(context=context), settings))
        for name, context in contexts.items()
    }
    return {HERE: way(HERE, access_of(invocation, reach, settings)), **others}


def _origin(folder: Path | None, repo: str, path: str, revision: str) -> Origin | None:
    from trimtab.app.unitfiles import Origin

    if folder is not None and repo:
        raise click.UsageError("Units come from a folder or from a repository: leave out --units or --repo.")
    if (path or revision) and not repo:
        raise click.UsageError("--path and --revision are about a repository: name it with --repo.")
    if folder is not None:
        return Origin(folder=str(folder.resolve()))
    return Origin(url=repo, target=revision or "HEAD", path=path.strip("/")) if repo else None


def _me() -> str:
    """A name that no other process has, now or later."""
    import os
    import secrets
    import socket

    return f"runner on {socket.gethostname()} (process {os.getpid()}, {secrets.token_hex(4)})"
