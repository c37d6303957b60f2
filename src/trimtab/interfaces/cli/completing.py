"""What a shell is told while somebody types: unit files, and names of apps if the cluster gives them at once.

Nobody waits at a prompt for a cluster: after a moment, and whenever anything is wrong, there are no names,
and nothing is said about it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection
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
    """The apps whose names begin so, or `app/` and their names."""
    return _apps(context, incomplete, hidden=lambda _name: False)


def sources(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The apps and the unit files whose names begin so, and folders.

    Where there are folders alone a shell is left to look for them: it adds no blank behind them, so one can
    go on. Beside anything else they are named like that, since no shell but fish can mix the two.
    """
    from click.shell_completion import CompletionItem

    files, apps = unit_files(incomplete), _apps(context, incomplete, hidden=lambda name: Path(name).exists())
    if not files and not apps:
        return [CompletionItem(incomplete, type="dir")]
    return [*map(CompletionItem, (*files, *folders(incomplete))), *apps]


def _apps(context: click.Context, incomplete: str, *, hidden: Callable[[str], bool]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    try:
        names = apps_spelt(within(*_question(context)), incomplete, hidden=hidden)
    except Exception:  # noqa: BLE001 - whoever types wants no names rather than our complaints
        return []
    return [CompletionItem(name) for name in names]


def apps_spelt(names: Collection[str], incomplete: str, *, hidden: Callable[[str], bool]) -> list[str]:
    """The apps as whoever has typed so much may go on.

    As `app/NAME` where somebody began so, and where the name alone is hidden: it means what lies here.
    """
    from trimtab.app.naming import app_name

    is_begun = incomplete.startswith(app_name(""))
    plain = {name for name in names if not hidden(name)}
    whole = {app_name(name) for name in names if is_begun or name not in plain}
    return sorted(each for each in plain | whole if each.startswith(incomplete))


def unit_files(incomplete: str) -> list[str]:
    """The unit files whose paths begin so."""
    prefix, found = _beginning_so(incomplete)
    try:
        return [f"{prefix}{each.name}" for each in found[:_MOST_FILES] if _is_unit_file(each)]
    except OSError:
        return []


def folders(incomplete: str) -> list[str]:
    """The folders whose paths begin so, but for hidden ones."""
    prefix, found = _beginning_so(incomplete)
    return [f"{prefix}{each.name}" for each in found if not each.name.startswith(".") and each.is_dir()]


def _beginning_so(incomplete: str) -> tuple[str, list[Path]]:
    """What somebody has typed of a folder, and what in it begins as the rest does."""
    beginning = incomplete.rpartition("/")[2]
    prefix = incomplete.removesuffix(beginning)
    try:
        return prefix, sorted(
            each for each in Path(prefix or ".").iterdir() if each.name.startswith(beginning)
        )
    except OSError:
        return prefix, []


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
    access = access_of(invocation, reach, settings, is_told=False)
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
