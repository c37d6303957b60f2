"""`trimtab why`: its answer as rows and names."""

from __future__ import annotations

from datetime import UTC, datetime

from trimtab.app.why.chain import Answer, Chain, Link
from trimtab.interfaces.cli.output import shown
from trimtab.interfaces.cli.why import answer_listing
from trimtab.resources.keys import ResourceKey
from trimtab.resources.tables import Paper

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
POD = ResourceKey("", "Pod", "shop", "web-1")


def chain(cause: str, link: Link, key: ResourceKey | None) -> Chain:
    app = Link(object="app shop", what="is Degraded")
    return Chain(cause=cause, sentence="It is.", remedy="Mend it", links=(app, link), key=key)


BROKEN = Answer(
    about="app shop",
    sentence="It is.",
    now=NOW,
    chains=(
        chain("image-pull", Link(object=str(POD), what="has no image", since=NOW, evidence="ImagePull"), POD),
        chain("held", Link(object="app shop", what="is paused"), None),
    ),
)


def test_every_cause_is_a_row_that_says_what_befell_what() -> None:
    listing = answer_listing(BROKEN)
    assert shown(listing, "table", Paper()) == (
        "CAUSE       OBJECT          WHAT\n"
        "image-pull  Pod shop/web-1  has no image\n"
        "held        app shop        is paused"
    )
    assert shown(listing, "wide", Paper()).splitlines()[1].split()[-4:] == [
        "2026-01-02T03:04:05Z", "ImagePull", "Mend", "it",
    ]  # fmt: skip


def test_names_are_of_objects_that_kubectl_can_describe() -> None:
    assert shown(answer_listing(BROKEN), "name", Paper()) == "pod/web-1"


def test_all_being_well_is_said_and_is_no_row() -> None:
    well = Answer(about="app shop", sentence="App shop is well.", now=NOW)
    assert [shown(answer_listing(well), output, Paper()) for output in ("table", "name")] == [
        "App shop is well.", "",
    ]  # fmt: skip
