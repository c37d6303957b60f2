"""Sets up the checkout with nothing but Python: gets the pinned uv and lets it fill `.venv`.

Needs neither pip nor the venv module. Which uv, from where and with which hash stands in `uv.lock`; it is
kept in the user's cache folder, so a second run downloads nothing. The rest is uv's work, from the same lock.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ATTEMPTS = 3
TIMEOUT_SECONDS = 60
#: variables by which somebody's own environment would be filled in place of `.venv`
ELSEWHERE = {"VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"}


class SetUpFailed(Exception):
    """The checkout could not be set up; the message is one line for the person at the terminal."""


class Wheel(NamedTuple):
    """One built package as the lock file pins it."""

    url: str
    sha256: str

    @property
    def platforms(self) -> list[str]:
        """The platform tags at the end of the file name."""
        return self.url.rsplit("/", 1)[-1].removesuffix(".whl").split("-")[-1].split(".")


class Machine(NamedTuple):
    """What decides which wheel runs here; no `glibc` means another C library, such as musl."""

    arch: str
    glibc: tuple[int, int] | None


def this_machine() -> Machine:
    """The machine this runs on."""
    name, version = platform.libc_ver()
    major, _, minor = version.partition(".")
    return Machine(platform.machine(), (int(major), int(minor)) if name == "glibc" else None)


def fits(tag: str, machine: Machine) -> bool:
    """Whether a wheel with this platform tag runs on the machine."""
    family, _, rest = tag.partition("_")
    if machine.glibc is None:
        return family == "musllinux" and rest.endswith(f"_{machine.arch}")
    numbers = rest.split("_", 2)
    if family != "manylinux" or len(numbers) != 3 or numbers[2] != machine.arch:
        return False
    return (int(numbers[0]), int(numbers[1])) <= machine.glibc


def pinned(lock: Mapping[str, list[dict[str, object]]]) -> tuple[str, list[Wheel]]:
    """The version of uv that the lock file pins, and its wheels."""
    for package in lock["package"]:
        if package["name"] == "uv":
            wheels = package["wheels"]
            assert isinstance(wheels, list)  # noqa: S101 - the lock's format, which uv itself guards
            return str(package["version"]), [
                Wheel(wheel["url"], wheel["hash"].removeprefix("sha256:")) for wheel in wheels
            ]
    raise SetUpFailed("uv.lock does not pin uv: put it into the check group and run `uv lock`.")


def chosen(wheels: Iterable[Wheel], machine: Machine) -> Wheel:
    """The first wheel that runs on the machine."""
    for wheel in wheels:
        if any(fits(tag, machine) for tag in wheel.platforms):
            return wheel
    raise SetUpFailed(f"uv.lock has no uv for {machine.arch} with this C library; Trimtab is built on Linux.")


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where this user keeps what can be fetched again."""
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trimtab"


def download(wheel: Wheel) -> bytes:
    """The wheel's content, proven by its hash."""
    content = _answer(wheel.url)
    actual = hashlib.sha256(content).hexdigest()
    if actual != wheel.sha256:
        raise SetUpFailed(f"{wheel.url} has the hash {actual}, but uv.lock says {wheel.sha256}: refused.")
    return content


def _answer(url: str) -> bytes:
    """What stands at the address; a lost connection is tried again, a refusal is not."""
    for attempt in itertools.count(1):
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310 - from uv.lock
                return bytes(response.read())
        except OSError as exc:
            if attempt == ATTEMPTS or isinstance(exc, urllib.error.HTTPError):
                reason = getattr(exc, "reason", exc)
                advice = "Check the network, https_proxy and SSL_CERT_FILE."
                raise SetUpFailed(f"cannot download {url}: {reason}. {advice}") from exc
    raise AssertionError("counting never ends")


def unpack(content: bytes, target: Path) -> None:
    """Put the program of a wheel at `target` in one step, so that two runs at once do no harm."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unpacking-") as folder:
        archive = Path(folder, "wheel")
        archive.write_bytes(content)
        program = Path(folder, "uv")
        with zipfile.ZipFile(archive) as wheel:
            member = next(name for name in wheel.namelist() if name.endswith(".data/scripts/uv"))
            with wheel.open(member) as source, program.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        program.chmod(0o755)
        program.replace(target)


def ensure_uv(lock_file: Path, cache: Path, machine: Machine) -> Path:
    """The pinned uv: from the cache, or downloaded into it."""
    version, wheels = pinned(tomllib.loads(lock_file.read_text()))
    target = cache / "uv" / version / "uv"
    if not target.exists():
        wheel = chosen(wheels, machine)
        print(f"Getting uv {version} into {target.parent}", flush=True)
        unpack(download(wheel), target)
    return target


def run_uv(uv: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run uv on this checkout with the Python that runs this, wherever the caller keeps his environments."""
    settings = {
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_SYSTEM_CERTS": "true",  # trust what the machine trusts, as the download above did
        **{name: value for name, value in environment.items() if name not in ELSEWHERE},
    }
    place = ["--python", sys.executable, "--project", str(ROOT)]
    if subprocess.run([uv, *arguments, *place], env=settings, check=False).returncode != 0:
        raise SetUpFailed("uv's own words are above; after a change of dependencies, run `make lock`.")


def kept(venv: Path, cache: Path) -> set[tuple[str, int]]:
    """What there is for this checkout, and since when: packages in `.venv`, and uv."""
    found = itertools.chain(venv.glob("lib/python*/site-packages/*.dist-info"), cache.glob("uv/*/uv"))
    return {(str(path), path.stat().st_mtime_ns) for path in found}


def main(arguments: Sequence[str]) -> int:
    """Make `.venv` exactly what uv.lock says, or do what the arguments tell uv; say in one line why not.

    Where something had to be fetched or installed, how long that took is said as well.
    """
    environment = os.environ  # noqa: TID251 - this is the edge
    started, cache = time.monotonic(), cache_folder(environment)
    before = kept(ROOT / ".venv", cache)
    try:
        uv = ensure_uv(ROOT / "uv.lock", cache, this_machine())
        run_uv(uv, arguments or ["sync", "--locked", "--quiet"], environment)
        if kept(ROOT / ".venv", cache) != before:
            print(f"set-up took {time.monotonic() - started:.1f} s", flush=True)
    except (SetUpFailed, OSError) as exc:
        print(f"set-up failed: {exc}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
