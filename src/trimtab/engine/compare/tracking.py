"""Ways to mark objects: ours and Argo CD's three; the marks of other systems are recognised. Pure.

Reading a mark is done for every object in a cluster, so it is a few look-ups and no more.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from trimtab.engine.marks import Mark, mark
from trimtab.errors import InvalidSpec
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest

OWNER: Final = "trimtab.dev/owner"
TRACKING_ID: Final = "argocd.argoproj.io/tracking-id"
INSTALLATION_ID: Final = "argocd.argoproj.io/installation-id"
INSTANCE: Final = "app.kubernetes.io/instance"
LONGEST_LABEL: Final = 63
OUR_MANAGER: Final = "trimtab"
_DEFINITIONS: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
_TRAILING: Final = re.compile(r"[^A-Za-z0-9]+\Z")

_KUSTOMIZE: Final = ("kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace")
_HELM_RELEASE: Final = ("helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace")
_HELM: Final = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
_SYNC_MARKS: Final = ("fluxcd.io/sync-gc-mark", "flux.weave.works/sync-gc-mark")
_SYNC_CHECKSUMS: Final = ("fluxcd.io/sync-checksum", "flux.weave.works/sync-checksum")


# -- the marks of others ------------------------------------------------------------------------------------


def foreign_mark(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Mark | None:
    """The claim of a system that is not ours: Argo CD, Flux of both kinds, Helm; the stronger claim is told.

    The label `app.kubernetes.io/instance` alone claims nothing: every Helm chart sets it.
    """
    tracked = annotations.get(TRACKING_ID) if annotations else None
    if tracked is not None:
        return _argo_mark(tracked, annotations.get(INSTALLATION_ID, ""))
    return (labels and _mark_in_labels(labels)) or (annotations and _mark_in_annotations(annotations)) or None


def _mark_in_labels(labels: Mapping[str, str]) -> Mark | None:
    for kind, (name, namespace) in (("Kustomization", _KUSTOMIZE), ("HelmRelease", _HELM_RELEASE)):
        if name in labels:
            return mark("flux", f"{kind} {labels.get(namespace, '')}/{labels[name]}")
    for name in _SYNC_MARKS:
        if name in labels:
            return mark("flux-v1", labels[name])
    return None


def _mark_in_annotations(annotations: Mapping[str, str]) -> Mark | None:
    for name in _SYNC_CHECKSUMS:
        if name in annotations:
            return mark("flux-v1", "a sync without garbage collection")
    if _HELM[0] in annotations:
        return mark("helm", f"{annotations.get(_HELM[1], '')}/{annotations[_HELM[0]]}")
    return None


def _argo_mark(tracked: str, installation: str) -> Mark:
    """What Argo CD's annotation claims; an unreadable one is a claim all the same."""
    found = parse_tracking_id(tracked)
    app = found.app if found else f"unreadable:{tracked}"
    return mark("argocd", f"{installation}/{app}" if installation else app)


# -- ours ---------------------------------------------------------------------------------------------------


class OwnerAnnotation(Struct, frozen=True):
    """Our own way: the annotation `trimtab.dev/owner: <installation uid>/<unit>`."""

    installation: str
    manager: str = OUR_MANAGER

    def mark_of(
        self, _key: ResourceKey, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Mark | None:
        """Who claims the object that carries these: ours before all others."""
        owner = annotations.get(OWNER) if annotations else None
        if owner is not None:
            return mark("trimtab", owner)
        return foreign_mark(labels, annotations) if labels or annotations else None

    def mark_for(self, unit: str) -> Mark:
        """The mark of one of our own units."""
        return mark("trimtab", f"{self.installation}/{unit}")

    def unit_named(self, claim: Mark) -> str:
        """The unit of this installation that a mark names."""
        installation, _, unit = claim.owner.partition("/")
        return unit if (claim.system, installation) == ("trimtab", self.installation) else ""

    def marked(self, manifest: Manifest, unit: str, *, namespace: str = "") -> Manifest:  # noqa: ARG002 - some ways of marking need it
        """The manifest with the annotation."""
        return _with(manifest, "annotations", {OWNER: f"{self.installation}/{unit}"})

    def unmarked(self, manifest: Manifest) -> Manifest:
        """The manifest without the annotation."""
        return _without(manifest, "annotations", OWNER)

    def is_itself(self, live: Manifest, _key: ResourceKey, wanted: ResourceKey | None) -> bool:
        """Whether we have written the mark; a controller that copies annotations is their manager instead."""
        return wanted is not None or self.manager in managers_of_annotation(live, OWNER)

    def migrated(self, live: Manifest, _wanted: Manifest) -> Manifest:
        """The live object as it is: there was no older way."""
        return live


def managers_of_annotation(live: Manifest, name: str) -> frozenset[str]:
    """Who is recorded as having set an annotation."""
    entries = _metadata(live).get("managedFields")
    found = entries if isinstance(entries, list) else []
    return frozenset(
        str(entry.get("manager", ""))
        for entry in found
        if isinstance(entry, dict)
        and f"f:{name}" in _nested(entry, "fieldsV1", "f:metadata", "f:annotations")
    )


def _nested(value: Any, *names: str) -> Mapping[str, Any]:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


# -- Argo CD's ----------------------------------------------------------------------------------------------


class Method(enum.Enum):
    """Which of Argo CD's marks are written; all but `LABEL` are read from the annotation."""

    ANNOTATION = "annotation"
    ANNOTATION_AND_LABEL = "annotation+label"
    LABEL = "label"


class TrackingId(Struct, frozen=True, gc=False):
    """Argo CD's tracking id, `<app>:<group>/<kind>:<namespace>/<name>`."""

    app: str
    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """As it is written into the annotation."""
        return f"{self.app}:{self.group}/{self.kind}:{self.namespace}/{self.name}"

    def names(self, key: ResourceKey) -> bool:
        """Whether it names this object; what has no namespace carries that of its application."""
        same_place = key.namespace in ("", self.namespace)
        return same_place and (key.group, key.kind, key.name) == (self.group, self.kind, self.name)


def parse_tracking_id(text: str) -> TrackingId | None:
    """The parts of a tracking id; None if it is none. A name may hold colons."""
    app, colon, rest = text.partition(":")
    type_, second, place = rest.partition(":")
    group, slash, kind = type_.partition("/")
    namespace, other, name = place.partition("/")
    whole = colon and second and slash and other and "/" not in kind and "/" not in name
    return TrackingId(app, group, kind, namespace, name) if whole else None


def truncated_label(value: str) -> str:
    """A value as a label holds it: at most 63 characters, ending in a letter or digit."""
    if len(value) <= LONGEST_LABEL:
        return value
    kept = _TRAILING.sub("", value[:LONGEST_LABEL])
    if not kept:
        raise InvalidSpec(
            f"unit {value}",
            "its name has no letter or digit where a label could end",
            "Give it another name, or track by annotation alone",
        )
    return kept


class ArgoTracking(Struct, frozen=True, kw_only=True):
    """Argo CD's tracking by annotation, by annotation and label, or by label; a unit is an application.

    Definitions of custom resources are never marked, so they are never pruned.
    """

    method: Method = Method.ANNOTATION
    label: str = INSTANCE
    #: when given, only objects that carry the same installation id are ours
    installation: str = ""

    def mark_of(
        self, _key: ResourceKey, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Mark | None:
        """Who claims the object that carries these; another front end of ours before Argo CD."""
        owner = annotations.get(OWNER) if annotations else None
        if owner is not None:
            return mark("trimtab", owner)
        app = self._app_of(labels, annotations)
        if app:
            other = annotations.get(INSTALLATION_ID, "") if annotations else ""
            is_ours = not self.installation or other == self.installation
            return mark("argocd", app if is_ours else f"{other}/{app}")
        return foreign_mark(labels, annotations) if labels or annotations else None

    def _app_of(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
        if self.method is Method.LABEL:
            return labels.get(self.label, "") if labels else ""
        tracked = annotations.get(TRACKING_ID) if annotations else None
        found = parse_tracking_id(tracked) if tracked else None
        return found.app if found else ""

    def mark_for(self, unit: str) -> Mark:
        """The mark of an application."""
        return mark("argocd", unit)

    def unit_named(self, _claim: Mark) -> str:
        """None: an Argo CD at work in the same cluster leaves the same marks."""
        return ""

    def marked(self, manifest: Manifest, unit: str, *, namespace: str = "") -> Manifest:
        """The manifest with the annotation, the label or both; definitions stay as they are."""
        if _is_definition(manifest):
            return manifest
        annotations = {INSTALLATION_ID: self.installation} if self.installation else {}
        if self.method is not Method.LABEL:
            annotations[TRACKING_ID] = str(_tracking_id(manifest, unit, namespace))
        found = _with(manifest, "annotations", annotations) if annotations else manifest
        return _with(found, "labels", dict(self._labels(unit)))

    def _labels(self, unit: str) -> Iterator[tuple[str, str]]:
        if self.method is Method.LABEL:
            yield self.label, unit
        elif self.method is Method.ANNOTATION_AND_LABEL:
            yield self.label, truncated_label(unit)

    def unmarked(self, manifest: Manifest) -> Manifest:
        """The manifest without what this method writes."""
        found = _without(manifest, "annotations", INSTALLATION_ID)
        if self.method is not Method.LABEL:
            found = _without(found, "annotations", TRACKING_ID)
        if self.method is not Method.ANNOTATION:
            found = _without(found, "labels", self.label)
        return found

    def is_itself(self, live: Manifest, key: ResourceKey, wanted: ResourceKey | None) -> bool:
        """Whether the id, made of what is wanted or else read from the object, names the object itself."""
        if self.method is Method.LABEL:
            return True
        if wanted is not None:
            return TrackingId("", wanted.group, wanted.kind, wanted.namespace, wanted.name).names(key)
        found = parse_tracking_id(str(_held(live, "annotations").get(TRACKING_ID, "")))
        return found is not None and found.names(key)

    def migrated(self, live: Manifest, wanted: Manifest) -> Manifest:
        """The live object with the wanted annotation in place of the older label, if it carries only that."""
        tracked = _held(wanted, "annotations").get(TRACKING_ID)
        labels, annotations = _held(live, "labels"), _held(live, "annotations")
        is_old = self.label in labels and TRACKING_ID not in annotations
        if self.method is Method.LABEL or _is_definition(live) or not is_old or tracked is None:
            return live
        found = _with(live, "annotations", {TRACKING_ID: tracked})
        return found if self.label in _held(wanted, "labels") else _without(found, "labels", self.label)


def _tracking_id(manifest: Manifest, unit: str, namespace: str) -> TrackingId:
    metadata = _metadata(manifest)
    group = str(manifest.get("apiVersion", "")).rpartition("/")[0]
    place = metadata.get("namespace") or namespace
    return TrackingId(unit, group, str(manifest.get("kind", "")), place, metadata.get("name") or "")


def _is_definition(manifest: Manifest) -> bool:
    group = str(manifest.get("apiVersion", "")).rpartition("/")[0]
    return (group, manifest.get("kind")) == _DEFINITIONS


# -- reading and changing metadata --------------------------------------------------------------------------


def _metadata(manifest: Manifest) -> Mapping[str, Any]:
    return _nested(manifest, "metadata")


def _held(manifest: Manifest, field: str) -> Mapping[str, Any]:
    return _nested(manifest, "metadata", field)


def _with(manifest: Manifest, field: str, more: Mapping[str, str]) -> Manifest:
    if not more:
        return manifest
    metadata = _metadata(manifest)
    return {**manifest, "metadata": {**metadata, field: {**_held(manifest, field), **more}}}


def _without(manifest: Manifest, field: str, name: str) -> Manifest:
    """The manifest without one label or annotation; without all of them when that was the last."""
    held = _held(manifest, field)
    if name not in held:
        return manifest
    rest = {each: text for each, text in held.items() if each != name}
    metadata = {each: value for each, value in _metadata(manifest).items() if each != field or rest}
    return {**manifest, "metadata": {**metadata, **({field: rest} if rest else {})}}
