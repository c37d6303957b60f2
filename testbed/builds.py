"""Go programs, built from modules pinned under `testbed/go` and `renderers` and kept in the user's cache.

A program's place in the cache is named by its version and by a digest of everything that decides what
it is: go.mod, go.sum, flags, and all files of our own small tools. The compiler's version is left out on
purpose: go.mod sets its lower bound, and a machine with a filled cache then needs no Go at all.
One lock serves all builds of a user, since a single build already keeps every core busy. Each program is
built to a private name and moved into place, so a killed build leaves nothing half and the next run goes on
with the first program that is missing.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from testbed.folders import cache_folder
from testbed.problems import BuildFailed, PartMissing
from testbed.processes import leashed

GO_SOURCES = Path(__file__).parent / "go"
#: our own builds of helm and kustomize: a module each, which pins what the tool pins, and what they share
RENDERERS = Path(__file__).parents[1] / "renderers"
FLAGS = ("-trimpath", "-mod=readonly", "-buildvcs=false")
_BUILDING = ".building-"


class Program(Struct, frozen=True, kw_only=True):
    """A program to build: which package of which pinned module, and how it is stamped."""

    name: str
    pin: str  # the folder under testbed/go, or renderers, whose go.mod pins it
    module: str  # the module whose version is the program's version
    package: str
    stamps: tuple[tuple[str, str], ...] = ()  # linker variables; {version}, {major} and {minor} are filled in
    extras: tuple[str, ...] = ()  # files of the module that the program needs at run time
    ours: bool = False  # whether its own source is in this repository, in renderers/
    cold_seconds: int  # what a first build takes on two cores, for the progress line


def _kubernetes(name: str, cold_seconds: int) -> Program:
    stamp = "k8s.io/component-base/version.git"
    return Program(
        name=name,
        pin="kubernetes",
        module="k8s.io/kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        stamps=((f"{stamp}Version", "{version}"), (f"{stamp}Major", "{major}"), (f"{stamp}Minor", "{minor}")),
        cold_seconds=cold_seconds,
    )


def _own_build(of: Program) -> Program:
    """Our own build of a tool: its code and stamps, with another `main`."""
    return replace(of, name=f"trimtab-{of.name}", package=".", ours=True)


KUSTOMIZE = Program(
    name="kustomize",
    pin="kustomize",
    module="sigs.k8s.io/kustomize/kustomize/v5",
    package="sigs.k8s.io/kustomize/kustomize/v5",
    stamps=(("sigs.k8s.io/kustomize/api/provenance.version", "{version}"),),
    cold_seconds=15,
)
HELM = Program(
    name="helm",
    pin="helm",
    module="helm.sh/helm/v4",
    package="helm.sh/helm/v4/cmd/helm",
    stamps=(("helm.sh/helm/v4/internal/version.version", "{version}"),),
    cold_seconds=115,
)
# In the order that lets each build reuse the most of the ones before it.
PROGRAMS = {
    program.name: program
    for program in (
        _kubernetes("kube-apiserver", 230),
        _kubernetes("kube-controller-manager", 50),
        _kubernetes("kube-scheduler", 5),
        _kubernetes("kubectl", 20),
        Program(
            name="etcd",
            pin="etcd",
            module="go.etcd.io/etcd/server/v3",
            package="go.etcd.io/etcd/server/v3",
            cold_seconds=35,
        ),
        Program(
            name="kwok",
            pin="kwok",
            module="sigs.k8s.io/kwok",
            package="sigs.k8s.io/kwok/cmd/kwok",
            stamps=(("sigs.k8s.io/kwok/pkg/consts.Version", "{version}"),),
            extras=(
                "kustomize/stage/node/fast/node-initialize.yaml",
                "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
                "kustomize/stage/pod/fast/pod-ready.yaml",
                "kustomize/stage/pod/fast/pod-complete.yaml",
                "kustomize/stage/pod/fast/pod-delete.yaml",
            ),
            cold_seconds=60,
        ),
        KUSTOMIZE,
        HELM,
        _own_build(KUSTOMIZE),
        _own_build(HELM),
    )
}
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl")


def required_version(go_mod: str, module: str) -> str:
    """The version of a module that a go.mod text requires."""
    found = re.search(rf"^(?:require)?\s*{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if not found:
        raise PartMissing(module, "no go.mod under testbed/go requires it")
    return found.group(1)


def linker_flags(program: Program, version: str) -> str:
    """The -ldflags that strip a program and tell it its own version."""
    major, minor, *_ = version.removeprefix("v").split(".")
    stamps = (
        f"-X {variable}={value.format(version=version, major=major, minor=minor)}"
        for variable, value in program.stamps
    )
    return " ".join(("-s -w", *stamps))


def digest_of(parts: Iterable[bytes]) -> str:
    """A short name for a list of byte strings; no two different lists share it by moving a border."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()[:12]


def tell(line: str) -> None:
    """Say one line of progress to whoever watches the terminal."""
    print(f"testbed: {line}", file=sys.stderr, flush=True)


class Builder:
    """Hands out paths of built programs, building what the cache does not hold yet."""

    def __init__(
        self,
        *,
        cache: Path | None = None,
        sources: Path = GO_SOURCES,
        go: str | None = None,
        say: Callable[[str], None] = tell,
    ) -> None:
        self.cache = cache or cache_folder()
        self._sources = sources
        self._go = shutil.which("go") if go is None else go
        self._say = say

    def version(self, name: str) -> str:
        """The pinned version of a program."""
        program = PROGRAMS[name]
        return required_version((self._pin(program) / "go.mod").read_text(), program.module)

    def _pin(self, program: Program) -> Path:
        """The folder of the module that pins a program."""
        return (RENDERERS if program.ours else self._sources) / program.pin

    def path(self, name: str) -> Path:
        """Where a program is, or will be once it is built."""
        program = PROGRAMS[name]
        pin = self._pin(program)
        parts = [(pin / file).read_bytes() for file in ("go.mod", "go.sum")]
        if program.ours:
            parts += [file.read_bytes() for file in sorted((*pin.glob("*.go"), *RENDERERS.glob("jobs/*")))]
        flags = (*FLAGS, linker_flags(program, self.version(name)), program.package, *program.extras)
        digest = digest_of((*parts, *(flag.encode() for flag in flags), platform.machine().encode()))
        return self.cache / f"{name}-{self.version(name)}-{digest}" / "bin" / name

    def tool_path(self, name: str) -> Path:
        """Where one of our own Go tools is, or will be once it is built."""
        files = sorted(file for file in (self._sources / name).rglob("*") if file.is_file())
        if not files:
            raise PartMissing(f"Go tool {name}", f"there is no {self._sources / name}")
        parts = (
            part
            for file in files
            for part in (str(file.relative_to(self._sources)).encode(), file.read_bytes())
        )
        return self.cache / f"{name}-{digest_of(parts)}" / "bin" / name

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the programs that the cache does not hold yet, in the order to build them."""
        asked = set(names)
        return tuple(name for name in PROGRAMS if name in asked and not self.path(name).exists())

    def program(self, name: str) -> Path:
        """A pinned program, ready to run."""
        program, target = PROGRAMS[name], self.path(name)
        if not target.exists():
            flags = linker_flags(program, self.version(name))
            what = f"{name} {self.version(name)} (about {_minutes(program.cold_seconds)} the first time)"
            with self._build_lock(what):
                if not target.exists():
                    self._fetch_extras(program, target.parent.parent)
                    self._build(what, self._pin(program), program.package, target, ("-ldflags", flags))
        return target

    def tool(self, name: str) -> Path:
        """One of our own small Go programs (`testbed/go/<name>`, package main), ready to run."""
        target = self.tool_path(name)
        if not target.exists():
            with self._build_lock(name):
                if not target.exists():
                    self._build(name, self._sources / name, ".", target, ("-ldflags", "-s -w"))
        return target

    @contextlib.contextmanager
    def _build_lock(self, what: str) -> Iterator[None]:
        """Hold the one lock of all builds; whoever waits says for whom."""
        self.cache.mkdir(parents=True, exist_ok=True)
        with (self.cache / "build.lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                self._say(f"waiting for another build ({lock.read().strip() or 'unknown'}) before {what}")
                fcntl.flock(lock, fcntl.LOCK_EX)
            lock.seek(0)
            lock.truncate()
            lock.write(f"{what}, by process {os.getpid()}")
            lock.flush()
            yield
            lock.truncate(0)

    def _build(self, what: str, folder: Path, package: str, target: Path, options: tuple[str, ...]) -> None:
        """Compile to a private name beside the target, then move it there."""
        target.parent.mkdir(parents=True, exist_ok=True)
        for leftover in target.parent.glob(f"{_BUILDING}*"):
            leftover.unlink()  # of a build that was killed; the lock says that nobody builds now
        private = target.parent / f"{_BUILDING}{target.name}"
        self._say(f"building {what}")
        started = time.monotonic()
        self._run_go(what, folder, "build", *FLAGS, *options, "-o", str(private), package)
        private.replace(target)
        self._say(f"built {target.name} in {time.monotonic() - started:.0f} s")

    def _fetch_extras(self, program: Program, folder: Path) -> None:
        """Copy files that a program reads at run time out of its module."""
        if not program.extras:
            return
        pin = self._pin(program)
        self._run_go(program.name, pin, "mod", "download", program.module)
        where = self._run_go(program.name, pin, "list", "-m", "-f", "{{.Dir}}", program.module)
        (folder / "extras").mkdir(parents=True, exist_ok=True)
        for extra in program.extras:
            shutil.copyfile(Path(where.strip()) / extra, folder / "extras" / Path(extra).name)

    def _run_go(self, what: str, folder: Path, *args: str) -> str:
        """Run the go command in one of the pinned modules and return what it printed."""
        if not self._go:
            raise PartMissing(what, "it is not built yet and there is no `go` on PATH", GO_REMEDY)
        done = subprocess.run(
            leashed([self._go, *args]),
            cwd=folder,
            # Without cgo the programs need neither a C compiler here nor a certain libc elsewhere.
            env={**os.environ, "GOFLAGS": "", "GOWORK": "off", "CGO_ENABLED": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BuildFailed(
                what, f"`go {' '.join(args)}` in {folder} failed: {done.stderr[-2000:].strip()}"
            )
        return done.stdout


GO_REMEDY = "Install Go 1.26 or newer (https://go.dev/dl), then run `python -m testbed build`."


def _minutes(seconds: int) -> str:
    """A rough duration for people."""
    return f"{round(seconds / 60)} min" if seconds >= 90 else f"{seconds} s"
