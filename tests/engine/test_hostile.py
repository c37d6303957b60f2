"""Hostile manifests, through the engine: each is told on its unit, others go on, nothing is pruned for it."""

from __future__ import annotations

import re
from typing import Any, Final

from tests.engine.stage import Json, Sources, Stage, config_map, running
from trimtab.apiserver import MemoryCluster
from trimtab.engine import Engine
from trimtab.engine.operations import Operation, OperationPhase, OperationState, StepStatus
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Destination, Generated, SyncUnit
from trimtab.resources.manifests import Found

TEXT: Final = "Write it as text, in quotes"
MAP: Final = "Write `key: value` lines"
SERVER: Final = "Correct the object and send it again"
NAMELESS: Final = "Give the manifest a metadata.name"
REMEDY: Final = re.compile(r"Mend these words, or remove them\.|Declare it once\.")


def bad(**fields: Any) -> Json:
    """A ConfigMap with other fields; what is `...` is not there."""
    return {name: value for name, value in {**config_map("bad"), **fields}.items() if value is not ...}


def meta(**fields: Any) -> Json:
    """A ConfigMap with other metadata."""
    metadata = {"name": "bad", **fields}
    return bad(metadata={name: value for name, value in metadata.items() if value is not ...})


def told(**annotations: str) -> Json:
    """A ConfigMap with annotations of ours; underscores stand for what cannot be a name."""
    return config_map("bad", **annotations)


def listed(items: Any) -> Json:
    return {"apiVersion": "v1", "kind": "List", **({} if items is ... else {"items": items})}


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = {"a": value}
    return value


def of(kind: str, api_version: str = "v1", **fields: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "bad"}, **fields}


#: what is refused before anything is sent: the object as it is told, the reason, the remedy
REFUSED: Final[dict[str, tuple[Json, str, str]]] = {
    "no kind": (bad(kind=...), "Manifest bad.yaml: kind is missing", "Every Kubernetes manifest needs kind"),
    "a number as kind": (bad(kind=5), "Manifest bad.yaml: kind is a number, not text", TEXT),
    "a kind with a slash": (
        bad(kind="a/B"),
        "Manifest bad.yaml: kind is not one word",
        "Write it like Deplo",
    ),
    "a kind with dots": (bad(kind="../B"), "Manifest bad.yaml: kind is not one word", "Write it like Deplo"),
    "an unknown kind": (bad(kind="Frob"), "Frob default/bad: the server serves no Frob in v1", "Correct the"),
    "no apiVersion": (bad(apiVersion=...), "Manifest bad.yaml: apiVersion is missing", "Every Kubernetes"),
    "a number as apiVersion": (bad(apiVersion=1), "Manifest bad.yaml: apiVersion is a number, not", TEXT),
    "two slashes": (
        bad(apiVersion="a/b/c"),
        "Manifest bad.yaml: apiVersion is not `version` or",
        "Write it",
    ),
    "an unknown version": (
        bad(apiVersion="v9"),
        "ConfigMap default/bad: the server serves no",
        "Correct the",
    ),
    "nothing at all": ({}, "Manifest bad.yaml: metadata.name is missing", NAMELESS),
    "no metadata": (bad(metadata=...), "Manifest bad.yaml: metadata.name is missing", NAMELESS),
    "a list as metadata": (bad(metadata=["a"]), "Manifest bad.yaml: metadata is a list, not a map", MAP),
    "no name": (meta(name=...), "Manifest bad.yaml: metadata.name is missing", NAMELESS),
    "an empty name": (meta(name=""), "Manifest bad.yaml: metadata.name is missing", NAMELESS),
    "null as name": (meta(name=None), "Manifest bad.yaml: metadata.name is missing", NAMELESS),
    "a number as name": (meta(name=123), "Manifest bad.yaml: metadata.name is a number, not text", TEXT),
    "a boolean as name": (meta(name=True), "Manifest bad.yaml: metadata.name is a boolean, not text", TEXT),
    "a list as name": (meta(name=["a"]), "Manifest bad.yaml: metadata.name is a list, not text", TEXT),
    "a slash in the name": (meta(name="a/b"), "Manifest bad.yaml: metadata.name is `.` or `..`", "Choose"),
    "dots as name": (meta(name=".."), "Manifest bad.yaml: metadata.name is `.` or `..`", "Choose another"),
    "a number as beginning of a name": (
        meta(name=..., generateName=5),
        "Manifest bad.yaml: metadata.generateName is a number, not text",
        TEXT,
    ),
    "a number as namespace": (meta(namespace=7), "Manifest bad.yaml: metadata.namespace is a number", TEXT),
    "a list as namespace": (meta(namespace=["a"]), "Manifest bad.yaml: metadata.namespace is a list", TEXT),
    "a list as labels": (meta(labels=["a"]), "ConfigMap default/bad: bad.yaml: metadata.labels is a", MAP),
    "a number as label": (meta(labels={"a": 1}), "default/bad: bad.yaml: metadata.labels['a'] is a", TEXT),
    "text as annotations": (
        meta(annotations="a"),
        "default/bad: bad.yaml: metadata.annotations is text",
        MAP,
    ),
    "a flag as annotation": (meta(annotations={"a": True}), "bad.yaml: metadata.annotations['a'] is a", TEXT),
    "a list without items": (listed(...), "Manifest bad.yaml: a List has no items", "Give it `items`"),
    "text as items": (
        listed("a"),
        "Manifest bad.yaml: items is text, not a list",
        "Write it as `- item` lines",
    ),
    "a null item": (listed([None]), "Manifest bad.yaml, item 1: a manifest is null, not a map", MAP),
    "a number as item": (
        listed([listed([7])]),
        "Manifest bad.yaml, item 1, item 1: a manifest is a number",
        MAP,
    ),
    "too large": (bad(data={"a": "x" * 2**21}), "ConfigMap default/bad: it has 2097", "Split it, or move"),
    "nested beyond measure": (
        bad(data=nested(20_000)),
        "ConfigMap default/bad: it holds something",
        "Look for",
    ),
    "half a character": (bad(data={"a": "\ud800"}), "ConfigMap default/bad: it holds something", "Look for"),
    "a number as key": (
        bad(data={1: "x"}),
        "ConfigMap default/bad: it holds something that JSON",
        "Look for",
    ),
    "client-side apply": (
        told(sync_options="ServerSideApply=false"),
        "it asks for client-side",
        "Remove the",
    ),
}

#: what the server refuses when it is tried, before anything is written: what is told of it
TRIED: Final[dict[str, tuple[Json, str]]] = {
    "a name in capitals": (meta(name="Bad_Name"), "metadata.name: Invalid value"),
    "NUL in a name": (meta(name="a\0b"), "metadata.name: Invalid value"),
    "a name without end": (meta(name="a" * 300), "metadata.name: Invalid value"),
    "a beginning in capitals": (meta(name=..., generateName="BAD_"), "metadata.generateName: Invalid value"),
    "blanks in a label's name": (meta(labels={"a b": "1"}), "metadata.labels: Invalid value"),
    "a long label": (meta(labels={"a": "1" * 64}), "must be no more than 63 bytes"),
    "text as owners": (meta(ownerReferences="me"), ".metadata.ownerReferences: expected list"),
    "an empty owner": (meta(ownerReferences=[{}]), "metadata.ownerReferences"),
    "a list as owner": (meta(ownerReferences=[["a"]]), ".metadata.ownerReferences"),
    "numbers in an owner": (
        meta(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": 1, "uid": 2}]),
        "name: expected string",
    ),
    "text as finalizers": (meta(finalizers="me"), ".metadata.finalizers: expected list"),
    "a number as finalizer": (meta(finalizers=[1]), "expected string"),
    "an odd finalizer": (meta(finalizers=["no slash here"]), "metadata.finalizers: Invalid value"),
    "a time that is none": (meta(deletionTimestamp="yesterday"), "yesterday"),
    "a number as value": (bad(data={"a": 1}), ".data.a: expected string"),
    "a list as data": (bad(data=["a"]), ".data: expected map"),
    "maps instead of a value": (bad(data=nested(240)), ".data.a: expected string"),
    "NUL in a key": (bad(data={"a\0b": "x"}), "Invalid value"),
    "a field that is none": (bad(dta={"a": "b"}), ".dta: field not declared in schema"),
    "text as spec": (of("Deployment", "apps/v1", spec="x"), ".spec: expected map"),
    "text as container": (
        of("Deployment", "apps/v1", spec={"template": {"spec": {"containers": ["x"]}}}),
        "may not have non-map elements",
    ),
    "a definition of nothing": (
        of("CustomResourceDefinition", "apiextensions.k8s.io/v1", spec={"names": {"kind": ["x"]}}),
        "expected string",
    ),
    "a secret that is no base64": (of("Secret", data={"a": "%%%"}), "illegal base64"),
    "a list as a secret's text": (of("Secret", stringData=["a"]), ".stringData: expected map"),
}

#: what is done all the same: what the unit says of it
DONE: Final[dict[str, tuple[list[Json], str]]] = {
    "a list in a list": ([listed([listed([config_map("bad")])])], ""),
    "no items": ([listed(None)], ""),
    "a mebibyte": ([bad(data={"a": "x" * 2**20})], ""),
    "thousands of labels": ([meta(labels={f"l{number}": "x" for number in range(10_000)})], ""),
    "NUL in a value": ([bad(data={"a": "a\0b"})], ""),
    "what servers write": ([meta(uid="x", resourceVersion="7", managedFields="x")], ""),
    "the beginning of a name": ([meta(name=..., generateName="bad-")], ""),
    "one in two spellings": (
        [bad(), meta(namespace="default")],
        "it is declared 2 times; the last one counts",
    ),
    "a wave that is no number": ([told(sync_wave="soon")], "nothing is meant by trimtab.dev/sync-wave: soon"),
    "a wave beyond counting": ([told(sync_wave="9" * 40)], "nothing is meant by trimtab.dev/sync-wave: 999"),
    "an unknown hook": ([told(hook="MidSync")], "trimtab.dev/hook: MidSync, so it is neither kept nor run"),
    "an unknown hook beside one": ([told(hook="PreSync,MidSync")], "meant by trimtab.dev/hook: MidSync"),
    "an unknown policy": (
        [told(hook="PreSync", hook_delete_policy="Never")],
        "nothing is meant by trimtab.dev/hook-delete-policy: Never",
    ),
    "unknown options": (
        [told(sync_options="Prun=false,Replace=maybe,=,,")],
        "by Prun=false, Replace=maybe, =",
    ),
    "options that contradict": (
        [told(sync_options="Prune=false,Prune=true")],
        "Prune=true after Prune=false",
    ),
}


class Careless(Sources):
    """A source that passes on whatever it finds, though it cannot be told apart by any digest."""

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        found = self.wanted[unit.id]
        manifests = tuple(Found(manifest=each, where="bad.yaml") for each in found)
        return Generated(manifests=manifests, revision="r1", digest=f"{unit.id} {id(found)}")


class Hostile:
    """An engine, and a unit per case in a namespace of its own: it has two objects, and wants one of them."""

    def __init__(self) -> None:
        self.stage = Stage(MemoryCluster(), "default", sources=Careless())

    async def set_up(self, engine: Engine, unit: str) -> None:
        """A unit with two objects, that were synced."""
        place = Destination(cluster="here", namespace=unit)
        await self.stage.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unit}})
        self.stage.sources.wanted[unit] = [config_map("good"), config_map("old")]
        await self.stage.store.create(SyncUnit(id=unit, source={}, destination=place))
        assert (await engine.sync(unit)).phase is OperationPhase.SUCCEEDED

    async def sync(self, engine: Engine, unit: str, *manifests: Json, prune: bool = True) -> OperationState:
        """What becomes of a sync when these are declared beside the good object, which changes."""
        mine = [placed(each, unit) for each in manifests]
        self.stage.sources.wanted[unit] = [config_map("good", "2"), *mine]
        return await engine.sync(unit, Operation(prune=prune))

    def deleted(self) -> set[str]:
        return {each.name for each in self.stage.cluster.writes() if each.verb == "delete"}


def placed(manifest: Json, unit: str) -> Json:
    """The manifest where it names the unit's own namespace."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace") != "default":
        return manifest
    return {**manifest, "metadata": {**metadata, "namespace": unit}}


def failed(state: OperationState) -> list[str]:
    return [str(each.key) for each in state.results if each.status is StepStatus.SYNC_FAILED]


def done(state: OperationState) -> list[str]:
    return [each.key.name for each in state.results if each.status is StepStatus.SYNCED]


async def test_what_cannot_be_read_fails_alone_and_nothing_is_pruned_for_it() -> None:
    hostile = Hostile()
    async with running(hostile.stage.engine) as engine:
        for number, (case, (manifest, told_as, remedy)) in enumerate(REFUSED.items()):
            unit = f"u{number}"
            await hostile.set_up(engine, unit)
            state = await hostile.sync(engine, unit, manifest)
            words = f"{told_as.replace('default/', f'{unit}/')}"
            assert state.phase is OperationPhase.FAILED, case
            assert words in state.message, case
            assert f". {remedy}" in state.message, case
            assert (len(failed(state)), done(state)) == (1, ["good"]), case
            looked = await engine.refresh(unit)
            reasons = [each.message for each in looked.status.conditions]
            assert len(reasons) == len(set(reasons)) <= 1, case
            assert looked.status.verdict is Verdict.OUT_OF_SYNC, case
    assert hostile.deleted() == set()


async def test_what_the_server_refuses_is_told_before_anything_is_pruned_and_others_go_on() -> None:
    hostile = Hostile()
    async with running(hostile.stage.engine) as engine:
        for number, (case, (manifest, reason)) in enumerate(TRIED.items()):
            unit = f"u{number}"
            await hostile.set_up(engine, unit)
            whole = await hostile.sync(engine, unit, manifest)
            assert (whole.phase, len(failed(whole)), done(whole)) == (OperationPhase.FAILED, 1, []), case
            assert reason in whole.message, case
            assert whole.message.endswith(f"{SERVER}."), case
            part = await hostile.sync(engine, unit, manifest, prune=False)
            assert (part.phase, done(part)) == (OperationPhase.FAILED, ["good"]), case
            assert reason in part.message, case
    assert hostile.deleted() == set()


async def test_what_can_be_done_is_done_and_the_unit_says_what_was_odd() -> None:
    hostile = Hostile()
    async with running(hostile.stage.engine) as engine:
        for number, (case, (manifests, odd)) in enumerate(DONE.items()):
            unit = f"u{number}"
            await hostile.set_up(engine, unit)
            state = await hostile.sync(engine, unit, *manifests)
            assert (state.phase, failed(state)) == (OperationPhase.SUCCEEDED, []), case
            assert "good" in done(state), case
            looked = await engine.refresh(unit)
            messages = [each.message for each in looked.status.conditions]
            assert len(messages) == bool(odd), case
            assert all(odd in each and REMEDY.search(each) for each in messages), case
    assert hostile.deleted() == {"old"}
