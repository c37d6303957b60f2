"""What each verb of the `Cluster` protocol asks for, as a value: path, query, body, and how to speak of it.

`HttpCluster` sends these calls over the network, the embedded cluster answers them in process; both ask the
same and tell failures in the same words. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.kube.cluster import (
    AsOf,
    Body,
    Deletion,
    PatchBody,
    PatchType,
    Question,
    Selection,
    Write,
)
from trimtab.kube.discovery import Resource
from trimtab.kube.objects import UNREADABLE, KubeObject
from trimtab.shapes import Shape

AGENT = "trimtab"  # the program that asks
JSON = "application/json"
APPLY = "application/apply-patch+yaml"


class Call(Struct, frozen=True, kw_only=True):
    """What to ask, and how to speak of it.

    `repeatable` says that asking twice does no more than asking once; `secrets` are the values that a Secret
    is sent with, None for other kinds: they are struck out of whatever the server says about it.
    """

    subject: str
    path: str
    method: str = "GET"
    query: Mapping[str, str] = {}
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    repeatable: bool = False
    secrets: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"<{self.method} {self.path}>"  # whoever prints a call does not print what it carries


# -- reading ----------------------------------------------------------------------------------------------


def get(resource: Resource, name: str, *, namespace: str, subresource: str) -> Call:
    """Read one object, or a part of it."""
    return Call(
        subject=_subject("get", resource, namespace, name, subresource),
        path=_object_path(resource, namespace, name, subresource),
        repeatable=True,
    )


def page(
    resource: Resource, *, namespace: str, select: Selection, as_of: AsOf, size: int, following: str = ""
) -> Call:
    """Read a page of a collection: the first one, or the one that this token promises."""
    limit = {"limit": str(size)} if size else {}
    place = {"continue": following} if following else _as_of(as_of)
    return Call(
        subject=_subject("list", resource, namespace),
        path=resource.path(namespace),
        query={**_selecting(select), **limit, **place},
        repeatable=True,
    )


def watch(resource: Resource, *, since: str, namespace: str, select: Selection, initial: bool) -> Call:
    """Hear of changes after a version; with `initial` of what exists first."""
    query = {**_selecting(select), "watch": "true", "allowWatchBookmarks": "true"}
    if since:
        query["resourceVersion"] = since
    if initial:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    return Call(subject=_subject("watch", resource, namespace), path=resource.path(namespace), query=query)


def review(question: Question) -> Call:
    """Ask whether we have a right."""
    asked = {
        "verb": question.verb,
        "group": question.resource.group,
        "version": question.resource.version,
        "resource": question.resource.plural,
        "namespace": question.namespace,
        "name": question.name,
        "subresource": question.subresource,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    return Call(
        subject=f"ask whether we may {question.verb} {question.resource.full_kind}",
        path="/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        method="POST",
        body=msgspec.json.encode(body),
        repeatable=True,
    )


def _selecting(select: Selection) -> dict[str, str]:
    pairs = {"labelSelector": select.labels, "fieldSelector": select.fields}
    return {name: value for name, value in pairs.items() if value}


def _as_of(as_of: AsOf) -> dict[str, str]:
    version = {"resourceVersion": as_of.resource_version} if as_of.resource_version else {}
    return {**version, **({"resourceVersionMatch": as_of.match.value} if as_of.match else {})}


# -- writing ----------------------------------------------------------------------------------------------


def create(
    resource: Resource, body: Body, *, namespace: str, name: str, subresource: str, write: Write
) -> Call:
    """Make a new object, or what an object's subresource makes."""
    subject = _subject("create", resource, namespace, name or _name_in(body), subresource)
    return _writing(subject, "POST", resource.path(namespace, name, subresource), resource, body, write)


def update(
    resource: Resource, name: str, body: Body, *, namespace: str, subresource: str, write: Write
) -> Call:
    """Replace an object."""
    subject = _subject("update", resource, namespace, name, subresource)
    path = _object_path(resource, namespace, name, subresource)
    return _writing(subject, "PUT", path, resource, body, write)


def patch(
    resource: Resource,
    name: str,
    body: PatchBody,
    *,
    how: PatchType,
    namespace: str,
    subresource: str,
    write: Write,
) -> Call:
    """Change parts of an object."""
    subject = _subject("patch", resource, namespace, name, subresource)
    path = _object_path(resource, namespace, name, subresource)
    call = _writing(subject, "PATCH", path, resource, body, write)
    return msgspec.structs.replace(call, content_type=how.value)


def apply(
    resource: Resource,
    name: str,
    body: Body,
    *,
    namespace: str,
    subresource: str,
    force: bool,
    write: Write,
) -> Call:
    """Declare the fields that a manager wants: the same declaration twice does no more than once."""
    subject = _subject("apply", resource, namespace, name, subresource)
    path = _object_path(resource, namespace, name, subresource)
    call = _writing(subject, "PATCH", path, resource, body, write)
    query = {**call.query, **({"force": "true"} if force else {})}
    return msgspec.structs.replace(call, content_type=APPLY, query=query, repeatable=True)


def _writing(subject: str, method: str, path: str, resource: Resource, body: PatchBody, write: Write) -> Call:
    """A call that writes this body in the name of its manager."""
    query = {"fieldManager": write.manager, "fieldValidation": write.validation.value}
    return Call(
        subject=subject,
        path=path,
        method=method,
        query={**query, **({"dryRun": "All"} if write.dry_run else {})},
        body=body if isinstance(body, bytes) else _encoded(subject, body),
        secrets=_secrets_in(subject, resource, body),
    )


def _encoded(subject: str, body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except RecursionError as error:
        raise InvalidSpec(subject, "it is nested too deeply to be sent", "Flatten it.") from error


# -- deleting ---------------------------------------------------------------------------------------------


def delete(resource: Resource, name: str, *, namespace: str, how: Deletion) -> Call:
    """Delete one object."""
    return Call(
        subject=_subject("delete", resource, namespace, name),
        path=_object_path(resource, namespace, name),
        method="DELETE",
        body=msgspec.json.encode(_delete_options(how)),
    )


def delete_all(resource: Resource, *, namespace: str, select: Selection, how: Deletion) -> Call:
    """Delete a selection of one collection."""
    return Call(
        subject=_subject("delete all", resource, namespace),
        path=resource.path(namespace),
        method="DELETE",
        query=_selecting(select),
        body=msgspec.json.encode(_delete_options(how)),
    )


def _delete_options(how: Deletion) -> dict[str, Any]:
    preconditions = {
        name: value
        for name, value in (("uid", how.uid), ("resourceVersion", how.resource_version))
        if value is not None  # an empty one is one that never holds, not none
    }
    options = {
        "preconditions": preconditions or None,
        "propagationPolicy": how.propagation.value if how.propagation else None,
        "gracePeriodSeconds": how.grace_seconds,
        "dryRun": ["All"] if how.dry_run else None,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return {"apiVersion": "v1", "kind": "DeleteOptions", **given}


class _Spec(Struct, frozen=True):
    finalizers: tuple[str, ...] | None = None


_SPEC: Final = Shape(_Spec)


class _Metadata(Struct, frozen=True, rename="camel"):
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] | None = None


class _Left(Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: Any = None


_LEFT: Final = msgspec.json.Decoder(_Left)


def left_by(answer: KubeObject) -> KubeObject | None:
    """What a deletion left of the object, by its answer: None once it is gone.

    Most kinds answer with a Status when the object is gone, some with the object as it was last. It is still
    there if it is marked as ending and something keeps it: finalizers, its own or a namespace's, or grace.
    """
    if answer.kind == "Status":
        return None
    left = _LEFT.decode(answer.raw)
    kept = left.metadata.finalizers or left.metadata.deletion_grace_period_seconds
    if answer.key.group == "" and answer.kind == "Namespace":
        kept = kept or _SPEC.of(left.spec).finalizers
    return answer if left.metadata.deletion_timestamp and kept else None


# -- how to speak of it -----------------------------------------------------------------------------------


def _subject(
    verb: str, resource: Resource, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """`apply Deployment.apps shop/web`, `get Deployment.apps shop/web scale`, `list Pod in shop`."""
    kind = resource.full_kind
    if not name:
        return f"{verb} {kind} in {namespace}" if namespace else f"{verb} {kind}"
    path = f"{namespace}/{name}" if namespace else name
    return f"{verb} {kind} {path} {subresource}".rstrip()


def _object_path(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    """The path of one object: without a name it would be the whole collection, and deleting it a massacre."""
    if not name:
        raise InvalidSpec(f"a {resource.full_kind}", "its name is empty", "Name the object.")
    return resource.path(namespace, name, subresource)


def _decoded(body: PatchBody) -> Any:
    """A body as JSON values, for our own messages only; None when it is none: the server will say so."""
    if not isinstance(body, bytes):
        return body
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        return None


def _name_in(body: Body) -> str:
    """The name that a new object asks for."""
    match _decoded(body):
        case {"metadata": {"name": str(name)}} | {"metadata": {"generateName": str(name)}}:
            return name
        case _:
            return ""


def _secrets_in(subject: str, resource: Resource, body: PatchBody) -> tuple[str, ...] | None:
    """The values sent for a Secret: whatever the server says about it must not repeat them."""
    if resource.kind != "Secret" or resource.group:
        return None
    match _decoded(body):
        case list() as operations:
            return tuple(_values(operations))
        case dict() as manifest:
            metadata = manifest.get("metadata")
            annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
            return tuple(_values([manifest.get("data"), manifest.get("stringData"), annotations]))
        case _:
            reason = "what was to be sent is not JSON, so its values could not be kept out of messages"
            raise InvalidSpec(subject, reason, "Send the Secret as JSON.")


def _values(value: Any) -> Iterator[str]:
    match value:
        case bool():
            return
        case str() | int() | float():
            yield str(value)
        case dict():
            for each in value.values():
                yield from _values(each)
        case list():
            for each in value:
                yield from _values(each)
        case _:
            return
