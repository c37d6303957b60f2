"""Hostile repositories and specs, one test per class of attack: refused before a program runs, or contained.

Outside every repository lies a file with a canary. It must never come back, neither as a manifest nor in an
error.
"""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from trimtab.errors import InvalidSpec, Missing, RenderFailed, SourceRefused, TrimtabError
from trimtab.resources.yaml import dump
from trimtab.settings import ProgramsSettings, RenderingSettings
from trimtab.sources import FolderOrigin, Renderer, Request
from trimtab.sources.rendering.rendered import Rendered, name_of
from trimtab.sources.rendering.specs import SourceSpec

from .conftest import settings_in

CANARY = "canary-7391-outside"
CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def renderer(tmp_path_factory: pytest.TempPathFactory, tools: str) -> AsyncIterator[Renderer]:
    """One for all: they must not disturb each other either."""
    settings = settings_in(tmp_path_factory.mktemp("shared"))
    async with Renderer(settings, ProgramsSettings(fetch=False), path=tools) as renderer:
        yield renderer


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty repository, with what must not be read beside it."""
    (tmp_path / "outside").mkdir()
    secret = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: leak}}\ndata: {{canary: {CANARY}}}\n"
    (tmp_path / "outside" / "secret.yaml").write_text(secret)
    (tmp_path / "outside" / "kustomization.yaml").write_text("resources: [secret.yaml]\n")
    (tmp_path / "outside" / "Chart.yaml").write_text(f"{CHART}description: {CANARY}\n")
    (tmp_path / "repository").mkdir()
    return tmp_path / "repository"


def write(repository: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files; a text that begins with `-> ` is a link."""
    for name, content in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content.startswith("-> "):
            path.symlink_to(content[3:].replace("OUTSIDE", str(repository.parent / "outside")))
        else:
            path.write_text(content)


async def made(renderer: Renderer, repository: Path, spec: Mapping[str, Any], **more: Any) -> Rendered:
    """What the renderer answers."""
    request = Request(
        name=more.pop("name", "web"),
        namespace=more.pop("namespace", "shop"),
        spec=msgspec.convert({"path": "app", **spec}, SourceSpec),
        tree=FolderOrigin(path=str(repository)),
        **more,
    )
    return await renderer.render(request)


async def rendered(renderer: Renderer, repository: Path, spec: Mapping[str, Any], **more: Any) -> str:
    """The whole answer as a text."""
    return str(await made(renderer, repository, spec, **more))


async def refused(
    renderer: Renderer, repository: Path, spec: Mapping[str, Any] = {}, **more: Any
) -> TrimtabError:
    """The refusal; it holds neither the canary nor a path of ours."""
    with pytest.raises((InvalidSpec, SourceRefused, RenderFailed, Missing)) as caught:
        await rendered(renderer, repository, spec, **more)
    assert CANARY not in str(caught.value)
    assert "private/" not in str(caught.value)
    return caught.value


# --- leaving the repository ------------------------------------------------------------------------------

LINKS = {
    "absolute": {"L": "-> OUTSIDE/secret.yaml"},
    "parents": {"L": "-> ../../outside/secret.yaml"},
    "chained": {"L": "-> step/two", "app/step": "-> ../..", "two": "-> outside/secret.yaml"},
    "through a folder": {"L": "-> door/secret.yaml", "app/door": "-> ../../outside"},
    "of another case": {
        "L": "-> DOOR/secret.yaml",
        "app/DOOR": "-> ../../outside",
        "app/door/secret.yaml": "harmless: true\n",
    },
    "to proc": {"L": "-> /proc/self/environ"},
    "round": {"L": "-> again", "app/again": "-> cm.yaml"},
}


@pytest.mark.parametrize("links", LINKS.values(), ids=LINKS)
async def test_a_link_out_of_the_repository_is_never_followed_among_plain_files(
    renderer: Renderer, repository: Path, links: dict[str, str]
) -> None:
    write(repository, {name.replace("L", "app/cm.yaml"): target for name, target in links.items()})
    assert isinstance(await refused(renderer, repository), SourceRefused)


@pytest.mark.parametrize("links", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize(
    "kustomization",
    [
        "resources: [cm.yaml]",
        "configMapGenerator: [{name: a, files: [cm.yaml]}]",
        "secretGenerator: [{name: a, envs: [cm.yaml]}]",
        "patches: [{path: cm.yaml}]",
        "components: [cm.yaml]",
        "transformers: [cm.yaml]",
        "configurations: [cm.yaml]",
        "openapi: {path: cm.yaml}",
        "replacements: [{path: cm.yaml}]",
        "crds: [cm.yaml]",
    ],
)
async def test_a_link_out_of_the_repository_is_never_followed_by_a_kustomization(
    renderer: Renderer, repository: Path, links: dict[str, str], kustomization: str
) -> None:
    write(repository, {name.replace("L", "app/cm.yaml"): target for name, target in links.items()})
    write(repository, {"app/kustomization.yaml": kustomization})
    await refused(renderer, repository)


@pytest.mark.parametrize("links", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("place", ["app/cm.yaml", "app/templates/cm.yaml", "app/charts/sub"])
async def test_a_link_out_of_the_repository_is_never_followed_in_a_chart(
    renderer: Renderer, repository: Path, links: dict[str, str], place: str
) -> None:
    write(repository, {"app/Chart.yaml": CHART, "app/templates/a.yaml": '{{ .Files.Get "cm.yaml" | quote }}'})
    write(repository, {name.replace("L", place): target for name, target in links.items()})
    await refused(renderer, repository)


@pytest.mark.parametrize("path", ["..", "../outside", "/etc", "app/../../outside", "app/link", "a\0b"])
async def test_a_path_out_of_the_repository_is_refused(
    renderer: Renderer, repository: Path, path: str
) -> None:
    write(repository, {"app/cm.yaml": CONFIG_MAP, "app/link": "-> OUTSIDE"})
    await refused(renderer, repository, {"path": path})


@pytest.mark.parametrize(
    "reference",
    ["../../outside", "/etc", "../../../etc", "./../../outside/secret.yaml", "app/../../../outside"],
)
@pytest.mark.parametrize(
    "kustomization",
    [
        "resources: ['{}']",
        "bases: ['{}']",
        "components: ['{}']",
        "generators: ['{}']",
        "transformers: ['{}']",
        "validators: ['{}']",
        "crds: ['{}']",
        "configurations: ['{}']",
        "openapi: {{path: '{}'}}",
        "patches: [{{path: '{}'}}]",
        "patchesStrategicMerge: ['{}']",
        "patchesJson6902: [{{path: '{}', target: {{kind: X, name: y}}}}]",
        "replacements: [{{path: '{}'}}]",
        "configMapGenerator: [{{name: a, files: ['k={}']}}]",
        "configMapGenerator: [{{name: a, envs: ['{}']}}]",
        "secretGenerator: [{{name: a, env: '{}'}}]",
    ],
)
async def test_no_field_of_a_kustomization_leaves_the_repository(
    renderer: Renderer, repository: Path, kustomization: str, reference: str
) -> None:
    write(repository, {"app/kustomization.yaml": kustomization.format(reference)})
    assert isinstance(await refused(renderer, repository), SourceRefused)


@pytest.mark.parametrize(
    "reference",
    [
        "../../outside/secret.yaml",
        "/../outside/secret.yaml",
        "link.yaml",
        "/../../etc/passwd",
        "file:///etc/passwd",
    ],
)
@pytest.mark.parametrize("field", ["value_files", "file_parameters"])
async def test_values_are_never_read_from_outside(
    renderer: Renderer, repository: Path, field: str, reference: str
) -> None:
    write(
        repository, {"app/Chart.yaml": CHART, "app/templates/a.yaml": "all: {{ .Values | toJson | quote }}"}
    )
    (repository / "other").mkdir()
    write(repository, {"other/link.yaml": "-> OUTSIDE/secret.yaml"})
    named = "/other/link.yaml" if reference == "link.yaml" else reference
    values: Any = [named] if field == "value_files" else [{"name": "a", "path": named}]
    await refused(renderer, repository, {"helm": {field: values, "ignore_missing_value_files": True}})


@pytest.mark.parametrize(
    "reference", ["$other/../outside/secret.yaml", "$nobody/x.yaml", "$/x", "$other//etc/passwd"]
)
async def test_values_of_another_source_stay_in_that_source(
    renderer: Renderer, repository: Path, reference: str
) -> None:
    write(repository, {"app/Chart.yaml": CHART, "other/x.yaml": "a: b"})
    await refused(
        renderer,
        repository,
        {"helm": {"value_files": [reference]}},
        refs={"other": FolderOrigin(path=str(repository / "other"))},
    )


async def test_a_dependency_outside_the_repository_is_refused(renderer: Renderer, repository: Path) -> None:
    for place in ("file://../../outside", "file:///etc", f"file://{repository.parent}/outside"):
        dependency = f"dependencies: [{{name: a, version: 1.0.0, repository: '{place}'}}]"
        write(repository, {"app/Chart.yaml": f"{CHART}{dependency}\n"})
        await refused(renderer, repository)


async def test_a_chart_cannot_read_beside_itself(renderer: Renderer, repository: Path) -> None:
    template = (
        '{{ range tuple "../b/x" "/etc/passwd" "../../outside/secret.yaml" }}{{ $.Files.Get . }}{{ end }}'
    )
    files = {"app/Chart.yaml": CHART, "app/templates/a.yaml": f"# {template}\n{CONFIG_MAP}", "b/x": CANARY}
    write(repository, files)
    assert CANARY not in await rendered(renderer, repository, {})


# --- fetching --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.org/x.yaml",
        "http://169.254.169.254/latest/meta-data",
        "github.com/org/repo//path?ref=v1",
        "git@github.com:org/repo.git",
        "git::https://example.org/repo",
        "ssh://git@example.org/repo",
        "file:///etc",
        "ext::sh -c id",
        "example.org/org/repo.git//base",
        "gh:org/repo",
        "s3::https://bucket/x",
    ],
)
@pytest.mark.parametrize("field", ["resources", "components", "transformers", "crds"])
async def test_remote_references_are_refused_before_anything_runs(
    renderer: Renderer, repository: Path, field: str, reference: str
) -> None:
    write(repository, {"app/kustomization.yaml": f"{field}: ['{reference}']\n"})
    assert isinstance(await refused(renderer, repository), SourceRefused | RenderFailed)


async def test_a_folder_that_is_called_like_an_address_is_not_fetched_either(
    renderer: Renderer, repository: Path
) -> None:
    write(
        repository,
        {
            "app/kustomization.yaml": "resources: [github.com/org/repo]",
            "app/github.com/org/repo/kustomization.yaml": "resources: [cm.yaml]",
            "app/github.com/org/repo/cm.yaml": CONFIG_MAP,
        },
    )
    assert isinstance(await refused(renderer, repository), SourceRefused)


async def test_a_remote_base_of_a_base_is_found(renderer: Renderer, repository: Path) -> None:
    write(
        repository,
        {
            "app/kustomization.yaml": "resources: [../one]",
            "one/kustomization.yaml": "components: [../two]",
            "two/kustomization.yaml": "kind: Component\nresources: ['https://example.org/x']",
        },
    )
    error = await refused(renderer, repository)
    assert "two/kustomization.yaml" in str(error)


@pytest.mark.parametrize("where", ["inline", "file"])
async def test_a_transformer_cannot_fetch(renderer: Renderer, repository: Path, where: str) -> None:
    config = (
        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: https://example.org/p.yaml\n"
    )
    if where == "file":
        write(repository, {"app/kustomization.yaml": "transformers: [t.yaml]", "app/t.yaml": config})
    else:
        write(repository, {"app/kustomization.yaml": msgspec.json.encode({"transformers": [config]})})
    assert isinstance(await refused(renderer, repository), SourceRefused)


async def test_credentials_in_an_address_are_not_repeated(renderer: Renderer, repository: Path) -> None:
    write(repository, {"app/kustomization.yaml": f"resources: ['https://me:{CANARY}@example.org/x']"})
    await refused(renderer, repository)


async def test_chart_dependencies_are_not_fetched(renderer: Renderer, repository: Path) -> None:
    for place in ("https://charts.example.org", "oci://example.org/charts", "alias:stable", "@stable"):
        dependency = f"dependencies: [{{name: a, version: 1.0.0, repository: '{place}'}}]"
        write(repository, {"app/Chart.yaml": f"{CHART}{dependency}\n"})
        assert isinstance(await refused(renderer, repository), SourceRefused)


@pytest.mark.parametrize("reference", ["https://example.org/schema.json", "file:///etc/passwd", "other.json"])
async def test_a_schema_cannot_refer_elsewhere(renderer: Renderer, repository: Path, reference: str) -> None:
    schema = f'{{"properties": {{"a": {{"$ref": "{reference}"}}}}}}'
    write(repository, {"app/Chart.yaml": CHART, "app/values.schema.json": schema})
    assert isinstance(await refused(renderer, repository), SourceRefused)


# --- running things --------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["helmCharts", "helmChartInflationGenerator"])
async def test_kustomize_does_not_run_helm(renderer: Renderer, repository: Path, field: str) -> None:
    write(repository, {"app/kustomization.yaml": f"{field}: [{{name: a, repo: 'https://x.example'}}]"})
    assert isinstance(await refused(renderer, repository), SourceRefused)


@pytest.mark.parametrize(
    "function", ["exec: {path: ./evil.sh}", "container: {image: evil}", "starlark: {path: evil.star}", ""]
)
@pytest.mark.parametrize("field", ["generators", "transformers", "validators"])
async def test_kustomize_runs_no_functions_or_plugins(
    renderer: Renderer, repository: Path, tmp_path: Path, field: str, function: str
) -> None:
    metadata = {"name": "e", "annotations": {"config.kubernetes.io/function": function} if function else {}}
    config = dump({"apiVersion": "x.example/v1", "kind": "Evil", "metadata": metadata})
    script = f"#!/bin/sh\ntouch {tmp_path}/ran\n"
    write(
        repository,
        {"app/kustomization.yaml": f"{field}: [e.yaml]", "app/e.yaml": config, "app/evil.sh": script},
    )
    (repository / "app" / "evil.sh").chmod(0o755)
    await refused(renderer, repository)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        ({"helm": {"release_name": "--post-renderer=/bin/sh"}}, {}),
        ({"helm": {"release_name": "-x"}}, {}),
        ({"helm": {"namespace": "--kubeconfig=/etc/passwd"}}, {}),
        ({"helm": {"kube_version": "1.30 --post-renderer x"}}, {}),
        ({"helm": {"api_versions": ["a,b", "--set=x"]}}, {}),
        ({"helm": {"version": "--x"}}, {}),
        ({}, {"name": "--help"}),
        ({}, {"name": "a/b"}),
        ({}, {"namespace": "-n"}),
    ],
)
async def test_no_word_of_a_tenant_becomes_an_option_of_helm(
    renderer: Renderer, repository: Path, spec: dict[str, Any], more: dict[str, Any]
) -> None:
    write(repository, {"app/Chart.yaml": CHART, "app/templates/a.yaml": CONFIG_MAP})
    if spec.get("helm", {}).get("api_versions"):
        spec = {"helm": {"api_versions": ["--set=x y"]}}
    await refused(renderer, repository, spec, **more)


async def test_odd_names_and_values_are_taken_as_they_are(renderer: Renderer, repository: Path) -> None:
    template = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {all: {{ .Values | toJson | quote }}}\n"
    )
    odd = 'a, "b" --set x=y.yaml'
    write(
        repository, {"app/Chart.yaml": CHART, "app/templates/a.yaml": template, f"app/{odd}": "from: odd\n"}
    )
    parameters = [{"name": "p", "value": "--post-renderer=/bin/sh"}, {"name": "q", "value": "{root}"}]
    told = await rendered(renderer, repository, {"helm": {"value_files": [odd], "parameters": parameters}})
    assert "odd" in told
    assert "--post-renderer=/bin/sh" in told
    folder = "-folder"
    write(
        repository, {f"{folder}/kustomization.yaml": "resources: [cm.yaml]", f"{folder}/cm.yaml": CONFIG_MAP}
    )
    assert "ConfigMap" in await rendered(renderer, repository, {"path": folder})


async def test_kustomize_options_are_data(renderer: Renderer, repository: Path) -> None:
    write(repository, {"app/kustomization.yaml": "resources: [cm.yaml]", "app/cm.yaml": CONFIG_MAP})
    told = await rendered(renderer, repository, {"kustomize": {"common_annotations": {"a": "--enable-exec"}}})
    assert "--enable-exec" in told


# --- bombs -----------------------------------------------------------------------------------------------

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(8)
)


async def test_a_yaml_bomb_among_plain_files_is_refused(renderer: Renderer, repository: Path) -> None:
    write(repository, {"app/cm.yaml": f"{CONFIG_MAP}data:\n  {BOMB.replace(chr(10), chr(10) + '  ')}"})
    error = await refused(renderer, repository)
    assert "app/cm.yaml, line" in str(error)


@pytest.mark.parametrize("place", ["app/kustomization.yaml", "app/cm.yaml"])
async def test_a_yaml_bomb_in_a_kustomization_is_refused(
    renderer: Renderer, repository: Path, place: str
) -> None:
    write(repository, {"app/kustomization.yaml": "resources: [cm.yaml]", "app/cm.yaml": CONFIG_MAP})
    write(repository, {place: f"{(repository / place).read_text()}\n{BOMB}"})
    await refused(renderer, repository)


async def test_a_chart_that_never_ends_is_stopped(
    rendering: RenderingSettings, tools: str, repository: Path
) -> None:
    endless = '{{ define "r" }}{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}{{ end }}'
    write(repository, {"app/Chart.yaml": CHART, "app/templates/a.yaml": f'{endless}{{{{ include "r" . }}}}'})
    programs = ProgramsSettings(fetch=False, memory=300 << 20, cpu=timedelta(seconds=2))
    async with Renderer(rendering, programs, path=tools) as renderer:
        error = await refused(renderer, repository)
    assert "was stopped" in str(error)


async def test_a_repository_of_too_many_files_or_bytes_is_refused(
    rendering: RenderingSettings, tools: str, repository: Path
) -> None:
    small = msgspec.structs.replace(rendering, source_files=5, source_size=10_000)
    async with Renderer(small, ProgramsSettings(fetch=False), path=tools) as renderer:
        for count, text in ((20, CONFIG_MAP), (3, f"{CONFIG_MAP}# {'x' * 9000}\n")):
            write(repository, {f"plain{count}/{n}.yaml": text for n in range(count)})
            write(repository, {f"chart{count}/templates/{n}.yaml": text for n in range(count)})
            write(repository, {f"chart{count}/Chart.yaml": CHART})
            write(repository, {f"over{count}/{n}.yaml": text for n in range(count)})
            names = ", ".join(f"{n}.yaml" for n in range(count))
            write(repository, {f"over{count}/kustomization.yaml": f"resources: [{names}]"})
            for kind in ("plain", "chart", "over"):
                error = await refused(renderer, repository, {"path": f"{kind}{count}"})
                assert isinstance(error, SourceRefused)


def archive(*members: tuple[str, bytes, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as opened:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, len(content)
            info.linkname = "/etc/passwd"
            opened.addfile(info, io.BytesIO(content))
    return out.getvalue()


#: made when they are needed: a bomb takes a second to pack, and every worker reads this table
DISHONEST: dict[str, Callable[[], bytes]] = {
    "slip": lambda: archive(
        ("sub/Chart.yaml", tarfile.REGTYPE, b"name: sub"), ("../../x", tarfile.REGTYPE, b"x")
    ),
    "link": lambda: archive(("sub/Chart.yaml", tarfile.SYMTYPE, b"")),
    "bomb": lambda: gzip.compress(bytes(300 << 20)),
    "rubbish": lambda: b"no archive",
}


@pytest.mark.parametrize("made", DISHONEST.values(), ids=DISHONEST)
async def test_a_vendored_archive_that_is_not_honest_is_refused(
    renderer: Renderer, repository: Path, made: Callable[[], bytes]
) -> None:
    write(repository, {"app/Chart.yaml": CHART, "app/charts/sub-1.0.0.tgz": made()})
    assert isinstance(await refused(renderer, repository), SourceRefused)


# --- secrets in errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "template",
    [
        '{{ fail (printf "bad: %s" .Values.db.password) }}',
        '{{ fail (printf "bad: %s" (.Values.db.password | b64enc)) }}',
        "kind: Secret\nstringData: {{ .Values.db.password }}\n  x: [",
        "{{ .Values.db.password.x.y }}",
        "{{ include .Values.db.password . }}",
        "{{ .Values.db.password | int64 | fail }}",
        "{{ toYaml .Values | fail }}",
        "{{ toJson .Values | fail }}",
    ],
)
async def test_secrets_never_come_back_in_an_error_of_a_chart(
    renderer: Renderer, repository: Path, template: str
) -> None:
    write(repository, {"app/Chart.yaml": CHART, "app/templates/a.yaml": template})
    for helm in (
        {"values": f"db: {{password: {CANARY}}}"},
        {"parameters": [{"name": "db.password", "value": CANARY}]},
        {"values_object": {"db": {"password": CANARY}}},
    ):
        error = await refused(renderer, repository, {"helm": helm})
        assert base64.b64encode(CANARY.encode()).decode() not in str(error)


async def test_secrets_never_come_back_in_an_error_of_a_schema(renderer: Renderer, repository: Path) -> None:
    schema = '{"properties": {"password": {"type": "integer"}, "token": {"enum": ["a"]}}}'
    write(repository, {"app/Chart.yaml": CHART, "app/values.schema.json": schema})
    await refused(renderer, repository, {"helm": {"values": f"password: {CANARY}\ntoken: {CANARY}"}})


async def test_secrets_never_come_back_in_an_error_of_a_kustomization(
    renderer: Renderer, repository: Path
) -> None:
    for fields in (
        f"secretGenerator: [{{name: a, literals: ['{CANARY}']}}]",
        f"secretGenerator: [{{name: a, literals: ['a={CANARY}', 'a={CANARY}']}}]",
        "secretGenerator: [{name: a, envs: [x.env]}]",
    ):
        write(repository, {"app/kustomization.yaml": fields, "app/x.env": f"a={CANARY}\na={CANARY}\n"})
        await refused(renderer, repository)


async def test_errors_of_plain_files_hold_no_values(renderer: Renderer, repository: Path) -> None:
    write(repository, {"app/cm.yaml": f"kind: Secret\nstringData: {{a: {CANARY}"})
    await refused(renderer, repository)


@pytest.mark.parametrize("text", [f"kind: Secret\nmetadata: {CANARY}", f"kind: [{CANARY}]"])
async def test_what_is_wrong_with_a_manifest_holds_no_values(
    renderer: Renderer, repository: Path, text: str
) -> None:
    write(repository, {"app/cm.yaml": text})
    (found,) = (await made(renderer, repository, {})).manifests
    assert CANARY not in found.where
    with pytest.raises(InvalidSpec) as told:
        name_of(found.manifest(), found.where)
    assert CANARY not in str(told.value)
