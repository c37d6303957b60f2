"""What is kept is sealed, found again, dropped when damaged, and never grows beyond its budget."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import Unavailable
from trimtab.resources.sealing import KEY_SIZE, NONCE_SIZE
from trimtab.sources.rendering.sealing import Seal
from trimtab.sources.rendering.store import RenderStore, key_in

KEY, OTHER = bytes(range(KEY_SIZE)), bytes(KEY_SIZE)
NONCE = b"n" * NONCE_SIZE


@given(st.binary(max_size=500), st.text(min_size=1, max_size=20))
def test_a_sealed_entry_opens_under_its_key_and_name_alone(content: bytes, name: str) -> None:
    entry = Seal(KEY).sealed(name, content, NONCE)
    assert Seal(KEY).opened(name, entry, 1000) == content
    assert Seal(KEY).opened(f"{name}x", entry, 1000) is None
    assert Seal(OTHER).opened(name, entry, 1000) is None


@given(st.binary(min_size=1, max_size=200), st.data())
def test_an_entry_with_any_bit_changed_does_not_open(content: bytes, data: st.DataObject) -> None:
    entry = bytearray(Seal(KEY).sealed("name", content, NONCE))
    place = data.draw(st.integers(0, len(entry) - 1))
    entry[place] ^= 1 << data.draw(st.integers(0, 7))
    assert Seal(KEY).opened("name", bytes(entry), 1000) is None
    assert Seal(KEY).opened("name", bytes(entry[:place]), 1000) is None


def test_an_entry_that_unpacks_to_more_than_allowed_does_not_open() -> None:
    assert Seal(KEY).opened("name", Seal(KEY).sealed("name", bytes(100_000), NONCE), 1000) is None


def test_names_tell_nothing_without_the_key() -> None:
    value = {"parameters": [{"name": "password", "value": "hunter2"}]}
    assert Seal(KEY).name(value) == Seal(KEY).name(value)
    assert Seal(KEY).name(value) != Seal(OTHER).name(value)


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Seal(b"short")


@pytest.fixture
def store(tmp_path: Path) -> RenderStore:
    return RenderStore(tmp_path / "cache", KEY, 1 << 20)


def entries(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_what_was_put_is_got(store: RenderStore, tmp_path: Path) -> None:
    store.put("results", "ab12", b"content")
    assert store.get("results", "ab12") == b"content"
    assert store.get("records", "ab12") is None
    assert RenderStore(tmp_path / "cache", OTHER, 1 << 20).get("results", "none") is None


def test_nothing_secret_can_be_read_from_the_disk_and_nobody_else_may_look(
    store: RenderStore, tmp_path: Path
) -> None:
    store.put("results", "ab12", b"kind: Secret\nstringData: {password: hunter2-canary}\n" * 50)
    (path,) = entries(tmp_path)
    assert b"canary" not in path.read_bytes()
    assert b"Secret" not in path.read_bytes()
    assert path.stat().st_size < 300  # compressed
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_damaged_entry_is_dropped(store: RenderStore, tmp_path: Path) -> None:
    store.put("results", "ab12", b"content")
    (path,) = entries(tmp_path)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert store.get("results", "ab12") is None
    assert entries(tmp_path) == []


def test_an_entry_put_in_anothers_place_is_dropped(store: RenderStore, tmp_path: Path) -> None:
    store.put("results", "ab12", b"content")
    (path,) = entries(tmp_path)
    path.rename(path.with_name("ab34"))
    assert store.get("results", "ab34") is None


def test_the_budget_is_kept_and_what_was_used_last_stays(tmp_path: Path) -> None:
    store = RenderStore(tmp_path / "cache", KEY, 100_000)
    for number in range(40):
        store.put("results", f"{number:04}", os.urandom(5_000))
        assert store.get("results", "0000") is not None  # the one that everybody uses
        for age, path in enumerate(sorted(entries(tmp_path), key=lambda it: it.stat().st_mtime_ns)):
            os.utime(path, ns=(age + 1, age + 1))
    assert sum(path.stat().st_size for path in entries(tmp_path)) <= 110_000
    assert store.get("results", "0039") is not None
    assert store.get("results", "0001") is None


def test_a_folder_that_cannot_be_written_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(Unavailable):
        RenderStore(tmp_path / "cache", KEY, 1 << 20).put("results", "ab12", b"content")


WRITER = """
import sys
from pathlib import Path
from trimtab.sources.rendering.store import RenderStore, key_in
store = RenderStore(Path(sys.argv[1]), key_in(Path(sys.argv[2])), 200_000)
for n in range(100):
    store.put("results", f"{n % 10:04}", bytes([n % 10]) * 4000)
    got = store.get("results", f"{n % 7:04}")
    assert got is None or got == bytes([n % 7]) * 4000
"""


def test_several_processes_share_one_store_and_one_key(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "cache"), str(tmp_path / "apart" / "key")]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert not [path for path in entries(tmp_path) if path.name.startswith(".")]


def test_where_no_key_can_be_kept_each_process_has_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    first, second = (key_in(tmp_path / "file" / "key") for _ in range(2))
    assert (len(first), len(second), first == second) == (32, 32, False)


def test_a_key_is_made_once_and_for_us_alone(tmp_path: Path) -> None:
    path = tmp_path / "apart" / "key"
    assert key_in(path) == key_in(path)
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o600)
    path.write_bytes(b"too short")
    with pytest.raises(Unavailable, match="32 bytes"):
        key_in(path)


def test_a_pipe_in_place_of_the_key_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key")
    with pytest.raises(Unavailable, match="key is not a regular file"):
        key_in(tmp_path / "key")
