"""What a shell is told while somebody types: unit files, and names of apps if the cluster gives them at once.

Nobody waits at a prompt for a cluster: after a moment, and whenever anything is wrong, there are no names,
and nothing is said about it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

_UNIT_FILES = frozenset({".yaml", ".yml"})
_SAYS_SOURCE = re.compile(rb"^sources?:", re.MULTILINE)
#: how many files are looked into while somebody waits, and how far
_MOST_FILES, _BEGINNING = 200, 16 * 1024

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from trimtab.kube import Access
    from trimtab.settings import ClusterSettings


def app_names(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The apps whose names begin so."""
    from click.shell_completion import CompletionItem

    try:
        names = within(*_question(context))
    except Exception:  # noqa: BLE001 - whoever types wants no names rather than our complaints
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def sources(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The apps and the unit files whose names begin so, and folders.

    Shells look for folders by themselves where they are told of nothing else.
    """
    from click.shell_completion import CompletionItem

    files = [CompletionItem(name) for name in files_and_folders(incomplete)]
    return [CompletionItem(incomplete, type="dir"), *files, *app_names(context, parameter, incomplete)]


def files_and_folders(incomplete: str) -> list[str]:
    """The unit files whose paths begin so, and the folders that do; nothing if there is no such file."""
    beginning = incomplete.rpartition("/")[2]
    prefix = incomplete.removesuffix(beginning)
    try:
        found = sorted(each for each in Path(prefix or ".").iterdir() if each.name.startswith(beginning))
        units = [each for each in found[:_MOST_FILES] if _is_unit_file(each)]
        folders = [each for each in found if not each.name.startswith(".") and each.is_dir()] if units else []
    except OSError:
        return []
    return [f"{prefix}{each.name}" for each in (*units, *folders)]


def _is_unit_file(path: Path) -> bool:
    """Whether a file looks like one: manifests have the same endings, and are no sources."""
    if path.suffix not in _UNIT_FILES or not path.is_file():
        return False
    with path.open("rb") as file:
        return _SAYS_SOURCE.search(file.read(_BEGINNING)) is not None


def within(seconds: float, ask: Callable[[], list[str]]) -> list[str]:
    """The answer, if it comes in time and well; else none.

    A thread can be left behind where a name server does not answer; the process ends without it.
    """
    found: list[str] = []

    def note() -> None:
        try:
            found.extend(ask())
        except BaseException:  # noqa: BLE001 - as above
            return

    asking = threading.Thread(target=note, daemon=True)
    asking.start()
    asking.join(seconds)
    return list(found)


def _question(context: click.Context) -> tuple[float, Callable[[], list[str]]]:
    """How long to wait, and what for: all that can be got ready before the cluster is asked."""
    from functools import partial

    from trimtab.interfaces.cli.configuration import settings_of
    from trimtab.interfaces.cli.reaching import Reach, access_of
    from trimtab.interfaces.cli.verbs import Invocation
    from trimtab.tasks.loops import run_main

    root, given = context.find_root(), context.params
    invocation = Invocation(
        environment=root.obj,
        config=root.params.get("config"),
        overrides=root.params.get("overrides") or {},
    )
    kubeconfig = given.get("kubeconfig")
    reach = Reach(Path(kubeconfig) if kubeconfig else None, given.get("context"))
    settings = settings_of(invocation)
    access = access_of(invocation, reach, settings)
    ask = partial(_names, access, settings.cluster, settings.apps.namespace)
    return settings.apps.complete_within.total_seconds(), lambda: run_main(ask())


async def _names(access: Access, settings: ClusterSettings, namespace: str) -> list[str]:
    """The names that stand on the records; reading the records themselves would need far more of Trimtab."""
    from trimtab.kube import connect
    from trimtab.kube.cluster import Selection
    from trimtab.kube.discovery import Resource
    from trimtab.resources.labels import RECORD_LABEL, UNIT_ANNOTATION

    secrets = Resource(group="", version="v1", kind="Secret", plural="secrets", namespaced=True)
    heads = Selection(labels=f"{RECORD_LABEL}=head")
    found: list[str] = []
    async with connect(access, settings) as cluster:
        async for page in cluster.list(secrets, namespace=namespace, select=heads):
            found += [(each.metadata.annotations or {}).get(UNIT_ANNOTATION, "") for each in page.objects]
    return sorted(name for name in found if name)
