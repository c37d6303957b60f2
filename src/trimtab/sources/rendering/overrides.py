"""What a spec changes about a kustomization: the same edits that `kustomize edit` would make. Pure.

The edited text goes into the private copy; the tenant's file is never written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from trimtab.errors import InvalidSpec
from trimtab.sources.rendering.specs import Kustomize, Patch

Kustomization = dict[str, Any]

_IMAGE_TAG: Final = re.compile(r"(.*):([a-zA-Z0-9._-]*|\*)", re.DOTALL)
#: says, in place of a new name, tag or digest: the one that is there already
_KEPT: Final = "*"


def edited(kustomization: Kustomization, options: Kustomize, subject: str) -> Kustomization:
    """The kustomization with everything that the options ask for; the one given stays as it is."""
    names = {
        "namePrefix": options.name_prefix,
        "nameSuffix": options.name_suffix,
        "namespace": options.namespace,
    }
    result = {**kustomization, **{field: text for field, text in names.items() if text}}
    if options.images:
        result["images"] = _images(_list(result, "images", subject), options.images, subject)
    if options.replicas:
        result["replicas"] = _replicas(_list(result, "replicas", subject), options)
    if options.common_labels:
        result = _with_labels(result, options, subject)
    if options.common_annotations:
        result["commonAnnotations"] = _added(
            result.get("commonAnnotations"),
            options.common_annotations,
            field="commonAnnotations",
            force=options.force_common_annotations,
            subject=subject,
        )
    if options.patches:
        result["patches"] = [*_list(result, "patches", subject), *map(_patch, options.patches)]
    return result


def with_components(kustomization: Kustomization, components: Iterable[str], subject: str) -> Kustomization:
    """The kustomization with more components, each once."""
    present = _list(kustomization, "components", subject)
    added = [each for each in dict.fromkeys(components) if each not in present]
    return {**kustomization, "components": [*present, *added]} if added else kustomization


def _images(present: list[Any], wanted: Iterable[str], subject: str) -> list[dict[str, str]]:
    """Those that are asked for, and those of the file with other names, by name."""
    merged = {image["name"]: image for image in (_image(text, subject) for text in wanted)}
    for image in present:
        if not isinstance(image, dict) or not isinstance(image.get("name"), str):
            raise InvalidSpec(subject, "an entry of images has no name", "Give it one")
        asked = merged.get(image["name"])
        merged[image["name"]] = image if asked is None else _kept(asked, image)
    cleaned = ({key: text for key, text in image.items() if text != _KEPT} for image in merged.values())
    return sorted(cleaned, key=lambda image: image["name"])


def _kept(asked: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str]:
    """What is asked for, where an asterisk stands for what is there."""
    result = {key: text for key, text in asked.items() if text != _KEPT}
    for key in ("newName", "newTag", "digest"):
        if asked.get(key) == _KEPT and key in present:
            result[key] = present[key]
    return result


def _image(text: str, subject: str) -> dict[str, str]:
    """One image override: `old=new:tag`, `old=new@digest`, `old=new`, `name:tag` or `name@digest`."""
    name, replaced, rest = text.partition("=")
    new, tag, digest = _parts(rest if replaced else text)
    if not (name and new) or (not replaced and not (tag or digest)):
        reason = f"the image {text[:200]!r} is none of old=new:tag, old=new@digest, name:tag and name@digest"
        raise InvalidSpec(subject, reason, "Mend it")
    fields = {"newName": new if replaced else "", "newTag": tag, "digest": digest}
    return {"name": name if replaced else new, **{key: each for key, each in fields.items() if each}}


def _parts(text: str) -> tuple[str, str, str]:
    """Name, tag and digest of an image."""
    name, found, digest = text.partition("@")
    if found:
        return name, "", digest.partition("@")[0]
    tagged = _IMAGE_TAG.fullmatch(text)
    return (tagged[1], tagged[2], "") if tagged else (text, "", "")


def _replicas(present: list[Any], options: Kustomize) -> list[dict[str, Any]]:
    merged = {each.get("name"): each for each in present if isinstance(each, dict)}
    merged |= {each.name: {"name": each.name, "count": each.count} for each in options.replicas}
    return sorted(merged.values(), key=lambda each: str(each.get("name")))


def _with_labels(kustomization: Kustomization, options: Kustomize, subject: str) -> Kustomization:
    """Labels either everywhere, selectors included, or only where they change no selector."""
    if options.label_include_templates and not options.label_without_selector:
        reason = "labels can be kept to templates only if they are kept from selectors"
        raise InvalidSpec(subject, reason, "Set labelWithoutSelector, too")
    add: Callable[[Any, str], dict[str, str]] = lambda present, field: _added(  # noqa: E731 - three fixed arguments
        present, options.common_labels, field=field, force=options.force_common_labels, subject=subject
    )
    if not options.label_without_selector:
        return {**kustomization, "commonLabels": add(kustomization.get("commonLabels"), "commonLabels")}
    labels = _list(kustomization, "labels", subject)
    for place, entry in enumerate(labels):
        if _takes(entry, templates=options.label_include_templates):
            changed = {**entry, "pairs": add(entry.get("pairs"), "labels")}
            return {**kustomization, "labels": [*labels[:place], changed, *labels[place + 1 :]]}
    fresh: dict[str, Any] = {"pairs": add(None, "labels")}
    if options.label_include_templates:
        fresh["includeTemplates"] = True
    return {**kustomization, "labels": [*labels, fresh]}


def _takes(entry: Any, *, templates: bool) -> bool:
    """Whether an entry of `labels` is of the kind that is asked for."""
    return (
        isinstance(entry, dict)
        and not entry.get("includeSelectors")
        and bool(entry.get("includeTemplates")) is templates
    )


def _added(
    present: Any, wanted: Mapping[str, str], *, field: str, force: bool, subject: str
) -> dict[str, str]:
    result = dict(present) if isinstance(present, dict) else {}
    taken = sorted(result.keys() & wanted.keys())
    if taken and not force:
        reason = f"{field} of the kustomization already sets {taken[0]!r}"
        raise InvalidSpec(subject, reason, "Leave it to the file, or force it")
    return {**result, **wanted}


def _patch(patch: Patch) -> dict[str, Any]:
    fields = {
        "patch": patch.patch,
        "path": patch.path,
        "target": dict(patch.target),
        "options": dict(patch.options),
    }
    return {key: value for key, value in fields.items() if value}


def _list(kustomization: Kustomization, field: str, subject: str) -> list[Any]:
    value = kustomization.get(field)
    if value is not None and not isinstance(value, list):
        raise InvalidSpec(
            subject, f"{field} of the kustomization is not a list", "Write it as `- item` lines"
        )
    return value or []
