"""A vendored chart that is not an honest archive is refused before any program opens it."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import SourceRefused
from trimtab.sources.rendering import archives


def packed(*members: tarfile.TarInfo, content: bytes = b"") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for member in members:
            member.size = len(content) if member.isreg() else 0
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def judge(archive: bytes, *, most_files: int = 100, most_bytes: int = 1 << 20) -> dict[str, bytes]:
    found = archives.contents(
        archive, subject="web", path="charts/x.tgz", most_files=most_files, most_bytes=most_bytes
    )
    return dict(found)


def test_an_honest_archive_passes() -> None:
    honest = packed(member("sub/", tarfile.DIRTYPE), member("sub/./Chart.yaml"), content=b"name: sub")
    assert judge(honest) == {"sub/Chart.yaml": b"name: sub"}


def test_what_we_pack_is_an_honest_archive_and_always_the_same() -> None:
    files = {"b/" + "long" * 60: b"2", "a": b"1"}
    ours = archives.packed(files, "sub")
    assert judge(ours) == {f"sub/{name}": content for name, content in files.items()}
    assert archives.packed(dict(reversed(files.items())), "sub") == ours


@pytest.mark.parametrize(
    "entry",
    [
        member("../escape"),
        member("sub/../../escape"),
        member("/etc/passwd"),
        member("C:/x"),
        member("..\\escape"),
        member("sub/link", tarfile.SYMTYPE, "/etc/passwd"),
        member("sub/link", tarfile.SYMTYPE, "inside"),
        member("sub/hard", tarfile.LNKTYPE, "sub/Chart.yaml"),
        member("sub/device", tarfile.CHRTYPE),
        member("sub/block", tarfile.BLKTYPE),
        member("sub/pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda entry: f"{entry.name} {entry.type!r}",
)
def test_what_leads_out_or_is_no_file_is_refused(entry: tarfile.TarInfo) -> None:
    with pytest.raises(SourceRefused):
        judge(packed(member("sub/Chart.yaml"), entry))


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(bytes(50 << 20))
    assert len(bomb) < 100_000
    with pytest.raises(SourceRefused):
        judge(bomb)


def test_bombs_behind_each_other_count_together() -> None:
    part = packed(member("sub/a"), content=bytes(600_000))
    with pytest.raises(SourceRefused):
        judge(part + part)


def test_too_many_files_are_refused() -> None:
    with pytest.raises(SourceRefused):
        judge(packed(*(member(f"sub/{n}") for n in range(101))))


@given(st.binary(max_size=300))
def test_rubbish_is_refused(rubbish: bytes) -> None:
    with pytest.raises(SourceRefused):
        judge(b"\x1f\x8b" + rubbish)


@given(st.binary(max_size=2000))
def test_rubbish_in_a_sound_gzip_never_breaks_the_check(rubbish: bytes) -> None:
    packer = zlib.compressobj(wbits=31)
    with suppress(SourceRefused):
        judge(packer.compress(rubbish) + packer.flush())
