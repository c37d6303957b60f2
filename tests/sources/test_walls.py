"""Renders come out the same whoever runs them, and the status says which walls hold.

The same script runs as root, as a user without rights, and where user namespaces are switched off.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trimtab.errors import Unavailable
from trimtab.settings import ProgramsSettings
from trimtab.sources import Renderer

from .conftest import settings_in
from .corpora import case

CASES = (
    "kustomize-list",
    "kustomize-link-inside",
    "kustomize-config-map-files",
    "helm-vendored-archive",
    "helm-link-in-chart",
)

UNPRIVILEGED = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    # The interpreter of the tests may live in a folder that only root may enter.
    *("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"),
)
NO_USER_NAMESPACES = 'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all "$@"'
USERS = {
    "as we are": (),
    "unprivileged": UNPRIVILEGED,
    "without user namespaces": ("unshare", "--user", "--map-root-user", "sh", "-c", NO_USER_NAMESPACES, "sh"),
}
REQUIRED = {
    "as we are": "",
    "unprivileged": "files,network,pid_namespace",
    "without user namespaces": "",
}

SCRIPT = """
import asyncio, json, sys
import msgspec
from pathlib import Path
from tests.sources.conftest import settings_in
from tests.sources.corpora import case
from trimtab.errors import TrimtabError
from trimtab.settings import ProgramsSettings
from trimtab.sources import Renderer

async def main(folder, tools, required, *names):
    required = tuple(required.split(",")) if required else ()
    told = {}
    settings = msgspec.structs.replace(settings_in(folder / "own"), required_walls=required)
    async with Renderer(settings, ProgramsSettings(fetch=False), path=tools) as renderer:
        for name in names:
            try:
                rendered = await renderer.render(case(name).request(folder / name))
                told[name] = [json.loads(made.json) for made in rendered.manifests]
            except TrimtabError as error:
                told[name] = str(error)
        async def ask(name):
            request = case("kustomize-list").request(folder / "kustomize-list")
            rendered = await renderer.render(msgspec.structs.replace(request, name=name))
            return [json.loads(made.json) for made in rendered.manifests]
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(name)) for name in ("a", "b", "c", "d", "e")]
        told["together"] = [task.result() for task in asked]
        told["shared"] = renderer.shared > 1
        walls = await renderer.walls()
        told["walls"] = {name: getattr(walls, name) for name in walls.__struct_fields__}
    print(json.dumps(told))

asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(tools: str, own_builds: str) -> Iterator[Path]:
    """A folder that everybody may use, with the repositories and the tools in it."""
    folder = Path("/tmp") / f"trimtab-walls-{os.getpid()}"
    folder.mkdir()
    for name in CASES:
        case(name).written(folder / name, tools)
    (folder / "tools").mkdir()
    names = ("helm", "kustomize", "trimtab-helm", "trimtab-kustomize")
    for tool, bin_ in zip(names, f"{tools}:{own_builds}".split(":"), strict=True):
        shutil.copy(Path(bin_) / tool, folder / "tools" / tool)
    (folder / "own").mkdir(mode=0o777)
    subprocess.run(["chmod", "-R", "a+rwX", folder], check=True)
    yield folder
    shutil.rmtree(folder)


def told_by(prefix: tuple[str, ...], place: Path, required: str) -> dict[str, Any]:
    shutil.rmtree(place / "own")
    (place / "own").mkdir()
    (place / "own").chmod(0o777)
    done = subprocess.run(
        [*prefix, sys.executable, "-c", SCRIPT, str(place), str(place / "tools"), required, *CASES],
        check=False,
        capture_output=True,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr.decode()
    decoded: dict[str, Any] = msgspec.json.decode(done.stdout)
    return decoded


@pytest.mark.skipif(os.getuid() != 0, reason="this user is unprivileged already")
def test_renders_are_the_same_for_every_kind_of_user(place: Path) -> None:
    # Where walls are required, whoever shares a process has an answer only if they stood around that process.
    answers = {user: told_by(prefix, place, REQUIRED[user]) for user, prefix in USERS.items()}
    walls = {user: answer.pop("walls") for user, answer in answers.items()}
    assert answers["unprivileged"] == answers["as we are"] == answers["without user namespaces"]
    assert not any(isinstance(answer, str) for answer in answers["unprivileged"].values())
    assert answers["unprivileged"].pop("shared") is True
    held = {user: {name for name, holds in found.items() if holds} for user, found in walls.items()}
    assert {"network", "files", "pid_namespace", "user_namespace"} <= held["unprivileged"]
    assert not {"network", "files", "pid_namespace"} & held["without user namespaces"]
    assert {"watch", "no_new_privileges"} <= held["without user namespaces"]


async def test_where_a_required_wall_is_missing_nothing_is_rendered(tmp_path: Path, tools: str) -> None:
    settings = msgspec.structs.replace(settings_in(tmp_path), required_walls=("files",))
    request = case("kustomize-list").request(case("kustomize-list").written(tmp_path / "repository", tools))
    programs = ProgramsSettings(fetch=False)
    async with Renderer(settings, programs, path=tools, namespaces="never") as renderer:
        with pytest.raises(Unavailable, match="the wall 'files'"):
            await renderer.render(request)
