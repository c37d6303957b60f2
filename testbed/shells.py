"""zsh and fish, for completion: the machine's own, or Debian's packages, unpacked in the user's cache.

No root is needed and nothing is installed: apt-get fetches and proves the packages, dpkg unpacks them into a
folder of the cache. Whatever they link beyond that is part of every Debian. Nothing here is pinned: it is the
shells that people have, of the release that this machine runs.
"""

from __future__ import annotations

import fcntl
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from testbed.builds import digest_of, tell
from testbed.folders import cache_folder
from testbed.problems import PartMissing

#: what a shell consists of beyond what every Debian has
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "zsh": ("zsh", "zsh-common"),
    "fish": ("fish", "fish-common", "libpcre2-32-0"),
}
#: a network that does not answer is given up soon; root may write where it likes
_PATIENCE = ("-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", "-o", "APT::Sandbox::User=")


class Shell(Struct, frozen=True, kw_only=True):
    """A shell that can be run, without anybody's configuration."""

    name: str
    path: Path
    #: where its packages were unpacked; None if it is the machine's own
    tree: Path | None = None

    def command(self, script: str) -> list[str]:
        """How a script is run."""
        if self.name == "fish":
            return [str(self.path), "--no-config", "-c", script]
        return [str(self.path), "-f", "-c", f"{self.prelude}\n{script}"]

    @property
    def variables(self) -> dict[str, str]:
        """What the environment needs beside what a script wants."""
        if self.tree is None or self.name != "fish":
            return {}
        return {"LD_LIBRARY_PATH": str(_only(self.tree, "usr/lib/*/libpcre2-32.so.0").parent)}

    @property
    def prelude(self) -> str:
        """What an unpacked zsh has to be told first: where its modules and functions are."""
        if self.tree is None or self.name != "zsh":
            return ""
        modules = _only(self.tree, "usr/lib/*/zsh/*/zsh").parent
        return f"module_path=('{modules}'); fpath=('{self.tree}'/usr/share/zsh/functions/**/*(/N))"


class Shells:
    """Hands out shells, fetching what neither the machine nor the cache has."""

    def __init__(
        self, *, cache: Path | None = None, path: str | None = None, say: Callable[[str], None] = tell
    ) -> None:
        self.cache = cache or cache_folder()
        self._path = path
        self._say = say

    def shell(self, name: str) -> Shell:
        """A shell, ready to run."""
        own = shutil.which(name, path=self._path)
        if own is not None:
            return Shell(name=name, path=Path(own))
        tree = self.cache / f"{name}-{digest_of(self._identity(name))}"
        if not tree.exists():
            self._fetch(name, tree)
        return Shell(name=name, path=_program(tree, name), tree=tree)

    def _identity(self, name: str) -> Sequence[bytes]:
        """What decides which packages these are."""
        release = Path("/etc/os-release")
        said = release.read_bytes() if release.exists() else b""
        return (said, platform.machine().encode(), *(each.encode() for each in PACKAGES[name]))

    def _fetch(self, name: str, tree: Path) -> None:
        """Unpack the packages to a private name, then move them into place."""
        apt, dpkg = (shutil.which(each, path=self._path) for each in ("apt-get", "dpkg"))
        if apt is None or dpkg is None:
            reason = "there is none on PATH, and no apt-get and dpkg to fetch it with"
            raise PartMissing(name, reason, f"Install your system's package `{name}`")
        self.cache.mkdir(parents=True, exist_ok=True)
        with (self.cache / "shells.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if tree.exists():
                return
            self._say(f"fetching {name}, as Debian packs it")
            with tempfile.TemporaryDirectory(dir=self.cache, prefix=".fetching-") as folder:
                private = Path(folder, "tree")
                private.mkdir()
                for package in _downloaded(apt, name, Path(folder)):
                    _done(name, [dpkg, "--extract", str(package), str(private)], Path(folder))
                # fish finds its own files beside itself if there is a folder for settings there as well
                (private / "usr" / "etc" / "fish").mkdir(parents=True)
                private.rename(tree)


def _downloaded(apt: str, name: str, folder: Path) -> list[Path]:
    """The packages, by the machine's own lists of them, or by fresh ones that are nobody else's."""
    download = (*_PATIENCE, "download", *PACKAGES[name])
    try:
        _done(name, [apt, *download], folder)
    except PartMissing:
        (folder / "lists").mkdir()
        lists = ("-o", f"Dir::State::Lists={folder / 'lists'}", "-o", f"Dir::Cache={folder / 'cache'}")
        _done(name, [apt, *lists, *_PATIENCE, "update"], folder)
        _done(name, [apt, *lists, *download], folder)
    return sorted(folder.glob("*.deb"))


def _done(name: str, command: Sequence[str], folder: Path) -> None:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        what = Path(command[0]).name
        raise PartMissing(
            name,
            f"there is none on PATH, and {what} could not fetch it: {last}",
            f"Install your system's package `{name}`, or run this with a network once",
        )


def _program(tree: Path, name: str) -> Path:
    return next(tree / each / name for each in ("usr/bin", "bin") if (tree / each / name).exists())


def _only(tree: Path, pattern: str) -> Path:
    return next(iter(sorted(tree.glob(pattern))))
