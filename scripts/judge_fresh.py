"""Proves the promises of the Makefile: `make demo` and `make test` on a machine with Python, git and make.

The machine is a bare Debian in a folder, entered as an ordinary user. `make demo` runs there from nothing,
and again with the network cut, which proves that a second run fetches nothing; how long the set-up and the
demo took is said. Then another such machine does the same with `make test`. Making the folder and entering it
needs root; what runs inside has none. The Debian itself is kept in the user's cache.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from scripts.bootstrap import cache_folder
from scripts.demo_times import Told, told

ROOT = Path(__file__).resolve().parents[1]
SUITE = "bookworm"
PACKAGES = ("ca-certificates", "git", "make", "python3")
USER = "newcomer"
USER_ID = 1000
HOME = f"/home/{USER}"
CHECKOUT = f"{HOME}/trimtab"
DEMO_SECONDS = 60
PR_SET_PDEATHSIG = 1
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")

#: fails with a sentence when the machine is not as bare as the promise says
BARE = """
[ "$(id -u)" != 0 ] || { echo "it runs as root"; exit 1; }
for program in pip pip3 uv go docker kubectl helm gcc; do
    if command -v $program >/dev/null; then echo "there is $program"; exit 1; fi
done
for module in pip ensurepip; do
    if python3 -c "import $module" 2>/dev/null; then echo "there is the module $module"; exit 1; fi
done
echo "a bare machine: $(python3 -V), $(git --version), $(make --version | head -1), user $(id -un)"
"""
CUT_OFF = """
import socket
assert [name for _, name in socket.if_nameindex()] == ["lo"], "there is a network"
print("the network is cut: only the loopback interface is left")
"""


class Failed(Exception):
    """The promise does not hold, or cannot be judged here; the message is one line."""


def ensure_image(cache: Path) -> Path:
    """An archive of the bare Debian: from the cache, or made anew."""
    image = cache / "judge-fresh" / f"{SUITE}-{'-'.join(PACKAGES)}.tar"
    if not image.exists():
        image.parent.mkdir(parents=True, exist_ok=True)
        print(f"Making a bare Debian {SUITE} in {image}", flush=True)
        with tempfile.TemporaryDirectory(dir=image.parent) as folder:
            tree, archive = Path(folder, "tree"), Path(folder, "archive")
            _run(
                "debootstrap",
                "--variant=minbase",
                f"--include={','.join(PACKAGES)}",
                SUITE,
                str(tree),
                quiet=True,
            )
            _run("tar", "--create", "--numeric-owner", "--file", str(archive), "--directory", str(tree), ".")
            archive.replace(image)
    return image


def furnish(machine: Path, image: Path) -> None:
    """Unpack the Debian and put into it: a user, a clean clone of HEAD, and the host's way to the network."""
    _run("tar", "--extract", "--numeric-owner", "--file", str(image), "--directory", str(machine))
    _run("chroot", str(machine), "useradd", "--create-home", "--uid", str(USER_ID), USER)
    _run("git", "clone", "--quiet", "--no-local", str(ROOT), f"{machine}{CHECKOUT}")
    _run("chroot", str(machine), "chown", "--recursive", f"{USER}:", CHECKOUT)
    _place(machine / "etc" / "resolv.conf", Path("/etc/resolv.conf"))
    bundle = ssl.get_default_verify_paths().cafile
    if bundle:
        _place(machine / "etc" / "ssl" / "certs" / "ca-certificates.crt", Path(bundle))
        _place(machine / "usr" / "lib" / "ssl" / "cert.pem", Path(bundle))


def _place(target: Path, source: Path) -> None:
    """Copy a file of the host, never through a link, which would lead out of the folder."""
    target.unlink(missing_ok=True)
    shutil.copyfile(source, target)


def inside(machine: Path, command: Sequence[str], *, cut_off: bool = False) -> float:
    """Run a command in the machine as its user; the seconds it took."""
    start = time.monotonic()
    _run(*entering(machine, command, cut_off=cut_off))
    return time.monotonic() - start


def entering(machine: Path, command: Sequence[str], *, cut_off: bool) -> list[str]:
    """How a command is run in the machine."""
    namespaces = ["--mount", "--pid", "--fork", "--kill-child", *(["--net"] if cut_off else [])]
    enter = [sys.executable, "-m", "scripts.judge_fresh", "enter", str(machine), *command]
    # A judge who is stopped takes everything along: else the machine would work on with nobody to see it.
    return ["setpriv", "--pdeathsig", "KILL", "--", "unshare", *namespaces, "--", *enter]


def demonstrated(machine: Path, *, cut_off: bool = False) -> Told:
    """Run the demo in the machine for everybody to see; how long it took by its own account."""
    command = entering(machine, ["make", "demo"], cut_off=cut_off)
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as demo:
        for line in demo.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    account = told("".join(lines))
    if demo.returncode != 0 or account is None:
        raise Failed(f"`make demo` ended with {demo.returncode}")
    return account


def enter(machine: Path, command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """In new namespaces: mount what a machine has, step in, drop all rights, and become the command."""
    _run("mount", "--make-rprivate", "/")
    _run("mount", "--types", "proc", "proc", str(machine / "proc"))
    _run("mount", "--rbind", "/dev", str(machine / "dev"))
    raise_loopback()
    os.chroot(machine)
    os.chdir(CHECKOUT)
    os.setgroups([])
    os.setgid(USER_ID)
    os.setuid(USER_ID)
    # A change of identity makes the kernel forget that we are to die with whoever entered us.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    proxies = {name: environment[name] for name in PROXIES if name in environment}
    plain = {"HOME": HOME, "USER": USER, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    os.execvpe(command[0], list(command), {**plain, **proxies})  # noqa: S606 - a command of this file


def raise_loopback() -> None:
    """A new network namespace has a loopback interface, but it is down."""
    set_flags, up = 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up))


def _run(*command: str, quiet: bool = False) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL if quiet else None, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise Failed(f"`{' '.join(command[:3])} …` failed with {done.returncode}")


def installed(machine: Path) -> set[tuple[str, int, int]]:
    """What the environment and the user's cache hold, with size and age; locks and compiled Python aside."""
    folders = (f"{machine}{CHECKOUT}/.venv", f"{machine}{HOME}/.cache")
    files = (path for folder in folders for path in Path(folder).rglob("*") if path.is_file())
    return {
        (str(path.relative_to(machine)), path.stat().st_size, path.stat().st_mtime_ns)
        for path in files
        if not path.name.endswith((".pyc", ".lock")) and not path.is_symlink()
    }


def judge_tests(machine: Path) -> None:
    """Both runs, with what they prove."""
    inside(machine, ["sh", "-c", BARE])
    first = inside(machine, ["make", "test"])
    before = installed(machine)
    inside(machine, ["python3", "-c", CUT_OFF], cut_off=True)
    setup = inside(machine, ["make", "setup"], cut_off=True)
    second = inside(machine, ["make", "test"], cut_off=True)
    if changed := sorted(installed(machine) ^ before):
        raise Failed(f"the second run made {len(changed)} files anew, such as {changed[0][0]}")
    print(
        f"\nA bare machine passed `make test` in {first:.0f} s, and again without network in {second:.0f} s"
    )
    print(f"(of which the set-up took {setup:.1f} s).")


def judge_demo(machine: Path) -> None:
    """The demo from nothing, and without a network."""
    inside(machine, ["sh", "-c", BARE])
    first, second = demonstrated(machine), demonstrated(machine, cut_off=True)
    if first.set_up == 0 or second.set_up != 0:
        raise Failed(f"the set-up took {first.set_up} s at first and {second.set_up} s then")
    if slow := [each.demo for each in (first, second) if each.demo > DEMO_SECONDS]:
        raise Failed(f"a demo took {slow[0]:.0f} s, which is more than {DEMO_SECONDS}")
    print(
        f"\nA bare machine was set up for the demo in {first.set_up:.1f} s, played it in {first.demo:.0f} s, "
        f"and again without network in {second.demo:.0f} s.\n",
        flush=True,
    )


def main(environment: Mapping[str, str]) -> int:
    """Judge, or say in one line why not."""
    if os.geteuid() != 0:
        print(
            "the judge needs root, to make and enter a bare Debian; what runs inside has no rights",
            file=sys.stderr,
        )
        return 1
    if shutil.which("debootstrap") is None:
        print("the judge needs debootstrap: install the package of that name", file=sys.stderr)
        return 1
    try:
        cache = cache_folder(environment)
        image = ensure_image(cache)
        for judge in (judge_demo, judge_tests):
            with tempfile.TemporaryDirectory(dir=image.parent, ignore_cleanup_errors=True) as folder:
                machine = Path(folder, "machine")
                machine.mkdir()
                furnish(machine, image)
                judge(machine)
    except Failed as exc:
        print(f"the promise is not proven: {exc}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    surroundings = dict(os.environ)  # noqa: TID251 - this is the edge
    if sys.argv[1:2] == ["enter"]:
        enter(Path(sys.argv[2]), sys.argv[3:], surroundings)
    sys.exit(main(surroundings))
