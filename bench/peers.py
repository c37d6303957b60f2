"""What others take for the engine's work: kubectl, and Argo CD's GitOps engine (`testbed/go/enginepeer`).

Every run is a process of its own against the same control plane as ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.measures import Sample
from bench.shapes import config_map
from testbed.controlplane import ControlPlane

RUN_LIMIT = 600.0
#: by which the Go engine knows what is managed
MARK = {"trimtab.dev/bench": "bench"}


class Run(Struct, frozen=True, kw_only=True):
    """What one process took, from its start to its end."""

    seconds: float
    cpu: float


class Peers(Struct, frozen=True, kw_only=True):
    """What others took for the first sync of the same objects, and for syncing them once more."""

    kubectl: Run
    #: without validation
    go_best: Sample
    go_best_again: Sample
    #: with validation, as it is by default; it takes a minute for a thousand objects, so it is run once
    go_default: Sample | None = None


def ran(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str],
    folder: Path | None = None,
    limit: float = RUN_LIMIT,
) -> tuple[bytes, Run]:
    """What a program printed, and what it took, its children included."""
    begun, before = time.monotonic(), os.times()
    done = subprocess.run(
        [str(each) for each in command],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        check=False,
        timeout=limit,
    )
    after = os.times()
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr.decode()}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, Run(seconds=time.monotonic() - begun, cpu=used)


def written(path: Path, objects: Iterable[Mapping[str, Any]]) -> Path:
    """A file of objects, one JSON a line; as kubectl reads it, one document each."""
    separator = b"\n---\n" if path.suffix == ".yaml" else b"\n"
    path.write_bytes(separator.join(map(msgspec.json.encode, objects)))
    return path


def marked(count: int) -> list[dict[str, Any]]:
    """ConfigMaps that the Go engine takes for its own."""
    found = [config_map(number) for number in range(count)]
    for each in found:
        each["metadata"].setdefault("annotations", {}).update(MARK)
    return found


class GoEngine:
    """Argo CD's GitOps engine on one control plane."""

    def __init__(self, program: Path, plane: ControlPlane) -> None:
        self._program, self._plane = program, plane

    def sync(self, manifests: Path, namespace: str, *flags: str) -> Sample:
        """Sync these manifests; reading the cluster before does not count."""
        return self._sample("sync", "-manifests", manifests, "-namespace", namespace, *flags)

    def diff(self, pairs: Path, rounds: int) -> Sample:
        """Compare these pairs so often, by structured merge."""
        return self._sample("diff", "-pairs", pairs, "-rounds", str(rounds))

    def _sample(self, *words: str | Path) -> Sample:
        command = (self._program, *words, "-kubeconfig", self._plane.kubeconfig)
        said, _ = ran(command, environment={"HOME": str(self._plane.folder)})
        return msgspec.json.decode(said, type=Sample)


def kubectl_apply(
    kubectl: Path, plane: ControlPlane, manifests: Path, namespace: str, *, limit: float = RUN_LIMIT
) -> Run:
    """One whole `kubectl apply --server-side`."""
    words = ("apply", "--server-side", "--kubeconfig", plane.kubeconfig, "-n", namespace, "-f", manifests)
    _, taken = ran((kubectl, *words), environment={"HOME": str(plane.folder)}, limit=limit)
    return taken


def trimtab(plane: ControlPlane, folder: Path, *words: str) -> Run:
    """One whole command of ours."""
    program = Path(sys.executable).with_name("trimtab")
    environment = {
        "HOME": str(folder),
        "KUBECONFIG": str(plane.kubeconfig),
        "PATH": os.environ.get("PATH", ""),  # noqa: TID251 - a benchmark is the edge
    }
    return ran((program, *words), environment=environment, folder=folder)[1]
