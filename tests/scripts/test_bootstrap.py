"""The set-up that needs nothing but Python: which uv, proven how, kept where."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from scripts.bootstrap import ROOT, Machine, SetUpFailed, Wheel, cache_folder, chosen, ensure_uv, fits, pinned

DEBIAN = Machine("x86_64", (2, 36))
OLD_DEBIAN = Machine("aarch64", (2, 19))
NEW_ARM = Machine("aarch64", (2, 36))
ALPINE = Machine("x86_64", None)
PROGRAM = b"#!/bin/sh\necho uv of the wheel\n"


def wheel(platforms: str) -> Wheel:
    return Wheel(f"https://files.example/uv-1.0-py3-none-{platforms}.whl", "0" * 64)


@pytest.mark.parametrize(
    ("tag", "machine", "expected"),
    [
        ("manylinux_2_17_x86_64", DEBIAN, True),
        ("manylinux_2_17_x86_64", ALPINE, False),
        ("manylinux_2_17_aarch64", DEBIAN, False),
        ("manylinux_2_28_aarch64", OLD_DEBIAN, False),
        ("manylinux_2_28_aarch64", NEW_ARM, True),
        ("manylinux2014_x86_64", DEBIAN, False),
        ("musllinux_1_1_x86_64", ALPINE, True),
        ("musllinux_1_1_x86_64", DEBIAN, False),
        ("musllinux_1_1_aarch64", ALPINE, False),
        ("macosx_11_0_arm64", NEW_ARM, False),
        ("win_amd64", DEBIAN, False),
    ],
)
def test_a_platform_tag_fits_the_processor_and_the_c_library(
    tag: str,
    machine: Machine,
    expected: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert fits(tag, machine) is expected


def test_the_first_wheel_that_runs_here_is_chosen() -> None:
    wheels = [
        wheel("win_amd64"),
        wheel("manylinux_2_17_aarch64.musllinux_1_1_aarch64"),
        wheel("manylinux_2_17_x86_64"),
    ]
    assert chosen(wheels, DEBIAN) == wheels[2]
    assert chosen(wheels, NEW_ARM) == wheels[1]


def test_a_machine_without_a_wheel_is_told_so() -> None:
    with pytest.raises(SetUpFailed, match="no uv for riscv128"):
        chosen([wheel("manylinux_2_17_x86_64")], Machine("riscv128", (2, 36)))


@pytest.mark.parametrize("machine", [DEBIAN, NEW_ARM, ALPINE, Machine("aarch64", None)])
def test_our_lock_file_has_a_uv_for_every_machine_we_build_on(machine: Machine) -> None:
    version, wheels = pinned(tomllib.loads((ROOT / "uv.lock").read_text()))
    found = chosen(wheels, machine)
    assert f"uv-{version}-" in found.url
    assert len(found.sha256) == 64


def test_a_lock_file_without_uv_is_refused() -> None:
    with pytest.raises(SetUpFailed, match="does not pin uv"):
        pinned({"package": [{"name": "click", "version": "8.4"}]})


def test_the_cache_is_where_the_user_says_or_in_his_home() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/var/cache/me"}) == Path("/var/cache/me/trimtab")
    assert cache_folder({}) == Path.home() / ".cache" / "trimtab"


def locked(
    folder: Path, *, sha256: str | None = None, arch: str = "x86_64", program: bytes = PROGRAM
) -> Path:
    """A lock file that pins a small wheel beside it."""
    file = folder / f"uv-1.2.3-py3-none-manylinux_2_17_{arch}.musllinux_1_1_{arch}.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("uv-1.2.3.data/scripts/uvx", b"another program")
        archive.writestr("uv-1.2.3.data/scripts/uv", program)
    digest = sha256 or hashlib.sha256(file.read_bytes()).hexdigest()
    lock = folder / "uv.lock"
    lock.write_text(
        '[[package]]\nname = "uv"\nversion = "1.2.3"\n'
        f'wheels = [{{ url = "{file.as_uri()}", hash = "sha256:{digest}" }}]\n'
    )
    return lock


def test_the_pinned_uv_is_unpacked_once_and_then_taken_from_the_cache(tmp_path: Path) -> None:
    lock, cache = locked(tmp_path), tmp_path / "cache"
    uv = ensure_uv(lock, cache, DEBIAN)
    assert subprocess.run([uv], capture_output=True, check=True).stdout == b"uv of the wheel\n"
    next(tmp_path.glob("*.whl")).unlink()
    assert ensure_uv(lock, cache, DEBIAN) == uv
    assert [path.name for path in uv.parent.iterdir()] == ["uv"]


def test_a_wheel_with_another_hash_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SetUpFailed, match=r"but uv\.lock says"):
        ensure_uv(locked(tmp_path, sha256="0" * 64), tmp_path / "cache", DEBIAN)
    assert not list((tmp_path / "cache").rglob("uv*/*"))


def test_an_address_without_answer_is_told_in_one_line_with_advice(tmp_path: Path) -> None:
    lock = locked(tmp_path)
    next(tmp_path.glob("*.whl")).unlink()
    with pytest.raises(SetUpFailed, match=r"cannot download file:.*Check the network, https_proxy") as told:
        ensure_uv(lock, tmp_path / "cache", DEBIAN)
    assert "\n" not in str(told.value)


def test_a_set_up_says_how_long_it_took_unless_there_was_nothing_to_do(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "scripts").mkdir(parents=True)
    script = shutil.copy(ROOT / "scripts" / "bootstrap.py", checkout / "scripts")
    package = checkout / ".venv" / "lib" / "python3" / "site-packages" / "click-8.dist-info"
    locked(checkout, arch=platform.machine(), program=f"#!/bin/sh\nmkdir -p '{package}'\n".encode())

    def said() -> list[str]:
        environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
        command = [sys.executable, script, "sync"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    getting, took = said()
    assert getting.startswith("Getting uv 1.2.3 into ")
    assert re.fullmatch(r"set-up took \d+\.\d s", took)
    assert said() == []
    package.rmdir()
    (took,) = said()
    assert re.fullmatch(r"set-up took \d+\.\d s", took)


def find_python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the search for a Python with only `folder` on PATH."""
    command = ["/bin/sh", str(ROOT / "scripts" / "find_python.sh"), *arguments]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


def fake_python(path: Path, version: str) -> None:
    """A program that answers like a Python of that version: it knows -V, and fails the question for 3.11."""
    path.write_text(f'#!/bin/sh\n[ "$1" = -V ] && echo "Python {version}" && exit 0\nexit 1\n')
    path.chmod(0o755)


def test_a_python_too_old_gets_one_clear_line(tmp_path: Path) -> None:
    fake_python(tmp_path / "python3", "3.9.2")
    done = find_python(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Trimtab needs Python 3.11 or newer (found: Python 3.9.2)")
    assert done.stderr.count("\n") == 1


def test_no_python_at_all_gets_one_clear_line(tmp_path: Path) -> None:
    done = find_python(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Trimtab needs Python 3.11 or newer (found: no python3)")


def test_a_newer_python_beside_an_old_one_is_found(tmp_path: Path) -> None:
    fake_python(tmp_path / "python3", "3.9.2")
    (tmp_path / "python3.12").symlink_to(sys.executable)
    assert find_python(tmp_path).stdout == f"{tmp_path}/python3.12\n"


def test_the_python_asked_for_is_taken_or_refused(tmp_path: Path) -> None:
    fake_python(tmp_path / "old", "3.8.1")
    assert find_python(tmp_path, sys.executable).stdout.strip() == sys.executable
    assert "(found: Python 3.8.1)" in find_python(tmp_path, str(tmp_path / "old")).stderr
