"""Looking into manifests: pure questions about decoded JSON that may be anything at all.

Every question answers with the expected type or with one InvalidSpec that says where, what and what to do;
metadata may be a text and labels a list, nobody here trips over it. Absent and null are the same, as they
are for Kubernetes. Whether the API server will accept a manifest is not judged here.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.resources.keys import ResourceKey
from trimtab.resources.yaml import Document

Manifest: TypeAlias = dict[str, Any]

ANYWHERE: Final = "the manifest"
#: beyond so many characters nothing is anybody's name
_LONGEST_NAME: Final = 253
_PATH_WORD: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


class Found(Struct, frozen=True, kw_only=True):
    """A manifest and where it stands, for messages."""

    manifest: Manifest
    where: str


class OwnerReference(Struct, frozen=True, kw_only=True):
    """Whom an object belongs to; it is garbage collected after its owners."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


def found_in(documents: Iterable[Document]) -> tuple[Found, ...]:
    """The manifests of some documents, lists taken apart."""
    return tuple(found for one in documents for found in flattened(one.value, one.where))


def flattened(manifest: Any, where: str = ANYWHERE) -> tuple[Found, ...]:
    """The manifest itself, or the items of a list, lists inside lists included; all of them or an error."""
    found, errors = taken_apart(manifest, where)
    if errors:
        raise errors[0]
    return found


def taken_apart(manifest: Any, where: str = ANYWHERE) -> tuple[tuple[Found, ...], tuple[InvalidSpec, ...]]:
    """The same of what can be read, and of every item that cannot be what is wrong with it."""
    found: list[Found] = []
    errors: list[InvalidSpec] = []
    open_ones: list[tuple[Any, str]] = [(manifest, where)]
    while open_ones:
        value, place = open_ones.pop()
        try:
            items = _items(value, place)
        except InvalidSpec as error:
            told = f"{place}{_readable(value)}" if place != where else place
            errors.append(InvalidSpec(told, error.reason, error.remedy))
            continue
        if items is None:
            found.append(Found(manifest=value, where=place))
        else:
            placed = [(item, f"{place}, item {number}") for number, item in enumerate(items, 1)]
            open_ones.extend(reversed(placed))
    return tuple(found), tuple(errors)


def _items(value: Any, where: str) -> list[Any] | None:
    """The items of a list; None for a manifest that is none."""
    checked = _map(value, "a manifest", where)
    if not _is_list(checked, where):
        return None
    return [_kinded(item, checked) for item in _list(checked.get("items"), "items", where)]


def _readable(value: Any) -> str:
    """What can be told of something that cannot be read: its kind and its name, where it has them."""
    try:
        named = name(value)
    except InvalidSpec:
        named = ""
    named = named if len(named) <= _LONGEST_NAME and _PATH_WORD.fullmatch(named) else ""
    try:
        return f" ({kind(value)} {named})" if named else f" ({kind(value)})"
    except InvalidSpec:
        return f" (named {named})" if named else ""


def _is_list(manifest: Manifest, where: str) -> bool:
    named = kind(manifest, where)
    if named == "List" and api_version(manifest, where) == "v1":
        if "items" not in manifest:
            raise InvalidSpec(where, "a List has no items", "Give it `items`, empty if need be")
        return True
    return named.endswith("List") and isinstance(manifest.get("items"), list)


def _kinded(item: Any, parent: Manifest) -> Any:
    """Items of a typed list (PodList) may leave out what the list already says."""
    implied = str(parent["kind"]).removesuffix("List")
    if not implied or not isinstance(item, dict) or item.get("kind"):
        return item
    return {**item, "apiVersion": parent["apiVersion"], "kind": implied}


def key_of(manifest: Any, where: str = ANYWHERE) -> ResourceKey:
    """The name of the object that a manifest describes."""
    checked = _map(manifest, "a manifest", where)
    named = name(checked, where)
    if not named:
        reason = "metadata.name is missing"
        if generate_name(checked, where):
            reason = "metadata.generateName alone does not name an object"
        raise InvalidSpec(where, reason, "Give the manifest a metadata.name")
    space = namespace(checked, where)
    for field, text in (("name", named), ("namespace", space)):
        _check_path_text(text, f"metadata.{field}", where)
    return ResourceKey(group(checked, where), kind(checked, where), space, named)


def _check_path_text(text: str, field: str, where: str) -> None:
    """Names become parts of addresses; what would change the address is no name."""
    if text in {".", ".."} or "/" in text or "%" in text:
        raise InvalidSpec(where, f"{field} is `.` or `..` or contains `/` or `%`", "Choose another name")


def api_version(manifest: Manifest, where: str = ANYWHERE) -> str:
    """Group and version as written, such as `apps/v1`."""
    text = _required_text(manifest, "apiVersion", where)
    words = text.split("/")
    if len(words) > 2 or not all(_PATH_WORD.fullmatch(word) for word in words):
        raise InvalidSpec(where, "apiVersion is not `version` or `group/version`", "Write it like apps/v1")
    return text


def kind(manifest: Manifest, where: str = ANYWHERE) -> str:
    """The kind as written, such as `Deployment`."""
    text = _required_text(manifest, "kind", where)
    if not _PATH_WORD.fullmatch(text):
        raise InvalidSpec(where, "kind is not one word", "Write it like Deployment")
    return text


def group(manifest: Manifest, where: str = ANYWHERE) -> str:
    """The API group; empty for the core group."""
    return api_version(manifest, where).rpartition("/")[0]


def version(manifest: Manifest, where: str = ANYWHERE) -> str:
    """The version inside the API group."""
    return api_version(manifest, where).rpartition("/")[2]


def name(manifest: Manifest, where: str = ANYWHERE) -> str:
    """The object's name; empty when there is none."""
    return _metadata_text(manifest, "name", where)


def generate_name(manifest: Manifest, where: str = ANYWHERE) -> str:
    """The prefix the server is asked to make a name from; empty when there is none."""
    return _metadata_text(manifest, "generateName", where)


def namespace(manifest: Manifest, where: str = ANYWHERE) -> str:
    """The namespace as written; empty when there is none."""
    return _metadata_text(manifest, "namespace", where)


def uid(manifest: Manifest, where: str = ANYWHERE) -> str:
    """The server's identity of this very object; empty before it was created."""
    return _metadata_text(manifest, "uid", where)


def resource_version(manifest: Manifest, where: str = ANYWHERE) -> str:
    """The server's mark of the object's last change; empty before it was created."""
    return _metadata_text(manifest, "resourceVersion", where)


def labels(manifest: Manifest, where: str = ANYWHERE) -> dict[str, str]:
    """The labels; empty when there are none."""
    return _texts(manifest, "labels", where)


def annotations(manifest: Manifest, where: str = ANYWHERE) -> dict[str, str]:
    """The annotations; empty when there are none."""
    return _texts(manifest, "annotations", where)


def owner_references(manifest: Manifest, where: str = ANYWHERE) -> tuple[OwnerReference, ...]:
    """The owners the object names."""
    owners = _list(metadata(manifest, where).get("ownerReferences"), "metadata.ownerReferences", where)
    return tuple(_owner(owner, f"{where}, owner {number}") for number, owner in enumerate(owners, 1))


def _owner(value: Any, where: str) -> OwnerReference:
    owner = _map(value, "an owner reference", where)
    return OwnerReference(
        api_version=_required_text(owner, "apiVersion", where),
        kind=_required_text(owner, "kind", where),
        name=_required_text(owner, "name", where),
        uid=_required_text(owner, "uid", where),
        controller=_flag(owner, "controller", where),
        block_owner_deletion=_flag(owner, "blockOwnerDeletion", where),
    )


def metadata(manifest: Manifest, where: str = ANYWHERE) -> dict[str, Any]:
    """The metadata; empty when there is none."""
    checked = _map(manifest, "a manifest", where)
    return _map_or_nothing(checked.get("metadata"), "metadata", where)


def _metadata_text(manifest: Manifest, field: str, where: str) -> str:
    return _text(metadata(manifest, where).get(field), f"metadata.{field}", where)


def _texts(manifest: Manifest, field: str, where: str) -> dict[str, str]:
    held = _map_or_nothing(metadata(manifest, where).get(field), f"metadata.{field}", where)
    return {key: _text(text, f"metadata.{field}[{key!r}]", where) for key, text in held.items()}


def _required_text(holder: dict[str, Any], field: str, where: str) -> str:
    text = _text(_map(holder, "a manifest", where).get(field), field, where)
    if not text:
        raise InvalidSpec(where, f"{field} is missing", f"Every Kubernetes manifest needs {field}")
    return text


def _text(value: Any, field: str, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidSpec(where, f"{field} is {_type_name(value)}, not text", "Write it as text, in quotes")
    return value


def _flag(holder: dict[str, Any], field: str, where: str) -> bool:
    value = holder.get(field)
    if value is not None and not isinstance(value, bool):
        raise InvalidSpec(where, f"{field} is {_type_name(value)}, not true or false", "Write true or false")
    return bool(value)


def _map_or_nothing(value: Any, field: str, where: str) -> dict[str, Any]:
    return {} if value is None else _map(value, field, where)


def _map(value: Any, field: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidSpec(where, f"{field} is {_type_name(value)}, not a map", "Write `key: value` lines")
    return value


def _list(value: Any, field: str, where: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidSpec(where, f"{field} is {_type_name(value)}, not a list", "Write it as `- item` lines")
    return value


def _type_name(value: Any) -> str:
    return _TYPE_NAMES.get(type(value), f"a {type(value).__name__}")


_TYPE_NAMES: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a map",
}
