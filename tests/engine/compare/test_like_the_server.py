"""The local compare beside a real server's dry-run: it never says "same" where an apply would change
something.

The other way round it may err: a false "differs" costs one question to the server. How often it does is
counted and bounded here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from testbed.controlplane import ROOMY, ControlPlane
from tests.engine.compare.nudging import nudged
from tests.kube.merging.samples import Sample, prepare, samples
from tests.kube.servers import APPLY, MERGE, Server
from trimtab.engine.compare.confirming import changes
from trimtab.engine.compare.walking import differences
from trimtab.kube.discovery import Resource
from trimtab.kube.schemas.kinds import built_in
from trimtab.resources.yaml import documents

if TYPE_CHECKING:
    from testbed.fixtures import Parts

MOVING = ("managedFields", "resourceVersion", "generation", "creationTimestamp")
KINDS = ("gadget", "configmap", "deployment", "service")
STORIES, STEPS = 6, 10
#: the share of unchanged pairs that may be taken for changed, where things are emptied at random
MOST_FALSE = 0.05


@pytest.fixture(scope="module")
def server(parts: Parts) -> Iterator[Server]:
    """A connection to a server of our own: definitions and services of kinds are really made there."""
    with ControlPlane(builder=parts, controllers=False, gogc=ROOMY) as plane:
        server = Server.of(plane)
        prepare(server)
        yield server
        server.close()


def at_rest(manifest: dict[str, Any]) -> dict[str, Any]:
    """An object less what moves by itself and what nobody wants: its owners, versions and status."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in MOVING}
    return {**{name: value for name, value in manifest.items() if name != "status"}, "metadata": metadata}


def discovered() -> dict[tuple[str, str], Resource]:
    """How the kinds of the server are reached."""
    return {
        (f"{each.group}/{each.version}" if each.group else each.version, resource.kind): Resource(
            group=each.group,
            version=each.version,
            kind=resource.kind,
            plural=resource.name,
            namespaced=resource.namespaced,
        )
        for each in built_in().groups
        for resource in each.resources
    }


class Tally(Counter[str]):
    """How the two judges agreed."""

    @property
    def false_differs(self) -> float:
        """The share of unchanged pairs that were taken for changed."""
        unchanged = self["both same"] + self["only the server says same"]
        return self["only the server says same"] / max(unchanged, 1)


class Story:
    """One object's life: applied by us and by others, changed by others, compared at every step."""

    def __init__(self, server: Server, sample: Sample, seed: int) -> None:
        self.server, self.sample = server, sample
        self.random = Random(f"compare {sample.target.kind} {seed}")
        self.name = f"compare-{seed}"
        self.path = f"{sample.folder}/{self.name}"
        self.wanted = self.made()

    def made(self) -> dict[str, Any]:
        return self.sample.named(self.name, self.sample.fill(self.random))

    def apply(self, body: dict[str, Any], manager: str, *, dry: bool = False) -> tuple[int, Any]:
        query = f"fieldManager={manager}&force=true{'&dryRun=All' if dry else ''}"
        return self.server.send("PATCH", f"{self.path}?{query}", body, APPLY)

    def disturb(self) -> None:
        """Somebody else applies or changes something, or we apply something new."""
        match self.random.randrange(4):
            case 0:
                self.apply(self.made(), self.random.choice("AB"))
            case 1:
                patch = self.sample.fill(self.random)
                self.server.send("PATCH", f"{self.path}?fieldManager=editor", patch, MERGE)
            case 2:
                self.apply(nudged(self.random, self.wanted), self.random.choice("AB"))
            case _:
                pass

    def judge(self, desired: dict[str, Any], tally: Tally) -> None:
        live = self.server.get(self.path)
        code, predicted = self.apply(desired, "trimtab", dry=True)
        found = differences(desired, live, manager="trimtab")
        if code >= 400:
            tally["refused"] += 1
            return
        is_same = at_rest(live) == at_rest(predicted)
        assert is_same or found, (desired, live, predicted)
        told = changes(desired, live, predicted, manager="trimtab")
        assert bool(told) != is_same, (told, desired, live, predicted)
        tally[
            "both same" if not found else "both differ" if not is_same else "only the server says same"
        ] += 1

    def run(self, tally: Tally) -> None:
        code, answer = self.apply(self.wanted, "trimtab")
        assert code < 300, answer
        for _ in range(STEPS):
            self.judge(self.wanted, tally)
            self.disturb()
            self.judge(self.wanted, tally)
            following = self.random.choice([self.made(), nudged(self.random, self.wanted), self.wanted])
            self.judge(following, tally)
            if self.apply(following, "trimtab")[0] < 300:
                self.wanted = following
        self.server.send("DELETE", self.path)


@pytest.mark.parametrize("kind", KINDS)
def test_same_is_only_said_where_an_apply_changes_nothing(server: Server, kind: str) -> None:
    sample, tally = samples(server, "default")[kind], Tally()
    for seed in range(STORIES):
        Story(server, sample, seed).run(tally)
    assert tally["both same"] > 50
    assert tally["both differ"] > 20
    assert tally.false_differs <= MOST_FALSE, tally


def declared() -> list[dict[str, Any]]:
    """Objects of every built-in kind that has names, as people write them."""
    folder = Path(__file__).parents[2] / "kube" / "manifests"
    texts = [(folder / name).read_text() for name in ("workloads.yaml", "platform.yaml")]
    found = [one.value for text in texts for one in documents(text, "test")]
    for one in found:
        if one and "metadata" in one:
            one["metadata"].pop("namespace", None)
    return [one for one in found if one and "name" in one.get("metadata", {})]


#: objects to which admission adds something inside what is owned as a whole; one of them asks for nonsense
ADMITTED = {"Pod probes", "Pod nulls", "Pod held-back", "Namespace more", "Node more"}
#: an object that names somebody else than the server knows as who asks
OVERRULED = {"CertificateSigningRequest more"}


@pytest.mark.fact("D3", "D19")
def test_what_was_just_applied_is_the_same(server: Server) -> None:
    """Defaults, quantities, empty maps and keys that the server fills in are no differences."""
    resources = discovered()
    for name in ("default", "robot"):
        server.send("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
    false: dict[str, Any] = {}
    count = 0
    for manifest in declared():
        resource = resources[manifest["apiVersion"], manifest["kind"]]
        name = manifest["metadata"]["name"]
        path = resource.path("default" if resource.namespaced else "", name)
        code, live = server.send("PATCH", f"{path}?fieldManager=trimtab&force=true", manifest, APPLY)
        if code >= 300:  # some are wrong on purpose
            continue
        count += 1
        found = differences(manifest, live, manager="trimtab")
        if found:
            false[f"{manifest['kind']} {name}"] = found
    assert count >= 100
    assert set(false) == ADMITTED | OVERRULED, false
