"""The server's refusals, in its own words. Pure.

What is wrong with an object's fields is said by `trimtab.kube.schemas.validation`; here is what is wrong
with a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trimtab.kube.gotext import quoted
from trimtab.kube.refusals import Cause, Refused, bad_request
from trimtab.kube.schemas.validation.causes import INSIDE

OPTIONS_GROUP = "meta.k8s.io"


def not_found(group: str, plural: str, name: str) -> Refused:
    """There is no such object."""
    return Refused(
        404,
        "NotFound",
        f"{qualified(plural, group)} {quoted(name)} not found",
        details=details(group, plural, name),
    )


def no_such_path() -> Refused:
    """Nothing is served there."""
    return Refused(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed() -> Refused:
    """Something is served there, but not for this verb."""
    message = "the server does not allow this method on the requested resource"
    return Refused(405, "MethodNotAllowed", message, details={})


def already_exists(group: str, plural: str, name: str, *, ending: bool) -> Refused:
    """The name is taken, perhaps by an object that is on its way out."""
    told = f"{qualified(plural, group)} {quoted(name)} already exists"
    return Refused(
        409,
        "AlreadyExists",
        f"object is being deleted: {told}" if ending else told,
        details=details(group, plural, name),
    )


def conflict(group: str, what: str, name: str, why: str) -> Refused:
    """The object is not in the state that the request expects; `what` is the plural, at times the kind."""
    message = f"Operation cannot be fulfilled on {qualified(what, group)} {quoted(name)}: {why}"
    return Refused(409, "Conflict", message, details=details(group, what, name))


def modified(group: str, plural: str, name: str) -> Refused:
    """Somebody else was faster."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(group, plural, name, why)


def forbidden(group: str, plural: str, name: str, why: str, causes: Sequence[Cause] = ()) -> Refused:
    """The request is understood and not allowed."""
    found = details(group, plural, name)
    if causes:
        found["causes"] = [cause.to_json() for cause in causes]
    what = f"{qualified(plural, group)} {quoted(name)}" if name else qualified(plural, group)
    message = f"{what} is forbidden: {why}"
    return Refused(403, "Forbidden", message, details=found)


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> Refused:
    """The object, or the options of a request, are not what they must be."""
    told = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    why = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    group = INSIDE.get(group, group)
    found = details(group, kind, name)
    found["causes"] = [cause.to_json() for cause in causes]
    return Refused(
        422, "Invalid", f"{qualified(kind, group)} {quoted(name)} is invalid: {why}", details=found
    )


def invalid_options(kind: str, *causes: Cause) -> Refused:
    """The options of a request make no sense."""
    return invalid(OPTIONS_GROUP, kind, "", causes)


def expired(message: str) -> Refused:
    """History that is gone."""
    return Refused(410, "Expired", message)


class TooLarge(Refused):
    """A version that is not there yet."""

    def __init__(self, asked: int, current: int) -> None:
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        message = f"Timeout: Too large resource version: {asked}, current: {current}"
        super().__init__(504, "Timeout", message, details={"causes": [cause], "retryAfterSeconds": 1})
        self.asked = asked


def too_large(limit: int) -> Refused:
    """A body above what the server takes."""
    message = f"Request entity too large: limit is {limit}"
    return Refused(413, "RequestEntityTooLarge", message)


def unsupported_media(*accepted: str) -> Refused:
    """A body in a format that is not spoken here."""
    told = f"accepted media types include: {', '.join(accepted)}"
    message = f"the body of the request was in an unknown format - {told}"
    return Refused(415, "UnsupportedMediaType", message)


def bad_namespace() -> Refused:
    """The body and the address disagree about the namespace."""
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"
    )


def qualified(what: str, group: str) -> str:
    """`deployments.apps`, or `pods` for the core group."""
    return f"{what}.{group}" if group else what


def details(group: str, kind: str, name: str) -> dict[str, Any]:
    """What a Status says about the object; empty parts are left out."""
    parts = {"name": name, "group": group, "kind": kind}
    return {part: text for part, text in parts.items() if text}
