"""Which source is meant, and what of what was recorded stays in force."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from trimtab.app import Apps
from trimtab.app.appsources import HERE, AppSource, AppSources, recorded, sources_of
from trimtab.app.headstart import FolderAhead
from trimtab.engine.places import Place
from trimtab.engine.units import Automated, Destination, Policy, SyncUnit, UnitStatus
from trimtab.errors import Conflict, InvalidSpec
from trimtab.interfaces.cli.cautions import moved
from trimtab.interfaces.cli.declaring import (
    Asked,
    Meant,
    app_meant,
    check_move,
    folder_ahead,
    source_asked,
    sources_asked,
    unit_asked,
    unit_described,
)
from trimtab.sources.rendering.specs import Helm, Parameter, SourceSpec

URL = "https://git.example/team/shop.git"
VALUES = Helm(parameters=(Parameter(name="size", value="2"),))
KNOWN = AppSource(repo_url=URL, target_revision="v1", spec=SourceSpec(path="chart", helm=VALUES))
APP = "no-such-folder-but-an-app"


def asked(source: str, path: str = "", revision: str = "", *values: str) -> Asked:
    return Asked(source=source, app="", path=path, revision=revision, namespace="", values=values)


def source(path: str, revision: str, helm: Helm | None) -> AppSource:
    return AppSource(repo_url=URL, target_revision=revision, spec=SourceSpec(path=path, helm=helm))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (asked(APP), KNOWN),
        (asked(APP, "", "v2"), source("chart", "v2", VALUES)),
        (asked(APP, "other"), source("other", "v1", VALUES)),
        (asked(URL, "chart", "v2"), source("chart", "v2", VALUES)),
        # what is said of one chart is not meant for another
        (asked(URL, "other"), source("other", "HEAD", None)),
        (
            asked(APP, "", "", "size=3"),
            source("chart", "v1", Helm(parameters=(Parameter(name="size", value="3"),))),
        ),
    ],
)
def test_what_is_recorded_of_a_source_stays_until_it_is_said_anew(said: Asked, meant: AppSource) -> None:
    assert source_asked(said, KNOWN) == meant


def test_an_app_that_is_not_known_has_no_source_and_a_new_one_what_is_said() -> None:
    assert source_asked(asked(APP)) is None
    assert source_asked(asked(URL, "chart", "v1", "size=2")) == KNOWN


@pytest.mark.parametrize(
    ("said", "known", "reason"),
    [
        (asked(APP, "", "v2"), AppSource(folder="/shop"), "a folder has no revisions"),
        (asked(APP, "x"), AppSource(repo_url=URL, spec=SourceSpec(chart="web")), "a chart has no path"),
    ],
)
def test_what_a_known_source_cannot_have_is_refused(said: Asked, known: AppSource, reason: str) -> None:
    with pytest.raises(InvalidSpec, match=reason):
        source_asked(said, known)


SEEN = UnitStatus(revision="4f2c9e1")


class OneApp:
    """The records of a cluster in which there is one app, `chart`, from the known source."""

    def __init__(self, automated: Automated | None = None) -> None:
        self._policy = Policy(automated=automated)

    async def find(self, name: str) -> SyncUnit | None:
        here = Destination(cluster=HERE, namespace="shop")
        source = recorded(KNOWN)
        found = SyncUnit(id=name, source=source, destination=here, status=SEEN, policy=self._policy)
        return found if name == "chart" else None

    async def places_before(self, name: str) -> tuple[Place, ...]:
        return (Place("", "ConfigMap", name),)


async def meant(said: Asked) -> AppSource:
    return sources_of(await unit_asked(cast(Apps, OneApp()), said)).main


async def test_another_revision_of_a_known_source_is_the_same_place_and_another_address_is_not() -> None:
    assert await meant(asked(URL, "chart", "v2")) == source("chart", "v2", VALUES)
    with pytest.raises(Conflict, match="this app comes from"):
        await meant(asked("https://git.example/other.git", "chart"))


LENT = AppSource(repo_url="https://git.example/values.git", ref="values")
OWN = AppSource(repo_url=URL, target_revision="v1", ref="own", spec=SourceSpec(path="chart", helm=VALUES))


def test_what_is_said_of_an_app_with_several_sources_is_meant_for_the_first_that_is_rendered() -> None:
    known = AppSources((LENT, OWN))
    assert sources_asked(asked(APP), known) == known
    moved = AppSource(repo_url=URL, target_revision="v2", ref="own", spec=OWN.spec)
    assert sources_asked(asked(APP, "", "v2"), known) == AppSources((LENT, moved))
    assert sources_asked(asked(URL, "chart", "v2"), known) == AppSources((LENT, moved))
    # Another place is another app, or this one moved there altogether.
    assert sources_asked(asked(URL, "other"), known) == AppSources((source("other", "HEAD", None),))


def written(folder: Path, name: str, url: str = URL, more: str = "") -> str:
    lent = f"{{repoURL: {LENT.repo_url}, ref: values}}"
    text = f"sources: [{{repoURL: {url}, targetRevision: v1, spec: {{path: chart}}}}, {lent}]\n{more}"
    (folder / name).write_text(text)
    return str(folder / name)


async def test_a_unit_file_is_an_app_of_its_name_and_says_all_of_it(tmp_path: Path) -> None:
    apps = cast(Apps, OneApp())
    policy = "destination: {namespace: live}\npolicy: {automated: {prune: true}}\n"
    new = await unit_asked(apps, asked(written(tmp_path, "web.yaml", more=policy), "", "v3", "size=3"))
    helm = Helm(parameters=(Parameter(name="size", value="3"),))
    assert (new.id, new.declared_in, new.destination.namespace) == ("web", "", "live")
    assert new.places == (Place("", "ConfigMap", "web"),)
    assert sources_of(new) == AppSources((source("chart", "v3", helm), LENT))
    assert new.policy.automated is not None
    assert new.policy.automated.prune

    known = await unit_asked(apps, asked(written(tmp_path, "chart.yml")))
    assert (known.id, known.status) == ("chart", SEEN)
    assert sources_of(known).entries == (source("chart", "v1", None), LENT)
    named = asked(written(tmp_path, "any.yaml"))._replace(app="chart", namespace="n")
    assert (await unit_asked(apps, named)).destination.namespace == "n"


async def test_a_unit_file_takes_nobodys_place_by_its_name_alone(tmp_path: Path) -> None:
    apps, elsewhere = cast(Apps, OneApp()), "https://git.example/other.git"
    said = asked(written(tmp_path, "chart.yaml", url=elsewhere))
    with pytest.raises(Conflict, match="this app comes from"):
        await unit_asked(apps, said)
    assert sources_of(await unit_asked(apps, said._replace(app="chart"))).main.repo_url == elsewhere


def test_a_unit_file_for_another_cluster_or_with_other_paths_is_refused(tmp_path: Path) -> None:
    assert unit_described(asked("no-such.yaml")) is None
    with pytest.raises(InvalidSpec, match="it is for the cluster prod"):
        unit_described(asked(written(tmp_path, "web.yaml", more="destination: {cluster: prod}\n")))
    with pytest.raises(InvalidSpec, match="a unit file says itself"):
        unit_described(asked(written(tmp_path, "web.yaml"), "path"))


ELSEWHERE = "https://git.example/other.git"
MOVED = asked(ELSEWHERE)._replace(app="chart")


def kept() -> Apps:
    """The same app, kept by a runner."""
    return cast(Apps, OneApp(Automated()))


async def test_an_app_that_is_named_moves_to_another_source_and_what_it_was_is_known() -> None:
    apps = cast(Apps, OneApp())
    for said in (MOVED, MOVED._replace(move=True)):
        found = await app_meant(apps, said)
        check_move(found, said)
        assert found.was == await apps.find("chart")
        assert sources_of(found.unit).main.repo_url == ELSEWHERE
    for said in (asked(URL, "chart", "v2"), asked(URL, "chart")._replace(app="chart"), asked(ELSEWHERE)):
        assert (await app_meant(apps, said)).was is None, "it stays where it is, or is new"


@pytest.mark.parametrize("said", [MOVED, MOVED._replace(auto=True), MOVED._replace(auto=False)])
async def test_what_a_runner_keeps_is_moved_with_an_explicit_word_alone(said: Asked) -> None:
    found = await app_meant(kept(), said)
    with pytest.raises(Conflict) as refused:
        check_move(found, said)
    move = f"it is automated, and this would move it from {KNOWN} to {ELSEWHERE} at HEAD"
    assert str(refused.value) == f"app chart: {move}. Add --move if it shall."
    check_move(found, said._replace(move=True))


async def test_another_namespace_is_a_move_too_whatever_the_revision() -> None:
    said = asked(URL, "chart", "v2")._replace(namespace="other")
    found = await app_meant(cast(Apps, OneApp()), said)
    assert found.was is not None
    before, after = (unit.destination.namespace for unit in (found.was, found.unit))
    assert moved(found.unit, found.was) == f"from namespace {before} to namespace {after}"
    assert after == "other"
    found = await app_meant(kept(), said)
    with pytest.raises(Conflict, match=f"this would move it from namespace {before} to namespace other"):
        check_move(found, said)
    check_move(found, said._replace(move=True))


async def test_a_unit_file_moves_what_a_runner_keeps_with_an_explicit_word_alone(tmp_path: Path) -> None:
    said = asked(written(tmp_path, "any.yaml", url=ELSEWHERE))._replace(app="chart")
    found = await app_meant(kept(), said)
    with pytest.raises(Conflict, match="Add --move"):
        check_move(found, said)
    check_move(found, said._replace(move=True))


async def test_what_a_file_declares_is_moved_in_that_file(tmp_path: Path) -> None:
    unit, was = await app_meant(cast(Apps, OneApp()), MOVED)
    declared = Meant(unit, was and replace(was, declared_in="/units"))
    for said in (MOVED, MOVED._replace(move=True)):
        with pytest.raises(Conflict, match="it is declared in /units"):
            check_move(declared, said)
    check_move(declared, asked(written(tmp_path, "any.yaml", url=ELSEWHERE))._replace(app="chart"))


async def test_nothing_automated_moves_to_a_folder_that_no_runner_can_follow(tmp_path: Path) -> None:
    said = asked(str(tmp_path))._replace(app="chart", move=True)
    with pytest.raises(InvalidSpec, match="a runner cannot follow a folder of your machine") as refused:
        check_move(await app_meant(kept(), said), said)
    assert refused.value.remedy == "Move it to a repository, or add --no-auto"
    said = said._replace(auto=False)
    check_move(await app_meant(kept(), said), said)


async def test_a_name_that_only_follows_from_a_folder_moves_nothing_whatever_is_said() -> None:
    said = asked(ELSEWHERE, "chart")._replace(move=True)
    with pytest.raises(Conflict, match="or move this one with --app chart") as refused:
        await app_meant(cast(Apps, OneApp()), said)
    assert "--move" not in refused.value.remedy
    with pytest.raises(Conflict, match="or move this one with --app chart --move"):
        await app_meant(kept(), said)


def test_a_folder_that_is_named_is_known_before_the_cluster_is_asked(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert folder_ahead(asked(str(tmp_path / "link"), "/live/")) == FolderAhead(str(tmp_path), "live")
    others = [asked(APP), asked(URL, "live"), asked(""), asked(str(tmp_path), "", "v1")]
    assert [folder_ahead(each) for each in others] == [None] * 4
