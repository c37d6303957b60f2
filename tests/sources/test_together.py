"""Many renders in one process: who crashes, never ends, prints too much or is broken harms himself alone."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from trimtab.errors import TrimtabError
from trimtab.settings import ProgramsSettings, RenderingSettings
from trimtab.sources import FolderOrigin, Renderer, Request
from trimtab.sources.rendering.batches import WORD, Order, heard, told
from trimtab.sources.rendering.specs import Helm, SourceSpec

from .corpora import case

MIB = 1 << 20
#: processor time says the same on a busy machine
PROGRAMS = ProgramsSettings(fetch=False, cpu=timedelta(seconds=1), output=64 << 10, memory=320 * MIB)
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {v: %s}\n"
LOOP = "{{ range until 30000 }}" * 3 + "{{ end }}" * 3
CHARTS = {
    "good-1": CONFIG_MAP % "'{{ .Release.Namespace }} {{ .Capabilities.KubeVersion }}'",
    "broken": '{{ fail "not today" }}',
    "good-2": CONFIG_MAP % "'{{ .Values.v }}'",
    "endless": LOOP,
    "good-3": CONFIG_MAP % "'{{ .Capabilities.APIVersions.Has \"example.org/v1\" }}'",
    "loud": CONFIG_MAP % '{{ repeat 100000 "x" }}',
    "good-4": CONFIG_MAP % "four",
    "greedy": CONFIG_MAP % '{{ repeat 900000000 "x" | len }}',
    "good-5": CONFIG_MAP % "five",
}
KUSTOMIZATIONS = {
    "kind-1": "resources: [cm.yaml]\nnamePrefix: a-\n",
    "crash": "resources: [cm.yaml]\nopenapi: {path: schema.json}\npatches: [{path: cm.yaml}]\n",
    "kind-2": "resources: [cm.yaml]\nnamePrefix: b-\npatches: [{path: cm.yaml}]\n",
    "torn": "resources: [cm.yaml]\nnoSuchField: true\n",
    "kind-3": "resources: [cm.yaml]\nnamePrefix: c-\n",
}
NAMES = (*CHARTS, *KUSTOMIZATIONS)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    for name, template in CHARTS.items():
        (folder / name / "templates").mkdir(parents=True)
        (folder / name / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
        (folder / name / "templates" / "cm.yaml").write_text(template)
    for name, text in KUSTOMIZATIONS.items():
        (folder / name).mkdir()
        (folder / name / "kustomization.yaml").write_text(text)
        (folder / name / "cm.yaml").write_text(CONFIG_MAP % "1")
        (folder / name / "schema.json").write_text('{"definitions": []}')
    return folder


def request(repository: Path, name: str) -> Request:
    helm = Helm(values="v: mine", kube_version="1.30.1") if name == "good-2" else None
    spec = SourceSpec(path=name, helm=helm)
    return Request(name=name, namespace="shop", spec=spec, tree=FolderOrigin(path=str(repository)))


async def outcome(renderer: Renderer, asked: Request) -> str:
    """The manifests, or the error without its figures."""
    try:
        rendered = await renderer.render(asked)
    except TrimtabError as error:
        return re.sub(r"0x[0-9a-f]+|\d[\d.]*( MiB)?", "0", f"{type(error).__name__}: {error}")
    return b"\n".join(made.json for made in rendered.manifests).decode()


async def outcomes(renderer: Renderer, repository: Path) -> dict[str, str]:
    async with asyncio.TaskGroup() as group:
        asked = {
            name: group.create_task(outcome(renderer, request(repository, name)), name=name) for name in NAMES
        }
    return {name: task.result() for name, task in asked.items()}


async def test_the_others_get_their_answers_and_each_of_these_the_error_it_gets_alone(
    tmp_path: Path, rendering: RenderingSettings, tools: str, own_builds: str, repository: Path
) -> None:
    settings = structs.replace(rendering, cache=str(tmp_path / "others"), together=1)
    async with Renderer(settings, PROGRAMS, path=tools) as renderer:
        alone = await outcomes(renderer, repository)
    in_order = structs.replace(rendering, concurrency=1)  # who rides behind whom is then no matter of luck
    async with Renderer(in_order, PROGRAMS, path=f"{tools}:{own_builds}") as renderer:
        together = await outcomes(renderer, repository)
        (own,) = (tmp_path / "private").iterdir()
        assert list(own.iterdir()) == []
        assert renderer.shared == len(("good-1", "good-3", "good-4", "kind-1", "kind-2", "kind-3"))
    assert together == alone
    bad = {name for name, text in alone.items() if not text.startswith('{"apiVersion"')}
    assert bad == {"broken", "endless", "loud", "greedy", "crash", "torn"}
    assert ["processor time" in alone["endless"], "output" in alone["loud"]] == [True, True]


STATES = (
    "templates/cm.yaml",
    CONFIG_MAP % "'{{ .Release.Namespace }} {{ .Values.v }} {{ .Capabilities | toJson | sha256sum }}'",
)
#: each would disturb another of these, if it left anything behind
RUNS = {
    "trimtab-helm": (
        ("template", "web", "chart", "--namespace=other", "--set=v=1", "--kube-version=1.20.3"),
        ("template", "web", "chart"),
        ("template", "web", "chart", "--api-versions=example.org/v1", "--api-versions=example.org/v2"),
        ("env",),
        ("template", "web", "chart", "--debug", "--color=always", "--repository-config=elsewhere"),
        ("template", "web", "no-chart"),
        ("no-such-command",),
        ("template", "web", "chart", "--api-versions=example.org/v3", "--values=own.yaml"),
        ("template", "--help"),
    ),
    "trimtab-kustomize": (
        ("build", "usual"),
        ("build", "special"),
        ("openapi", "info"),
        ("build", "outside"),
        ("build", "outside", "--load-restrictor=LoadRestrictionsNone"),
        ("build", "usual", "--reorder=legacy", "--enable-managedby-label"),
        ("build", "nowhere"),
        ("build", "usual", "--output=made.yaml"),
        ("version",),
    ),
}


def a_place(folder: Path) -> Path:
    """What the runs above are about."""
    files = dict((STATES, ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")))
    texts = {f"chart/{path}": text for path, text in files.items()} | {"own.yaml": "v: own\n"}
    one = case("kustomize-openapi")
    texts |= {f"special/{path.removeprefix('app/')}": text for path, text in one.files.items()}
    texts |= {path.replace("special", "usual"): text for path, text in texts.items() if "special" in path}
    texts["usual/kustomization.yaml"] = "resources: [fleet.yaml]\npatches: [{path: patch.yaml}]\n"
    texts["outside/kustomization.yaml"] = "resources: [../special/fleet.yaml]\n"
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize("name", RUNS)
def test_a_run_leaves_nothing_to_the_next(name: str, own_builds: str, tmp_path: Path) -> None:
    folder, runs = a_place(tmp_path / "place"), RUNS[name]
    program = shutil.which(name, path=own_builds)
    assert program
    environment = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}

    def ran(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [program, *words], cwd=folder, env=environment, input=stdin, capture_output=True, check=False
        )

    alone = [ran(*words) for words in runs]
    expected = [done.stdout if done.returncode == 0 else None for done in alone]
    assert len({done.returncode for done in alone}) > 1
    places = [*range(len(runs)), *reversed(range(len(runs)))]
    orders = [Order(folder=str(folder), arguments=runs[place], environment={}) for place in places]
    done = ran(WORD, stdin=told(orders))
    assert [*heard(done.stdout, len(orders)).printed] == [expected[place] for place in places]
