"""Which source is meant, and what of what was recorded stays in force."""

from __future__ import annotations

from typing import cast

import pytest

from trimtab.app import Apps
from trimtab.app.appsources import HERE, AppSource, recorded, sources_of
from trimtab.engine.units import Destination, SyncUnit
from trimtab.errors import Conflict, InvalidSpec
from trimtab.interfaces.cli.declaring import Asked, source_asked, unit_asked
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


class OneApp:
    """The records of a cluster in which there is one app, `chart`, from the known source."""

    async def find(self, name: str) -> SyncUnit | None:
        here = Destination(cluster=HERE, namespace="shop")
        return SyncUnit(id=name, source=recorded(KNOWN), destination=here) if name == "chart" else None


async def meant(said: Asked) -> AppSource:
    return sources_of(await unit_asked(cast(Apps, OneApp()), said)).main


async def test_another_revision_of_a_known_source_is_the_same_place_and_another_address_is_not() -> None:
    assert await meant(asked(URL, "chart", "v2")) == source("chart", "v2", VALUES)
    with pytest.raises(Conflict, match="this app comes from"):
        await meant(asked("https://git.example/other.git", "chart"))
