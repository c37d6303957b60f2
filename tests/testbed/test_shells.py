"""Shells: the machine's own, or unpacked once from packages; whole or not there at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.problems import PartMissing
from testbed.shells import Shells

# Stand in for Debian's two: packages are empty files, and unpacking one makes the program of that name.
APT = """#!/bin/sh
echo "$@" >> {folder}/calls
case "$*" in {fails}) echo "E: no lists" >&2; exit 100;; esac
case "$*" in *update*) exit 0;; esac
while [ "$1" != download ]; do shift; done
shift
for package in "$@"; do : > $package.deb; done
"""
DPKG = """#!/bin/sh
name=$(basename "$2" .deb)
mkdir -p "$3/usr/bin" && : > "$3/usr/bin/$name"
"""
NEVER, WITHOUT_LISTS, ALWAYS = "never", "-o?Acquire*", "*"


def machine(folder: Path, *, fails: str = NEVER) -> Shells:
    """A machine with apt-get and dpkg, and no shell but sh."""
    (folder / "bin").mkdir()
    for name, text in (("apt-get", APT.format(folder=folder, fails=fails)), ("dpkg", DPKG)):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    return Shells(cache=folder / "cache", path=str(folder / "bin"), say=lambda _line: None)


def calls(folder: Path) -> list[str]:
    """What apt-get was asked to do."""
    return [line.split("APT::Sandbox::User= ")[1] for line in (folder / "calls").read_text().splitlines()]


def test_packages_are_fetched_once(tmp_path: Path) -> None:
    shells = machine(tmp_path)
    fish = shells.shell("fish")
    assert fish.tree is not None
    assert (fish.path, fish.path.exists()) == (fish.tree / "usr" / "bin" / "fish", True)
    assert shells.shell("fish") == fish
    assert calls(tmp_path) == ["download fish fish-common libpcre2-32-0"]
    assert sorted(each.name for each in (tmp_path / "cache").iterdir()) == [fish.tree.name, "shells.lock"]


def test_a_machine_without_lists_of_packages_gets_some_for_this_alone(tmp_path: Path) -> None:
    assert machine(tmp_path, fails=WITHOUT_LISTS).shell("zsh").tree is not None
    assert calls(tmp_path) == ["download zsh zsh-common", "update", "download zsh zsh-common"]


def test_what_cannot_be_fetched_is_told_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(PartMissing) as caught:
        machine(tmp_path, fails=ALWAYS).shell("zsh")
    assert str(caught.value) == (
        "zsh: there is none on PATH, and apt-get could not fetch it: E: no lists. "
        "Install your system's package `zsh`, or run this with a network once."
    )
    assert [each.name for each in (tmp_path / "cache").iterdir()] == ["shells.lock"]


def test_the_machines_own_shell_comes_first(tmp_path: Path) -> None:
    shells = machine(tmp_path)
    own = tmp_path / "bin" / "zsh"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    zsh = shells.shell("zsh")
    assert (zsh.path, zsh.tree, zsh.prelude, zsh.variables) == (own, None, "", {})
