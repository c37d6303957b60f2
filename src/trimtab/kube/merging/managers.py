"""Who owns which fields of an object: `metadata.managedFields`, read and written as the API server does.

Pure values. Who gains and who loses fields by a request is decided in `apply`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.kube import gotext
from trimtab.kube.merging.fields import EMPTY, BadFields, FieldSet
from trimtab.shapes import Shape

APPLY, UPDATE = "Apply", "Update"
MOST_UPDATERS = 10
ANCIENT = "ancient-changes"
LONGEST_NAME = 128


class BadManagedFields(ValueError):
    """A `managedFields` list that cannot be read."""


class Entry(Struct, frozen=True, kw_only=True):
    """One owner and what it owns; `time` is empty where none was recorded."""

    manager: str
    operation: str
    api_version: str
    fields: FieldSet = EMPTY
    time: str = ""
    subresource: str = ""

    @property
    def identity(self) -> str:
        """What tells owners apart; someone who applies stays the same in every API version."""
        version = "" if self.operation == APPLY else self.api_version
        parts = {"manager": self.manager, "operation": self.operation, "apiVersion": version}
        told = {**parts, "subresource": self.subresource}
        # The API server sorts owners by this text, so the order of its parts matters.
        return "{" + ",".join(f'"{name}":{gotext.to_json(part)}' for name, part in told.items() if part) + "}"

    @property
    def spoken(self) -> str:
        """The owner as conflicts name it."""
        name = gotext.quoted(self.manager)
        if self.subresource:
            name = f"{name} with subresource {gotext.quoted(self.subresource)}"
        return f"{name} using {self.api_version}" if self.operation == UPDATE else name

    def owning(self, fields: FieldSet) -> Entry:
        """The same owner with other fields."""
        return msgspec.structs.replace(self, fields=fields)

    def to_json(self) -> dict[str, Any]:
        """A line of `managedFields`."""
        line = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_json(),
            "subresource": self.subresource,
        }
        return {name: value for name, value in line.items() if value or name == "fieldsV1"}


Owners: TypeAlias = dict[str, Entry]


_WIRE = {"api_version": "apiVersion", "fields_type": "fieldsType", "fields": "fieldsV1"}


class _Line(Struct, frozen=True, rename=_WIRE):
    """A line of `managedFields` as it is sent."""

    manager: str | None = None
    operation: str | None = None
    api_version: str | None = None
    time: str | None = None
    fields_type: str | None = None
    fields: dict[str, Any] | None = None
    subresource: str | None = None


_LINES: Final = Shape(list[_Line])


def owners_of(managed: Any) -> Owners:
    """Read `managedFields`; of two lines about the same owner the later one counts."""
    try:
        lines = _LINES.of(managed or [])
    except msgspec.ValidationError as exc:
        raise BadManagedFields(str(exc)) from exc
    entries = (_entry(number, line) for number, line in enumerate(lines))
    return {entry.identity: entry for entry in entries}


def _entry(number: int, line: _Line) -> Entry:
    if line.operation not in (APPLY, UPDATE):
        raise BadManagedFields("operation must be `Apply` or `Update`")
    if not line.api_version:
        raise BadManagedFields("apiVersion must not be empty")
    if not line.fields_type:
        raise BadManagedFields(f"missing fieldsType in managed fields entry {number}")
    if line.fields_type != "FieldsV1":
        kind = gotext.quoted(line.fields_type)
        raise BadManagedFields(f"invalid fieldsType {kind} in managed fields entry {number}")
    try:
        fields = FieldSet.from_json(line.fields or {})
    except BadFields as exc:
        raise BadManagedFields(f"error decoding set: {exc}") from exc
    return Entry(
        manager=line.manager or "",
        operation=line.operation,
        api_version=line.api_version,
        fields=fields,
        time=_normal_time(line.time),
        subresource=line.subresource or "",
    )


def _normal_time(text: str | None) -> str:
    if not text:
        return ""
    try:
        return written_time(datetime.fromisoformat(text))
    except ValueError as exc:
        raise BadManagedFields(f"not a time: {text}") from exc


def written_time(moment: datetime) -> str:
    """A moment as Kubernetes writes it: UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Texts(Struct, frozen=True, rename=_WIRE):
    """The texts of a line of `managedFields`."""

    manager: str | None = None
    operation: str | None = None
    api_version: str | None = None
    fields_type: str | None = None
    subresource: str | None = None


_TEXTS: Final = Shape(list[_Texts | None])


def are_lines(managed: Any) -> bool:
    """Whether this is a `managedFields` list, as far as it can be told from the types of its texts."""
    try:
        _TEXTS.of(managed)
    except msgspec.ValidationError:
        return False
    return True


def is_reset(managed: Any) -> bool:
    """Whether a `managedFields` list asks to forget all owners: no line at all, or one empty line."""
    return isinstance(managed, list) and managed in ([], [{}])


def written(owners: Owners) -> list[dict[str, Any]]:
    """The owners as `managedFields`, in the API server's order."""
    return lines_of(owners.values())


def lines_of(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Entries as `managedFields`, in the API server's order; two may be about the same owner."""
    return [entry.to_json() for entry in sorted(entries, key=_place)]


def _place(entry: Entry) -> tuple[str, ...]:
    return (entry.operation, entry.time, entry.manager, entry.api_version, entry.subresource)


def capped(owners: Owners) -> Owners:
    """The owners, the oldest updaters joined into one per API version while there are too many."""
    updaters = [entry for entry in owners.values() if entry.operation == UPDATE]
    excess = len(updaters) - MOST_UPDATERS
    result = dict(owners)
    oldest: Owners = {}
    for entry in sorted(updaters, key=lambda entry: (entry.time, entry.identity)):
        if excess <= 0:
            break
        first = oldest.setdefault(entry.api_version, entry)
        if first is not entry:
            _join(result, first, entry)
            excess -= 1
    return result


def _join(owners: Owners, first: Entry, entry: Entry) -> None:
    """Move an entry into the bucket of its version, which starts with the oldest entry of that version."""
    bucket = Entry(manager=ANCIENT, operation=UPDATE, api_version=entry.api_version)
    held = owners[bucket.identity] if bucket.identity in owners else owners.pop(first.identity)
    owners[bucket.identity] = msgspec.structs.replace(
        bucket, fields=entry.fields | held.fields, time=entry.time
    )
    # A bucket that comes late in the order joins itself and is lost: so it is on the API server.
    del owners[entry.identity]


def manager_name(field_manager: str, user_agent: str) -> str:
    """The owner's name: the one given, else the first word of the user agent, else `unknown`."""
    if field_manager:
        return field_manager
    name = ""
    for char in user_agent.partition("/")[0]:
        if char.isprintable():
            if len((name + char).encode()) > LONGEST_NAME:
                break
            name += char
    return name or "unknown"
