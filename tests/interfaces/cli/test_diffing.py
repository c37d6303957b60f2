"""Differences look like those of `diff -u`, and say whose a field is."""

from __future__ import annotations

from typing import Any

from trimtab.app.differing import Change, ObjectDiff
from trimtab.engine.rows import Difference
from trimtab.interfaces.cli.diffing import diff_listing, unified
from trimtab.interfaces.cli.output import shown
from trimtab.resources.keys import ResourceKey
from trimtab.resources.tables import ENDLESS, Paper

WEB = ResourceKey("apps", "Deployment", "shop", "web")


def changed(path: str, live: Any, desired: Any, manager: str = "", rule: str = "changed") -> Difference:
    return Difference(path=path, live=live, desired=desired, manager=manager, rule=rule)


def updated(*fields: Difference, note: str = "") -> ObjectDiff:
    return ObjectDiff(key=WEB, change=Change.UPDATE, fields=fields, note=note)


def lines(*found: ObjectDiff, paper: Paper = ENDLESS) -> list[str]:
    return unified(found, paper).splitlines()


def test_every_field_is_a_hunk() -> None:
    found = updated(
        changed("/spec/replicas", 5, 2, "kubectl-scale", "server"),
        changed("/metadata/labels/team~1name", None, "shop", rule="absent"),
        changed("/spec/paused", True, None, "trimtab", "given up"),
        changed("/spec/template/spec/containers/1", None, {"name": "web"}, rule="absent"),
        note="it is managed by helm",
    )
    assert lines(found) == [
        "--- live     Deployment.apps shop/web",
        "+++ desired  Deployment.apps shop/web",
        "# it is managed by helm",
        "@@ /spec/replicas (set by kubectl-scale; confirmed by the server) @@",
        "-replicas: 5",
        "+replicas: 2",
        "@@ /metadata/labels/team~1name (absent) @@",
        "+team/name: shop",
        "@@ /spec/paused (set by trimtab; applied before, no longer declared) @@",
        "-paused: true",
        "@@ /spec/template/spec/containers/1 (absent) @@",
        "+- name: web",
    ]


def test_of_a_long_text_only_what_changed_and_a_little_around_it_is_shown() -> None:
    text = [f"line {number}" for number in range(20)]
    other = [*text[:4], "else", *text[5:15], "else", *text[16:]]
    found = updated(changed("/data/file", "\n".join(text), "\n".join(other)))
    assert lines(found)[2:] == [
        "@@ /data/file (changed) @@",
        "   line 1",
        "   line 2",
        "   line 3",
        "-  line 4",
        "+  else",
        "   line 5",
        "   line 6",
        "   line 7",
        "@@ /data/file @@",
        "   line 12",
        "   line 13",
        "   line 14",
        "-  line 15",
        "+  else",
        "   line 16",
        "   line 17",
        "   line 18",
    ]


def test_very_long_texts_are_shown_side_by_side_at_once() -> None:
    sides = ["\n".join(f"{word} {number}" for number in range(3000)) for word in ("live", "desired")]
    found = lines(updated(changed("/data/file", *sides)))
    assert [len([line for line in found if line.startswith(sign)]) for sign in ("-  ", "+  ")] == [3000, 3000]


def test_a_new_object_is_shown_whole_and_one_to_be_pruned_is_named() -> None:
    made = ObjectDiff(key=WEB, change=Change.CREATE, desired={"kind": "Deployment"})
    assert lines(made)[2:] == ["@@ it is not there @@", "+kind: Deployment"]
    gone = ObjectDiff(key=WEB, change=Change.PRUNE)
    assert lines(gone)[2:] == ["@@ no longer declared: a sync with --prune deletes it @@"]


def test_colour_and_letters_are_the_papers_and_nothing_commands_a_terminal() -> None:
    found = updated(changed("/data/a", "né", "\x1b[0m"))
    assert all("\x1b" not in line for line in lines(found))
    assert all(line.isascii() for line in lines(found, paper=Paper(glyphs=False)))
    assert lines(found, paper=Paper(colour=True))[3] == "\x1b[31m-a: né\x1b[0m"


def test_the_same_is_a_table_names_and_values() -> None:
    listing = diff_listing([updated(changed("/spec/replicas", 5, 2, "kubectl")), _pruned("old")])
    assert shown(listing, "table", Paper()).splitlines() == [
        "OBJECT                    FIELD           LIVE  DESIRED  OWNER    RULE",
        "Deployment.apps shop/web  /spec/replicas  5     2        kubectl  changed",
        "ConfigMap shop/old        -               -     -        -        prune",
    ]
    assert [line.split()[-1] for line in shown(listing, "wide", Paper()).splitlines()] == ["NOTE", "-", "-"]
    assert "update" in shown(listing, "wide", Paper()).splitlines()[1].split()
    assert listing.names == ["deployment.apps/web", "configmap/old"]
    assert [each["change"] for each in listing.value] == ["update", "prune"]


def _pruned(name: str) -> ObjectDiff:
    return ObjectDiff(key=ResourceKey("", "ConfigMap", "shop", name), change=Change.PRUNE)
