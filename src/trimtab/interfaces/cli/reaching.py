"""How verbs reach a cluster: `--kubeconfig`, `--context` and `-n`, as kubectl has them."""

from __future__ import annotations

import functools
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trimtab.errors import Missing
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app import Apps
    from trimtab.kube import Access
    from trimtab.settings import Settings


class Reach(NamedTuple):
    """Which cluster is meant."""

    kubeconfig: Path | None = None
    context: str | None = None


def cluster_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb `--kubeconfig` and `--context`; it takes them as one `reach`."""

    @click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Read access from this file, not from $KUBECONFIG or ~/.kube/config.",
    )
    @click.option("--context", help="Use this context, not the current one.")
    @functools.wraps(verb)
    def gathered(*arguments: Any, kubeconfig: Path | None, context: str | None, **given: Any) -> None:
        verb(*arguments, reach=Reach(kubeconfig, context), **given)

    return gathered


@asynccontextmanager
async def apps_at(invocation: Invocation, reach: Reach, *, renders: bool = False) -> AsyncIterator[Apps]:
    """The apps of the cluster that is meant; whoever is about to have sources rendered `renders`."""
    from trimtab.app import open_apps
    from trimtab.interfaces.cli.configuration import settings_of
    from trimtab.interfaces.cli.output import tell_fetches

    settings, environment = settings_of(invocation), invocation.environment
    access = access_of(invocation, reach, settings)
    user = environment.get("USER") or environment.get("LOGNAME") or "somebody"
    who = f"{user}@{socket.gethostname()} (process {os.getpid()})"
    path = environment.get("PATH", "")
    tell = tell_fetches()
    async with open_apps(access, settings, path=path, who=who, renders=renders, tell=tell) as apps:
        yield apps


def access_of(invocation: Invocation, reach: Reach, settings: Settings) -> Access:
    """How to reach the cluster that is meant; in a pod without any file, by its service account."""
    from trimtab.kube import from_kubeconfig, in_cluster
    from trimtab.tasks.clock import SystemClock

    files, environment, clock = _files(invocation, reach), invocation.environment, SystemClock()
    is_named = reach.kubeconfig is not None or bool(environment.get("KUBECONFIG"))
    if not is_named and not files[0].exists() and environment.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(clock=clock, environment=environment)
    if not any(file.exists() for file in files):
        remedy = "Name one with --kubeconfig or KUBECONFIG, or have a cluster in memory: trimtab cluster up"
        raise Missing(f"kubeconfig {files[0]}", "it does not exist", remedy)
    return from_kubeconfig(
        files, context=reach.context, settings=settings.cluster, clock=clock, environment=environment
    )


def _files(invocation: Invocation, reach: Reach) -> list[Path]:
    if reach.kubeconfig is not None:
        return [reach.kubeconfig]
    listed = [each for each in invocation.environment.get("KUBECONFIG", "").split(os.pathsep) if each]
    home = Path(invocation.environment.get("HOME", "") or Path.home())
    return [Path(each) for each in listed] or [home / ".kube" / "config"]
