"""The bench of rendering, at its smallest."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from bench import apps, polling, sources
from testbed.fixtures import Parts


def test_all_apps_are_different_and_a_third_of_each_kind() -> None:
    files = dict(apps.repository(60))
    folders = {path.split("/")[1] for path in files if path.startswith("apps/")}
    assert len(folders) == 60
    assert {kind: sum(name.startswith(kind) for name in folders) for kind in apps.KINDS} == dict.fromkeys(
        apps.KINDS, 20
    )
    texts = [frozenset(apps.files_of(number).items()) for number in range(60)]
    assert len(set(texts)) == 60


def test_a_base_is_shared_by_ten_kustomizations() -> None:
    one, sharing = sources.expected(60)
    assert one == ("kustomize-0004",)
    assert len(sharing) == 10


@pytest.mark.real
@pytest.mark.usefixtures("helm", "kustomize", "own_builds")
def test_both_sides_render_and_the_page_is_written(parts: Parts, tmp_path: Path) -> None:
    place = sources.Place(tmp_path, 6, parts)
    place.make()
    ours, by_hand = place.ours([*place.tools, *place.own_builds]), place.by_hand()
    assert ours.later.concerned == ("kustomize-0004",)
    sides = sources.Sides(by_hand=(by_hand,), ours=(ours,), apart=(ours,))
    rows = sources.rows_of(sides, judged=False)
    listings = asyncio.run(polling.listings_per_interval(tmp_path, tmp_path / "mirror", place.commits))
    assert listings == 1.0
    figures = sources.figures_of([ours], 6, listings, judged=True)
    size = sources.SIZES["tiny"]
    text = sources.text_of(sources.setting_of(size, parts, 0.0), rows, figures, size)
    assert re.search(r"first render of all: seconds \| [0-9.]+ \| [0-9.]+", text)
    assert re.search(r"the same, each in a process of its own: seconds \| [0-9.]+ \| [0-9.]+", text)
    assert "no-op pass: ms per app" in text
    assert "| 100 consumers of one repository: ls-remotes per interval | 1.00 to 1.00 | ≤ 1 | yes |" in text
    assert 0 < ours.programs < ours.first.cpu_seconds
