"""What SOURCE means, and which name follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.app.appsources import AppSource
from trimtab.errors import InvalidSpec
from trimtab.interfaces.cli.origins import name_for, nothing_called, source_named, unit_file
from trimtab.sources.rendering.specs import SourceSpec


@pytest.mark.parametrize(
    "address",
    ["https://git.example/team/shop.git", "ssh://git@git.example/shop", "git@git.example:team/shop.git"],
)
def test_an_address_is_a_repository(address: str) -> None:
    found = source_named(address, path="/live/", revision="v1")
    assert found == AppSource(repo_url=address, target_revision="v1", spec=SourceSpec(path="live"))


@pytest.mark.parametrize(
    ("text", "chart", "revision", "found"),
    [
        ("oci://r.example/team/web", "", "1.2.3", ("oci://r.example/team", "web", "1.2.3")),
        ("oci://r.example/web", "", "", ("oci://r.example", "web", "HEAD")),
        ("oci://r.example:5000/web:1.2.3_b1", "", "", ("oci://r.example:5000", "web", "1.2.3+b1")),
        ("oci://r.example/team/", "web", "^1", ("oci://r.example/team", "web", "^1")),
        ("https://charts.example", "web", "", ("https://charts.example", "web", "HEAD")),
    ],
)
def test_a_chart_is_named_by_its_registry_or_by_its_repository(
    text: str, chart: str, revision: str, found: tuple[str, str, str]
) -> None:
    url, name, target = found
    source = source_named(text, path="", revision=revision, chart=chart)
    assert source == AppSource(repo_url=url, target_revision=target, spec=SourceSpec(chart=name))
    assert name_for(source) == "web"
    assert str(source) == f"chart web of {url} at {target}"


@pytest.mark.parametrize(
    ("text", "chart", "path", "reason"),
    [
        ("oci://r.example", "", "", "it names no chart"),
        ("oci://r.example/web", "", "deploy", "a chart has no path"),
        (".", "web", "", "charts of this name come from a repository, https://… or oci://…"),
    ],
)
def test_a_chart_that_cannot_be_meant_is_said(text: str, chart: str, path: str, reason: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        source_named(text, path=path, revision="", chart=chart)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "content",
    [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        "# two\n---\n{apiVersion: v1, kind: ConfigMap}\n---\n{apiVersion: v1, kind: Secret}\n",
    ],
)
def test_whoever_names_a_file_of_manifests_is_told_to_name_its_folder(content: str, tmp_path: Path) -> None:
    (tmp_path / "cm.yaml").write_text(content)
    with pytest.raises(InvalidSpec) as caught:
        unit_file(str(tmp_path / "cm.yaml"), app="")
    assert caught.value.reason == "it holds manifests, and describes no unit"
    assert caught.value.remedy == f"Name the folder that holds it: {tmp_path}"


def test_what_is_wrong_with_a_unit_file_is_said_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text("source: {folder: shop}\ncolour: blue\n")
    with pytest.raises(InvalidSpec, match="unknown field `colour`"):
        unit_file(str(tmp_path / "shop.yaml"), app="")


def test_a_folder_is_meant_wherever_the_command_is_run_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    assert source_named("shop", path="", revision="") == AppSource(folder=str(tmp_path / "shop"))


def test_a_folder_goes_before_an_app_of_its_name_and_whoever_means_the_app_is_told_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidSpec) as caught:
        source_named("shop", path="", revision="main")
    assert caught.value.remedy == "Leave out --revision; if the app of this name is meant, write app/shop"
    assert source_named("app/shop", path="", revision="main") is None
    with pytest.raises(InvalidSpec) as caught:
        source_named("./shop", path="", revision="main")
    assert caught.value.remedy == "Leave out --revision"


def test_a_word_that_is_no_folder_is_an_app() -> None:
    assert source_named("no-such-folder-here", path="", revision="") is None
    assert source_named("team/web", path="", revision="") is None, "apps may have slashes in their names"
    assert nothing_called("nix") == "there is no such app, nor a folder of this name"
    assert nothing_called("nix.yaml") == "there is no such app, nor a file or folder of this name"


@pytest.mark.parametrize(
    ("text", "revision", "reason"),
    [
        ("./nowhere", "", "there is no such folder"),
        ("./nowhere.yaml", "", "there is no such file"),
        ("/no/where", "", "there is no such folder"),
        ("no/where/", "", "there is no such folder"),
        (".", "main", "a folder has no revisions"),
    ],
)
def test_what_cannot_be_meant_is_said(text: str, revision: str, reason: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        source_named(text, path="", revision=revision)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (AppSource(repo_url="https://git.example/team/Shop.git"), "shop"),
        (AppSource(repo_url="git@git.example:shop.git"), "shop"),
        (AppSource(repo_url="https://git.example/mono.git", spec=SourceSpec(path="apps/web")), "web"),
        (AppSource(folder="/home/ann/My Shop"), "my-shop"),
    ],
)
def test_an_app_is_named_after_the_last_part_of_its_source(source: AppSource, name: str) -> None:
    assert name_for(source) == name


def test_a_source_without_a_name_asks_for_one() -> None:
    with pytest.raises(InvalidSpec, match="Give one with --app"):
        name_for(AppSource(folder="/"))
