"""Steps: what a plan is made of, one value per object and phase. Pure.

A step says what is written or deleted, where in the order, why, and what it expects to find. The manifest
itself travels in a `Body`, which neither prints nor encodes: a step can be shown to anybody.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from trimtab.engine.marks import Mark
from trimtab.engine.operations import SyncPhase
from trimtab.engine.sync.hooks import DeletePolicy
from trimtab.kube.cluster import Propagation
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest


class Body:
    """A manifest on its way to the server: values of Secrets in it must not leave by any other way."""

    __slots__ = ("manifest",)

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest

    def __repr__(self) -> str:
        return "<a manifest>"


class Expected(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What a step was planned on: the identity and the state of the live object; both empty for none."""

    uid: str = ""
    digest: str = ""


NOTHING = Expected()


class WriteMode(enum.Enum):
    """How an object is written."""

    SERVER_SIDE = "server-side apply"
    REPLACE = "replace"
    #: an object whose name the server makes
    CREATE = "create"


class CreateNamespace(Struct, frozen=True, kw_only=True, tag="createNamespace"):
    """Make the destination namespace, or give it its labels and annotations."""

    key: ResourceKey
    phase: SyncPhase
    wave: int
    why: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    expected: Expected = NOTHING
    api_version: str = "v1"


class Apply(Struct, frozen=True, kw_only=True, tag="apply"):
    """Write one object as Git wants it."""

    key: ResourceKey
    phase: SyncPhase
    wave: int
    why: str
    api_version: str
    body: Body
    #: names the content; keyed for Secrets
    content: str
    mode: WriteMode = WriteMode.SERVER_SIDE
    #: delete and create anew when the server refuses the change
    force: bool = False
    validate: bool = True
    #: can be tried as a dry-run: its kind and its namespace are there
    rehearsable: bool = True
    expected: Expected = NOTHING
    images: tuple[str, ...] = ()
    #: group and kind that it defines, if it is a CustomResourceDefinition
    defines: tuple[str, str] | None = None


class Prune(Struct, frozen=True, kw_only=True, tag="prune"):
    """Delete one object that Git no longer asks for."""

    key: ResourceKey
    phase: SyncPhase
    wave: int
    why: str
    api_version: str
    expected: Expected
    propagation: Propagation = Propagation.FOREGROUND
    #: after everything else, whatever its wave
    last: bool = False
    #: why it waits until somebody agrees; empty if it need not
    hold: str = ""
    #: why it is not deleted after all
    skip: str = ""
    #: whose it was when the plan was made
    mark: Mark | None = None
    #: group and kind that it defines, if it is a CustomResourceDefinition: those go first
    defines: tuple[str, str] | None = None


class RunHook(Struct, frozen=True, kw_only=True, tag="hook"):
    """Make a hook's object and see it through."""

    key: ResourceKey
    phase: SyncPhase
    wave: int
    why: str
    api_version: str
    body: Body
    content: str
    policies: tuple[DeletePolicy, ...]
    finalizer: str
    #: what becomes of what it owns, when it is deleted
    propagation: Propagation = Propagation.FOREGROUND
    rehearsable: bool = True
    #: what stands under its name
    expected: Expected = NOTHING
    images: tuple[str, ...] = ()
    #: how the name began where it is ours to choose; a plan is the same whenever it is started
    generate_name: str = ""
    #: whose an object must be that stands under its name and has to go; None means anybody's
    mark: Mark | None = None
    #: the identity of the object with which an earlier try of the deletion saw it through
    ran: str = ""
    #: its object stays when everything else of the unit is deleted: it says so itself
    stays: bool = False


class Refuse(Struct, frozen=True, kw_only=True, tag="refuse"):
    """Do not write one object, and say so in its place: it fails like any other object of its wave."""

    key: ResourceKey
    phase: SyncPhase
    wave: int
    why: str
    remedy: str = ""
    api_version: str = ""
    expected: Expected = NOTHING


Step: TypeAlias = CreateNamespace | Apply | Prune | RunHook | Refuse


class Refused(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One object that cannot be synced, why, and what to do."""

    key: ResourceKey
    reason: str
    remedy: str = ""
    #: nothing at all is written while this is so
    blocks: bool = False

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}{'. ' + self.remedy if self.remedy else ''}"


class SyncPlan(Struct, frozen=True, kw_only=True):
    """Everything an operation will do, in order, and what it was planned on."""

    unit: str
    revision: str
    #: names all that Git wants of this unit
    render: str
    steps: tuple[Step, ...]
    digest: str
    refused: tuple[Refused, ...] = ()
    dry_run: bool = False
    #: try the writes before the first one is made
    rehearse: bool = False
    #: somebody agreed to exactly this plan: any state that moved since then is a reason not to act
    exact: bool = False

    @property
    def held(self) -> tuple[Prune, ...]:
        """What is deleted only with somebody's consent."""
        return tuple(step for step in self.steps if isinstance(step, Prune) and step.hold and not step.skip)


_SPECS: Mapping[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(
        ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"),
        ("spec", "template", "spec"),
    ),
}


def images_of(kind: str, manifest: Manifest) -> tuple[str, ...]:
    """The images that an object runs."""
    if kind not in _SPECS:
        return ()
    spec: Any = manifest
    for field in _SPECS[kind]:
        spec = spec.get(field) if isinstance(spec, dict) else None
    if not isinstance(spec, dict):
        return ()
    lists = (spec.get(field) for field in ("initContainers", "containers"))
    found = (each.get("image") for held in lists if isinstance(held, list) for each in held if _is_map(each))
    return tuple(dict.fromkeys(image for image in found if isinstance(image, str) and image))


def _is_map(value: object) -> bool:
    return isinstance(value, dict)
