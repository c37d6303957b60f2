"""How verbs reach a cluster: `--kubeconfig`, `--context` and `-n`, as kubectl has them."""

from __future__ import annotations

import functools
import gc
import os
import pwd
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trimtab.errors import Missing
from trimtab.interfaces.cli.leading import remember
from trimtab.interfaces.cli.names import NAMESPACE
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.apiserver.background import State
    from trimtab.app import Apps
    from trimtab.app.headstart import FolderAhead
    from trimtab.kube import Access
    from trimtab.settings import Settings


class Reach(NamedTuple):
    """Which cluster is meant."""

    kubeconfig: Path | None = None
    context: str | None = None
    #: the apps that are named go there, or are not meant
    namespace: str = ""


def app_cluster_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb on an app by its name `--kubeconfig`, `--context` and `-n`; it takes them as one `reach`.

    Names of apps are known in the whole cluster, so that `-n` chooses nothing: it is held against the app.
    """

    @click.option(
        "-n", "--namespace", type=NAMESPACE, default="", help="Refuse an app whose objects go elsewhere."
    )
    @functools.wraps(verb)
    def gathered(*arguments: Any, reach: Reach, namespace: str, **given: Any) -> None:
        verb(*arguments, reach=reach._replace(namespace=namespace), **given)

    return cluster_options(gathered)


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
        remember(kubeconfig, context)
        verb(*arguments, reach=Reach(kubeconfig, context), **given)

    return gathered


def user_of(environment: Mapping[str, str]) -> str:
    """Who calls, as records name him; in containers and cron jobs only the machine's own accounts tell."""
    named = environment.get("USER") or environment.get("LOGNAME")
    if named:
        return named
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return "somebody"


@asynccontextmanager
async def apps_at(
    invocation: Invocation, reach: Reach, *, renders: bool = False, ahead: FolderAhead | None = None
) -> AsyncIterator[Apps]:
    """The apps of the cluster that is meant.

    Whoever is about to have sources rendered `renders`, and names a folder that is the first of them.
    """
    from trimtab.app.headstart import head_start
    from trimtab.interfaces.cli.configuration import settings_of

    settings, environment = settings_of(invocation), invocation.environment
    async with head_start(settings.rendering, ahead) if renders else nullcontext() as workers:
        from trimtab.app import open_apps
        from trimtab.interfaces.cli.output import tell_fetches

        access = access_of(invocation, reach, settings)
        who = f"{user_of(environment)}@{socket.gethostname()} (process {os.getpid()})"
        path, tell = environment.get("PATH", ""), tell_fetches()
        async with open_apps(access, settings, path=path, who=who, tell=tell, workers=workers) as apps:
            gc.freeze()  # what was imported stays: it need not be looked through for what can be let go
            yield apps.within(reach.namespace) if reach.namespace else apps


def access_of(invocation: Invocation, reach: Reach, settings: Settings, *, is_told: bool = True) -> Access:
    """How to reach the cluster that is meant.

    Without any file it is reached by a pod's service account, or it is the cluster in memory that runs, which
    is told.
    """
    from trimtab.kube import from_kubeconfig, in_cluster
    from trimtab.tasks.clock import SystemClock

    environment, clock = invocation.environment, SystemClock()
    files, is_left_out = _files(environment, reach), reach.kubeconfig is None and names_no_file(environment)
    if is_left_out and environment.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(clock=clock, environment=environment)
    if is_left_out and (here := _in_memory(environment)) is not None:
        files = [Path(here.kubeconfig)]
        if is_told:
            _tell_once(f"No kubeconfig is named: this is the cluster in memory at {here.url}")
    if not any(file.exists() for file in files):
        helps = is_left_out or files[0] == _of_memory(environment)
        remedy = "Name one with --kubeconfig or KUBECONFIG" if is_left_out else "Name one that is there"
        in_memory = ", or have a cluster in memory: trimtab cluster up" if helps else ""
        raise Missing(f"kubeconfig {files[0]}", "it does not exist", f"{remedy}{in_memory}")
    return from_kubeconfig(
        files, context=reach.context, settings=settings.cluster, clock=clock, environment=environment
    )


def names_no_file(environment: Mapping[str, str]) -> bool:
    """Whether nothing names a kubeconfig, and none lies where it usually does."""
    return not _listed(environment) and not _is_there(_usual(environment))


def _is_there(path: Path) -> bool:
    """Whether something lies there, be it a link that leads nowhere: whoever made it has a cluster."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _in_memory(environment: Mapping[str, str]) -> State | None:
    """The cluster that `trimtab cluster up` started, if it runs."""
    from trimtab.apiserver.background import running
    from trimtab.interfaces.cli.cluster import folder_of

    return running(folder_of(environment))


def _of_memory(environment: Mapping[str, str]) -> Path:
    """The file that `trimtab cluster up` writes where no other is named."""
    from trimtab.apiserver.background import KUBECONFIG
    from trimtab.interfaces.cli.cluster import folder_of

    return folder_of(environment) / KUBECONFIG


def _tell_once(sentence: str) -> None:
    """Say something on stderr that a command may come to know several times."""
    context = click.get_current_context(silent=True)
    told = set() if context is None else context.meta.setdefault(__name__, set())
    if sentence not in told:
        told.add(sentence)
        click.echo(sentence, err=True)


def _files(environment: Mapping[str, str], reach: Reach) -> list[Path]:
    if reach.kubeconfig is not None:
        return [reach.kubeconfig]
    return _listed(environment) or [_usual(environment)]


def _listed(environment: Mapping[str, str]) -> list[Path]:
    return [Path(each) for each in environment.get("KUBECONFIG", "").split(os.pathsep) if each]


def _usual(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME", "") or Path.home()) / ".kube" / "config"
