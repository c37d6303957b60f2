"""A chart's archive as a tree, and archives that are none."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest

from trimtab.errors import Missing, SourceRefused
from trimtab.sources import FolderTree
from trimtab.sources.charts.charttree import ChartTree
from trimtab.sources.rendering.archives import files_in

FILES = {
    "Chart.yaml": b"name: web",
    "templates/a.yaml": b"a: 1",
    "templates/tests/t.yaml": b"t: 1",
    "templates.txt": b"beside a folder of the same beginning",
    "bin/run": b"#!",
}


def member(name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, len(content) if kind == tarfile.REGTYPE else 0
    info.mode = 0o755 if name.endswith("/run") else 0o644
    blocks = content.ljust(-(-len(content) // 512) * 512, b"\0") if info.size else b""
    return info.tobuf(tarfile.PAX_FORMAT) + blocks


def packed(*members: bytes) -> bytes:
    return gzip.compress(b"".join(members) + bytes(1024), mtime=0)


def unpacked(archive: bytes) -> ChartTree:
    found = files_in(archive, subject="web", path="web.tgz", most_files=50, most_bytes=1 << 20)
    return ChartTree(found)


def test_a_chart_reads_like_the_folder_that_was_packed(tmp_path: Path) -> None:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    (tmp_path / "bin" / "run").chmod(0o755)
    folder = FolderTree(tmp_path)
    tree = unpacked(packed(*(member(f"web/{path}", content) for path, content in FILES.items())))
    for path in ("", "templates", "templates/tests", "bin", "bin/run", "Chart.yaml", "nothing", "a/b"):
        assert tree.entry(path) == folder.entry(path), path
    for path in ("", "templates", "templates/tests"):
        assert tree.entries(path) == folder.entries(path), path
    assert tree.read("templates/tests/t.yaml") == b"t: 1"
    with pytest.raises(Missing):
        tree.read("templates")
    with pytest.raises(Missing):
        tree.entries("Chart.yaml")


def sparse() -> bytes:
    """A few bytes that stand for a gigabyte of zeros."""
    info = tarfile.TarInfo("web/zeros")
    info.size = 1
    info.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.map": "0,1",
        "GNU.sparse.size": str(1 << 30),
    }
    return info.tobuf(tarfile.PAX_FORMAT) + b"x".ljust(512, b"\0")


CHART = member("web/Chart.yaml", b"name: web")


HOSTILE = (
    (packed(CHART, member("../evil")), "leads out"),
    (packed(CHART, member("web/../../evil")), "leads out"),
    (packed(CHART, member("/etc/cron.d/evil")), "leads out"),
    (packed(CHART, member("web\\..\\evil")), "leads out"),
    (packed(CHART, member("web/l", kind=tarfile.SYMTYPE, target="/etc/passwd")), "neither file nor"),
    (packed(CHART, member("web/l", kind=tarfile.SYMTYPE, target="Chart.yaml")), "neither file nor"),
    (packed(CHART, member("web/l", kind=tarfile.LNKTYPE, target="web/Chart.yaml")), "neither file nor"),
    (packed(CHART, member("web/pipe", kind=tarfile.FIFOTYPE)), "neither file nor"),
    (packed(CHART, member("web/tty", kind=tarfile.CHRTYPE)), "neither file nor"),
    (packed(CHART, sparse()), "has holes"),
    (packed(CHART, member("Chart.yaml")), "lies in"),
    (packed(member("Chart.yaml")), "lies in no folder"),
    (packed(CHART, member("other/x")), "lies in another folder"),
    (packed(CHART, CHART), "is there twice"),
    (packed(CHART, member("web/./Chart.yaml")), "is there twice"),
    (packed(CHART, member("web/Chart.yaml/x")), "a file and a folder"),
    (packed(CHART, member("web/" + "a/" * 70 + "x")), "too deep"),
    (packed(CHART, *(member(f"web/{n}") for n in range(60))), "too many files"),
    (packed(CHART, member("web/big", bytes(2 << 20))), "unpacks to more"),
    (gzip.compress(bytes(50 << 20)), "unpacks to more"),
    (packed(CHART)[:40], "broken"),
    (CHART + bytes(1024), "broken"),
    (b"<html>not found</html>", "broken"),
)


@pytest.mark.parametrize(
    ("archive", "reason"), HOSTILE, ids=[f"{number} {each[1]}" for number, each in enumerate(HOSTILE)]
)
def test_an_archive_that_is_not_honest_is_refused(archive: bytes, reason: str) -> None:
    with pytest.raises(SourceRefused) as raised:
        unpacked(archive)
    assert reason in raised.value.reason
