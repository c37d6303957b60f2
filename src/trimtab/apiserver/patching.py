"""What a patch makes of an object: JSON, merge and strategic merge patches, from bytes to an object. Pure.

Whatever comes of a patch is read like a body, but refused in other words: they show what the patch has made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from trimtab.apiserver.catalog import Served
from trimtab.apiserver.decoding import (
    HEAD,
    Body,
    Known,
    bad_head,
    json_word,
    not_of_the_kind,
    twice_given,
    unreadable_as,
    value_of,
)
from trimtab.apiserver.refusing import invalid, unsupported_media
from trimtab.kube import gotext
from trimtab.kube.gojson import BadJson, BadNumber
from trimtab.kube.merging.patch import json_patch, merge_patch
from trimtab.kube.merging.strategic import strategic_patch
from trimtab.kube.refusals import Cause, Refused, bad_request
from trimtab.kube.schemas.decoding import unconvertible
from trimtab.kube.schemas.order import as_written
from trimtab.kube.schemas.pruning import duplicate_field, pruned, unknown_field

Json = dict[str, Any]
Shown: TypeAlias = Callable[[], str]
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
OPERATION = frozenset({"op", "path", "from", "value"})


def check_media(media: str, served: Served) -> None:
    """Refuse a type of patch that a kind does not know."""
    known = (JSON_PATCH, MERGE_PATCH, *(() if served.custom else (STRATEGIC_PATCH,)), APPLY_PATCH)
    spoken = {each.partition(";")[0].strip() for each in media.split(",")}  # a first look, which is kinder
    if not spoken & {*known} and not served.custom:
        raise Refused(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    if media not in known:
        raise unsupported_media(*known)


def patched(live: Json, body: Body, served: Served, validation: str) -> Known:
    """The object that a patch makes of the live one, and what to warn of."""
    patch = _patch_in(body)
    result = _carried_out(live, patch, body.media, served)

    def shown() -> str:
        if body.media == STRATEGIC_PATCH:
            return gotext.plain(patch)
        whole = _carried_out(as_written(live, served.schema), patch, body.media, served)
        return gotext.to_json(whole, as_is=True)

    if not isinstance(result, dict):
        told = f"json: cannot unmarshal {json_word(result)} into Go value of type {HEAD}"
        raise _bad_patch(shown, f"couldn't get version/kind; json parse error: {told}")
    if body.media == STRATEGIC_PATCH:
        problem = unconvertible(result, served.schema)
        result = {**result, "kind": served.kind, "apiVersion": served.api_version}
    else:
        result = _typed(result, served, validation, shown)
        problem = (unreadable_as(result, served) or "").partition(": ")[2]
    if problem:
        raise _bad_patch(shown, problem)
    return _read(result, patch, body, served, validation, shown)


def _patch_in(body: Body) -> Any:
    try:
        return value_of(body)
    except BadJson as exc:
        told = str(exc)
        if isinstance(exc, BadNumber) and body.media == JSON_PATCH:
            told = told.replace("Go value", "Go struct field jsonPatchOp.value")
        raise bad_request(told if body.media == STRATEGIC_PATCH else f"error decoding patch: {told}") from exc


def _carried_out(live: Json, patch: Any, media: str, served: Served) -> Any:
    match media:
        case "application/json-patch+json":
            return json_patch(live, patch)
        case "application/merge-patch+json":
            return merge_patch(live, patch)
        case _:
            return strategic_patch(live, patch, served.schema)


def _read(result: Json, patch: Any, body: Body, served: Served, validation: str, shown: Shown) -> Known:
    """What a patch has made, with the fields that its kind has."""
    kept = pruned(result, served.schema)
    if validation == "Ignore":
        return Known(kept.manifest)
    unknown = sorted(kept.warnings) if body.media == STRATEGIC_PATCH else kept.warnings
    problems = (*_about_the_patch(patch, body), *unknown)
    if problems and validation == "Strict":
        raise _bad_patch(shown, f"strict decoding error: {', '.join(problems)}")
    return Known(kept.manifest, problems)


def _about_the_patch(patch: Any, body: Body) -> Iterator[str]:
    if body.media != JSON_PATCH:
        yield from map(duplicate_field, twice_given(body))
        return
    yield from (f"json patch {duplicate_field(each)}" for each in twice_given(body))
    for number, operation in enumerate(patch or ()):
        for name in operation or ():
            if name not in OPERATION:
                yield f"json patch {unknown_field(f'[{number}].{name}')}"


# -- what it is -------------------------------------------------------------------------------------------


def _typed(manifest: Json, served: Served, validation: str, shown: Shown) -> Json:
    """The result of a patch as an object of its kind, whether or not it still says so."""
    if told := bad_head(manifest):
        raise _bad_patch(shown, f"couldn't get version/kind; json parse error: {told}")
    kind, version = manifest.get("kind") or "", manifest.get("apiVersion") or ""
    if (kind, version) == (served.kind, served.api_version):
        return manifest
    if version.count("/") > 1:
        raise _bad_patch(shown, f"unexpected GroupVersion string: {version}")
    if served.custom:
        raise _another(manifest, kind, version, served, shown)
    typed = {"kind": served.kind, "apiVersion": served.api_version}
    if not version:  # nothing can be read without it: so it is on the API server
        unread = [unknown_field(name) for name in sorted(manifest) if name not in typed]
        if unread and validation == "Strict":
            raise _bad_patch(shown, f"strict decoding error: {', '.join(unread)}")
        return typed
    if not kind and version == served.api_version:
        return {**manifest, **typed}
    raise _bad_patch(shown, not_of_the_kind(manifest, kind or served.kind, version, served))


def _another(manifest: Json, kind: str, version: str, served: Served, shown: Shown) -> Refused:
    """The refusal of what is no longer the custom resource that it was."""
    if not kind:
        return _bad_patch(shown, f"Object 'Kind' is missing in '{shown()}'")
    if not version:
        told = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
        causes = [{"message": told}]
        return Refused(500, "InternalError", f"Internal error occurred: {told}", details={"causes": causes})
    wanted = {"kind": (kind, served.kind), "apiVersion": (version, served.api_version)}
    causes_ = [
        Cause(
            reason="FieldValueInvalid",
            message=f"Invalid value: {gotext.quoted(said)}: must be {meant}",
            field=name,
        )
        for name, (said, meant) in wanted.items()
        if said != meant
    ]
    metadata = manifest.get("metadata")
    name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
    return invalid(version.rpartition("/")[0], kind, name, causes_)


def _bad_patch(shown: Shown, why: str) -> Refused:
    told = f"Invalid value: {gotext.quoted(shown())}: {why}"
    return invalid("", "", "", [Cause(reason="FieldValueInvalid", message=told, field="patch")])
