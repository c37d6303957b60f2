"""What the renderer does for whoever asks: right answers, the same again for nothing, and clear errors."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from msgspec.structs import replace

from tests.sources.conftest import settings_in
from trimtab.errors import InvalidSpec, Missing, RenderFailed, SourceRefused
from trimtab.programs.launch import descendants
from trimtab.settings import ProgramsSettings
from trimtab.sources import FolderOrigin, Renderer, Request
from trimtab.sources.rendering.rendered import NAMELESS, Rendered, Tool
from trimtab.sources.rendering.specs import Capabilities, SourceSpec

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAMS = ProgramsSettings(fetch=False)
CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {v: {{ .Values.v | quote }}}\n"


class Desk:
    """A renderer, a repository, and how many programs were started."""

    def __init__(self, renderer: Renderer, folder: Path) -> None:
        self.renderer = renderer
        self.folder = folder
        folder.mkdir()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def request(self, path: str = "app", *, name: str = "web", **spec: Any) -> Request:
        capabilities = spec.pop("capabilities", Capabilities())
        converted = msgspec.convert({"path": path, **spec}, SourceSpec)
        tree = FolderOrigin(path=str(self.folder))
        return Request(name=name, namespace="shop", spec=converted, tree=tree, capabilities=capabilities)

    async def render(self, path: str = "app", *, name: str = "web", **spec: Any) -> Rendered:
        return await self.renderer.render(self.request(path, name=name, **spec))

    async def is_known(self, path: str = "app", *, name: str = "web", **spec: Any) -> bool:
        (key,) = await self.renderer.keys([self.request(path, name=name, **spec)])
        return bool(key)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, tools: str) -> AsyncIterator[Renderer]:
    async with Renderer(settings_in(tmp_path_factory.mktemp("shared")), PROGRAMS, path=tools) as renderer:
        yield renderer


@pytest.fixture
def desk(shared: Renderer, tmp_path: Path) -> Desk:
    return Desk(shared, tmp_path / "repository")


# --- what is recognised ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "tool"),
    [
        ({"a.yaml": CONFIG_MAP}, Tool.DIRECTORY),
        ({"kustomization.yml": "resources: [a.yaml]", "a.yaml": CONFIG_MAP}, Tool.KUSTOMIZE),
        ({"Chart.yaml": CHART, "templates/a.yaml": CONFIG_MAP}, Tool.HELM),
        (
            {"Chart.yaml": CHART, "kustomization.yaml": "resources: [a.yaml]", "a.yaml": CONFIG_MAP},
            Tool.KUSTOMIZE,
        ),
        ({"a.yaml": CONFIG_MAP, "sub/Chart.yaml": CHART}, Tool.DIRECTORY),
    ],
)
async def test_a_folder_is_recognised_by_its_files(desk: Desk, files: dict[str, str], tool: Tool) -> None:
    desk.write({f"app/{name}": text for name, text in files.items()})
    rendered = await desk.render()
    assert (rendered.tool, len(rendered.manifests)) == (tool, 1)


async def test_options_go_before_recognition_and_two_tools_are_an_error(desk: Desk) -> None:
    desk.write({"app/Chart.yaml": CHART, "app/templates/a.yaml": CONFIG_MAP})
    assert (await desk.render(helm={})).tool is Tool.HELM
    with pytest.raises(InvalidSpec, match="options for directory and helm"):
        await desk.render(helm={}, directory={})
    with pytest.raises(InvalidSpec, match="options for kustomize, and 'app' holds a chart"):
        await desk.render(kustomize={})


async def test_a_chart_at_the_root_of_its_tree_is_a_source_too(desk: Desk) -> None:
    desk.write({"Chart.yaml": CHART, "templates/a.yaml": CONFIG_MAP})
    assert (await desk.render("", chart="web")).tool is Tool.HELM


# --- the same thing once ---------------------------------------------------------------------------------


async def test_an_answer_that_is_known_starts_no_program(desk: Desk, tools: str, tmp_path: Path) -> None:
    desk.write({"app/Chart.yaml": CHART, "app/templates/a.yaml": TEMPLATE})
    settings = settings_in(tmp_path)
    async with Renderer(settings, PROGRAMS, path=tools) as first:
        rendered = await first.render(desk.request(helm={"values": "v: 1"}))
    async with Renderer(settings, ProgramsSettings(fetch=False), path=tools) as second:
        await second.render(desk.request(helm={"values": "v: 2"}))  # now it knows the version of helm
        (key,) = await second.keys([desk.request(helm={"values": "v: 1"})])
        again = await second.render(desk.request(helm={"values": "v: 1"}))
    assert key == rendered.key
    assert again == rendered


async def test_machines_with_one_key_call_a_render_the_same_and_nobody_else_does(
    desk: Desk, tools: str, tmp_path: Path
) -> None:
    desk.write({"app/cm.yaml": CONFIG_MAP})
    digests = []
    for machine, key in (("one", b"a" * 32), ("two", b"a" * 32), ("three", b"b" * 32), ("four", None)):
        async with Renderer(settings_in(tmp_path / machine), PROGRAMS, path=tools) as renderer:
            if key is not None:
                renderer.use_key(key)
            digests.append((await renderer.render(desk.request())).digest)
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    ("edit", "known"),
    [
        ({"app/base/cm.yaml": CONFIG_MAP + "data: {}\n"}, False),
        ({"base/cm.yaml": CONFIG_MAP + "# a comment\n"}, False),
        ({"base/kustomization.yaml": "resources: [cm.yaml]\nnamePrefix: y-\n"}, False),
        ({"app/kustomization.yml": "resources: []"}, False),
        ({"base/unused.yaml": "nobody reads this"}, True),
        ({"app/README.md": "words"}, True),
        ({"other/kustomization.yaml": "resources: []"}, True),
    ],
)
async def test_an_answer_is_known_until_something_it_read_changes(
    desk: Desk,
    edit: dict[str, str],
    known: bool,  # noqa: FBT001 - a table
) -> None:
    desk.write({"app/kustomization.yaml": "resources: [../base, base/cm.yaml]\nnamePrefix: x-\n"})
    desk.write({"base/kustomization.yaml": "resources: [cm.yaml]\n", "base/cm.yaml": CONFIG_MAP})
    desk.write({"app/base/cm.yaml": CONFIG_MAP.replace("x", "z")})
    await desk.render()
    assert await desk.is_known()
    desk.write(edit)
    assert await desk.is_known() is known


async def test_who_goes_back_finds_the_old_answer(desk: Desk) -> None:
    for text, known in ((CONFIG_MAP, False), (CONFIG_MAP.replace("x", "z"), False), (CONFIG_MAP, True)):
        desk.write({"app/cm.yaml": text})
        assert await desk.is_known() is known
        rendered = await desk.render()
        assert rendered.manifests[0].manifest()["metadata"]["name"] in text


@pytest.mark.parametrize(
    "other",
    [
        {"name": "other"},
        {"helm": {"values": "v: 2"}},
        {"helm": {"values": "v: 1", "skip_crds": True}},
        {"helm": {"values": "v: 1"}, "capabilities": Capabilities(kube_version="1.30.0")},
        {"helm": {"values": "v: 1"}, "capabilities": Capabilities(api_versions=("a/v1",))},
    ],
)
async def test_another_question_has_another_key(desk: Desk, other: dict[str, Any]) -> None:
    desk.write({"app/Chart.yaml": CHART, "app/templates/a.yaml": TEMPLATE})
    first = await desk.render(helm={"values": "v: 1"})
    second = await desk.render(**{"helm": {"values": "v: 1"}, **other})
    assert first.key != second.key


async def test_capabilities_matter_only_to_charts(desk: Desk) -> None:
    desk.write({"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": CONFIG_MAP})
    first = await desk.render()
    assert (await desk.render(capabilities=Capabilities(kube_version="1.30.0"))).key == first.key


async def test_many_who_ask_the_same_at_once_get_one_render(desk: Desk) -> None:
    desk.write(
        {"app/Chart.yaml": CHART, "app/templates/a.yaml": '{{ randAlpha 20 | printf "# %s" }}\n' + CONFIG_MAP}
    )
    desk.write(
        {"app/templates/b.yaml": CONFIG_MAP.replace("{name: x}", "{name: '{{ randAlpha 20 | lower }}'}")}
    )
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(desk.render()) for _ in range(5)]
    assert len({task.result().digest for task in asked}) == 1


async def test_a_failure_is_remembered_like_a_success(desk: Desk) -> None:
    desk.write({"app/Chart.yaml": CHART, "app/templates/a.yaml": '{{ required "give v" .Values.v }}'})
    errors = []
    for _ in range(2):
        with pytest.raises(RenderFailed, match="give v") as caught:
            await desk.render()
        errors.append(str(caught.value))
        assert await desk.is_known()
    assert errors[0] == errors[1]
    desk.write({"app/values.yaml": "v: 'a: b'", "app/templates/_none.yaml": "{{/* none */}}"})
    (odd,) = (await desk.render()).manifests
    assert (odd.key, odd.where) == (NAMELESS, "web/templates/a.yaml, document 1, line 3")
    desk.write({"app/templates/a.yaml": TEMPLATE})
    assert len((await desk.render()).manifests) == 1


async def test_a_path_that_appears_is_found(desk: Desk) -> None:
    with pytest.raises(Missing, match="'app' is not in the repository"):
        await desk.render()
    desk.write({"app/cm.yaml": CONFIG_MAP})
    assert len((await desk.render()).manifests) == 1


async def test_what_lacks_a_kind_or_a_name_goes_along_for_whoever_compares_to_complain_about(
    desk: Desk,
) -> None:
    whole = f"{CONFIG_MAP}---\nonly: this\n---\nkind: ConfigMap\nmetadata: {{name: x}}\n---\napiVersion: v1\n"
    desk.write({"app/a.yaml": f"{whole}kind: List\nitems: [{{only: that}}]\n"})
    made = (await desk.render()).manifests
    assert [str(each.key) for each in made[1:]] == [str(NAMELESS)] * 3
    assert [each.manifest().get("only") for each in made] == [None, "this", None, None]
    assert made[2].where == "app/a.yaml, document 3, line 7"


# --- what is wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "error", "words"),
    [
        ({"a.yaml": "kind: ConfigMap\n  bad: [\n"}, InvalidSpec, "app/a.yaml, line 2, column 6"),
        ({"a.yaml": CONFIG_MAP + "---\nonly this\n"}, InvalidSpec, "document 2, line 5"),
        ({"a.json": '{"kind": "ConfigMap"'}, InvalidSpec, "app/a.json, line 2"),
        ({"kustomization.yaml": "resources: [gone.yaml]"}, RenderFailed, "'gone.yaml', which is not in"),
        ({"kustomization.yaml": "resources: {a: b}"}, InvalidSpec, "resources is not a list"),
        ({"kustomization.yaml": "- a"}, InvalidSpec, "a kustomization is a map"),
        ({"kustomization.yaml": "resurces: []"}, RenderFailed, "render it: invalid Kustomization"),
        ({"kustomization.yaml": "", "Kustomization": ""}, InvalidSpec, "more than one kustomization"),
        ({"Chart.yaml": "name: x"}, RenderFailed, "chart.metadata.version is required"),
        (
            {"Chart.yaml": CHART, "templates/a.yaml": "{{ .Values.a.b.c }}"},
            RenderFailed,
            "web/templates/a.yaml:1",
        ),
        ({"Chart.yaml": CHART, "templates/a.yaml": "{{ if }}"}, RenderFailed, "missing value for if"),
        (
            {"Chart.yaml": CHART, "templates/a.yaml": "a: [b\n"},
            RenderFailed,
            "YAML parse error on web/templates",
        ),
    ],
)
async def test_an_error_says_where_and_what(
    desk: Desk, files: dict[str, str], error: type[Exception], words: str
) -> None:
    desk.write({f"app/{name}": text for name, text in files.items()})
    with pytest.raises(error) as caught:
        await desk.render()
    assert words in str(caught.value)
    assert str(desk.folder) not in str(caught.value)
    assert "private" not in str(caught.value)


async def test_a_program_that_fails_is_told_in_one_line_and_without_advice_that_nobody_can_follow(
    desk: Desk,
) -> None:
    desk.write({"app/Chart.yaml": CHART, "app/templates/a.yaml": '{{ fail "no" }}'})
    with pytest.raises(
        RenderFailed, match=r": helm could not render it: exec.*: no\. Correct what it names\.$"
    ):
        await desk.render()
    desk.write({"app/Chart.yaml": CHART, "app/templates/a.yaml": "{{ .Values.a.b.c }}"})
    with pytest.raises(
        RenderFailed, match=r": helm could not render it: \S.*a\.yaml:1:10 .* Correct what it"
    ):
        await desk.render()


async def test_a_program_that_wants_too_much_is_told_with_the_setting_that_helps(
    desk: Desk, tools: str, tmp_path: Path
) -> None:
    desk.write({"app/Chart.yaml": CHART, "app/templates/a.yaml": "{{ range until 100000000 }}x{{ end }}"})
    async with Renderer(settings_in(tmp_path), replace(PROGRAMS, memory=64 << 20), path=tools) as renderer:
        with pytest.raises(RenderFailed, match=r"raise programs\.memory"):
            await renderer.render(desk.request())


async def test_files_that_are_no_manifests_are_left_out_with_a_warning(desk: Desk) -> None:
    desk.write({"app/cm.yaml": CONFIG_MAP, "app/values.yaml": "a: b\n", "app/broken.yaml": "{{ x }}: ["})
    desk.write(
        {"app/skipped.yaml": "# +argocd:skip-file-rendering\nkind: [\n", "app/empty.yaml": "# nothing\n"}
    )
    rendered = await desk.render()
    assert len(rendered.manifests) == 1
    assert rendered.warnings == (
        "app/broken.yaml holds no manifest and was left out",
        "app/values.yaml holds no manifest and was left out",
    )


async def test_an_empty_folder_of_manifests_is_an_answer_but_a_missing_one_is_not(desk: Desk) -> None:
    desk.write({"app/README.md": "nothing yet", "app/.github/cm.yaml": CONFIG_MAP})
    empty = await desk.render()
    assert (empty.manifests, empty.warnings) == ((), ("the folder 'app' declares nothing",))
    desk.write({"app/live/cm.yaml": CONFIG_MAP})
    meant = "a folder below it, such as 'live', is read if --path names it"
    assert (await desk.render()).warnings == (f"the folder 'app' declares nothing; {meant}",)
    with pytest.raises(Missing):
        await desk.render("gone")


async def test_overrides_that_contradict_the_file_are_an_error(desk: Desk) -> None:
    desk.write(
        {"app/kustomization.yaml": "commonLabels: {a: b}\nresources: [a.yaml]", "app/a.yaml": CONFIG_MAP}
    )
    with pytest.raises(InvalidSpec, match="already sets 'a'"):
        await desk.render(kustomize={"common_labels": {"a": "c"}})
    with pytest.raises(InvalidSpec, match="labelWithoutSelector"):
        await desk.render(kustomize={"common_labels": {"z": "c"}, "label_include_templates": True})
    with pytest.raises(InvalidSpec, match="none of old=new:tag"):
        await desk.render(kustomize={"images": ["nothing"]})
    with pytest.raises(InvalidSpec, match=r"asks for kustomize 'v1\.2\.3'"):
        await desk.render(kustomize={"version": "v1.2.3"})
    with pytest.raises(RenderFailed, match="not in the repository"):
        await desk.render(kustomize={"components": ["../gone"]})


async def test_the_tenants_files_are_never_written(desk: Desk) -> None:
    desk.write({"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": CONFIG_MAP})
    before = {path: path.read_bytes() for path in desk.folder.rglob("*") if path.is_file()}
    await desk.render(kustomize={"name_prefix": "new-", "images": ["a=b:c"]})
    assert {path: path.read_bytes() for path in desk.folder.rglob("*") if path.is_file()} == before


async def test_a_local_dependency_of_another_version_is_refused(desk: Desk) -> None:
    sub = {"Chart.yaml": "apiVersion: v2\nname: sub\nversion: 2.0.0\n", "templates/a.yaml": CONFIG_MAP}
    dependency = "dependencies: [{name: sub, version: ^1.0.0, repository: 'file://../sub'}]\n"
    desk.write({"app/Chart.yaml": CHART + dependency, "app/templates/b.yaml": CONFIG_MAP.replace("x", "own")})
    desk.write({f"sub/{name}": text for name, text in sub.items()})
    with pytest.raises(RenderFailed, match=r"has version '2\.0\.0', not '\^1\.0\.0'"):
        await desk.render()
    desk.write({"sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.7.0\n"})
    assert [made.key.name for made in (await desk.render()).manifests] == ["x", "own"]


@pytest.mark.parametrize(
    "content",
    [
        "resources: ['%s/cm.yaml']",
        "configMapGenerator: [{name: x, files: ['%s/text']}]",
        "patches: [{path: '%s/patch.yaml'}]",
        "openapi: {path: '%s/schema.json'}",
        "transformers: ['%s/prefix.yaml']",
    ],
)
async def test_no_single_file_is_fetched_for_a_kustomization_from_another_server(
    desk: Desk, tools: str, tmp_path: Path, content: str
) -> None:
    address = "https://files.example/team"
    desk.write({"app/kustomization.yaml": content % address})
    with pytest.raises(SourceRefused, match="nothing may be fetched"):
        await desk.render()
    settings = msgspec.structs.replace(settings_in(tmp_path), remotes=(address,))
    async with Renderer(settings, PROGRAMS, path=tools) as allowed:
        with pytest.raises(SourceRefused, match="single files are not fetched"):
            await allowed.render(desk.request())


async def test_a_store_that_cannot_be_written_costs_no_render(desk: Desk, tools: str, tmp_path: Path) -> None:
    desk.write({"app/cm.yaml": CONFIG_MAP})
    (tmp_path / "cache").write_text("a file where a folder should be")
    async with Renderer(settings_in(tmp_path), PROGRAMS, path=tools) as renderer:
        assert len((await renderer.render(desk.request())).manifests) == 1
        assert await renderer.keys([desk.request()]) == ("",)


# --- what is left ----------------------------------------------------------------------------------------


async def test_no_folders_are_left_behind(desk: Desk, tools: str, tmp_path: Path) -> None:
    desk.write({"app/Chart.yaml": CHART, "app/templates/a.yaml": TEMPLATE})
    settings = settings_in(tmp_path)
    async with Renderer(settings, PROGRAMS, path=tools) as renderer:
        await renderer.render(desk.request(helm={"values": "v: 1"}))
        with pytest.raises(RenderFailed):
            await renderer.render(desk.request(helm={"values": "["}))
        (own,) = (tmp_path / "private").iterdir()
        assert list(own.iterdir()) == []
    assert list((tmp_path / "private").iterdir()) == []


async def test_what_a_killed_renderer_left_is_swept_by_the_next(tools: str, tmp_path: Path) -> None:
    gone, ours = tmp_path / "private" / "999999999-ab", tmp_path / "private" / f"{os.getpid()}-cd"
    for folder in (gone, ours):
        (folder / "1").mkdir(parents=True)
    async with Renderer(settings_in(tmp_path), PROGRAMS, path=tools):
        assert not gone.exists()
        assert ours.exists()


async def test_cancelling_ends_the_program_and_the_next_render_works(desk: Desk) -> None:
    slow = '{{ range until 100000 }}{{ range until 1000 }}{{ sha256sum "x" | trunc 0 }}{{ end }}{{ end }}'
    desk.write({"app/Chart.yaml": CHART, "app/templates/a.yaml": slow, "plain/cm.yaml": CONFIG_MAP})
    async with asyncio.TaskGroup() as group:
        task = group.create_task(desk.render())
        await asyncio.to_thread(_wait_for, "helm")
        task.cancel()
    assert task.cancelled()
    assert not _running("helm")
    assert len((await desk.render("plain")).manifests) == 1


def _running(name: str) -> list[int]:
    found = []
    for pid in descendants(os.getpid()):
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                found.append(pid)
        except OSError:
            continue
    return found


def _wait_for(name: str) -> None:
    ticks = signal.sigtimedwait
    for _ in range(3000):
        if _running(name):
            return
        ticks([], 0.01)
    raise AssertionError(f"{name} never ran")


async def test_the_status_says_which_walls_hold(shared: Renderer) -> None:
    walls = await shared.walls()
    assert walls.watch
    assert walls.no_new_privileges


async def test_a_source_may_be_read_by_its_root(desk: Desk) -> None:
    desk.write({"cm.yaml": CONFIG_MAP})
    assert len((await desk.render("")).manifests) == 1
    assert len((await desk.render(".")).manifests) == 1
    with pytest.raises(SourceRefused):
        await desk.render("..")
