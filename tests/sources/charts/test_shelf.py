"""Archives on disk: found by their digests alone, and never more of one repository than it may fill."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from trimtab.errors import Unavailable
from trimtab.sources.charts.shelf import Shelf, archive_at

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_repository_that_goes_on_publishing_fills_no_more_than_it_may(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, keep=timedelta(days=7), most=2500)
    contents = [bytes([number]) * 1000 for number in range(4)]
    other = shelf.put("another repository", bytes(1000), now=NOW)
    for number, content in enumerate(contents):
        now = NOW + timedelta(minutes=number)
        shelf.put("repository", content, now=now)
        if number:  # somebody still wants the first
            later = now + timedelta(seconds=30)
            shelf.find("repository", sha256(contents[0]).hexdigest(), now=later)
    left = [each for each in contents if shelf.find("repository", sha256(each).hexdigest(), now=NOW)]
    assert left == [contents[0], contents[3]]
    assert other.exists()


def test_a_damaged_archive_is_not_read_and_goes(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, keep=timedelta(days=7), most=1 << 20)
    place, digest = shelf.put("repository", b"chart", now=NOW), sha256(b"chart").hexdigest()
    assert archive_at(str(place), digest) == b"chart"
    place.write_bytes(b"another")
    with pytest.raises(Unavailable, match="damaged"):
        archive_at(str(place), digest)
    with pytest.raises(Unavailable, match="no longer here"):
        archive_at(str(place), digest)
