"""Requests as values: what is addressed, and with which options. Pure.

Options are read from query parameters and refused in the server's words. Those who ask in process build the
same values themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, structs
from multidict import MultiMapping

from trimtab.apiserver.catalog import Served
from trimtab.apiserver.refusing import invalid_options
from trimtab.kube.gotext import quoted, to_json
from trimtab.kube.integers import UINT64, is_spelled, whole
from trimtab.kube.refusals import Cause, bad_request

LONGEST_MANAGER = 128
NO_NUMBER, OUT_OF_RANGE = "invalid syntax", "value out of range"
VALIDATIONS = ("Ignore", "Strict", "Warn")
POLICIES = ("Foreground", "Background", "Orphan")
Query = Mapping[str, str]


class Address(Struct, frozen=True, kw_only=True):
    """What a request is about: a collection, an object, or a part of an object."""

    served: Served
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> str:
        """Where the object lies in its collection."""
        return f"{self.namespace}/{self.name}"

    @property
    def prefix(self) -> str:
        """How the keys of the collection begin."""
        return f"{self.namespace}/" if self.namespace else ""


class WriteOptions(Struct, frozen=True, kw_only=True):
    """In whose name, how strictly, and whether for real."""

    manager: str
    dry_run: bool = False
    validation: str = "Warn"
    force: bool = False


class ListOptions(Struct, frozen=True, kw_only=True):
    """Which objects, of which version, and how many at a time."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    continue_token: str = ""
    version: str = ""
    match: str = ""


class WatchOptions(Struct, frozen=True, kw_only=True):
    """Which changes, since when, and for how long."""

    labels: str = ""
    fields: str = ""
    since: str = ""
    match: str = ""
    bookmarks: bool = False
    initial: bool | None = None
    marked: bool = True  # whether a bookmark may tell that what exists has been told
    timeout: float | None = None


class DeleteOptions(Struct, frozen=True, kw_only=True):
    """How to delete, and on which conditions."""

    policy: str = ""
    orphan: bool | None = None
    grace: int | None = None
    uid: str | None = None
    version: str | None = None
    dry_run: bool = False


# -- reading them -----------------------------------------------------------------------------------------


def write_options(kind: str, query: Query, manager: str, *, apply: bool = False) -> WriteOptions:
    """The options of a create, an update or a patch; `kind` names them in refusals."""
    causes = [
        *_dry_run_causes(_every(query, "dryRun")),
        *_manager_causes(query.get("fieldManager", ""), needed=apply),
        *_validation_causes(query.get("fieldValidation", "")),
    ]
    force = _boolean(query.get("force"))
    if "force" in query and kind == "PatchOptions" and not apply:
        causes.append(
            _cause("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force")
        )
    if causes:
        raise invalid_options(kind, *causes)
    return WriteOptions(
        manager=manager,
        dry_run="dryRun" in query,
        validation=query.get("fieldValidation") or "Warn",
        force=force,
    )


def _manager_causes(manager: str, *, needed: bool) -> Iterator[Cause]:
    if needed and not manager:
        yield _cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager")
    if len(manager.encode()) > LONGEST_MANAGER:
        told = f"Too long: may not be more than {LONGEST_MANAGER} bytes"
        yield _cause("FieldValueTooLong", told, "fieldManager")
    for place, char in enumerate(manager):
        if not char.isprintable():
            where = f"invalid character U+{ord(char):04X} (at position {place})"
            told = f"Invalid value: {quoted(manager)}: {where}"
            yield _cause("FieldValueInvalid", told, "fieldManager")


def _validation_causes(text: str) -> Iterator[Cause]:
    if text and text not in VALIDATIONS:
        allowed = ", ".join(map(quoted, ("", *VALIDATIONS)))
        told = f"Unsupported value: {quoted(text)}: supported values: {allowed}"
        yield _cause("FieldValueNotSupported", told, "fieldValidation")


def _dry_run_causes(given: list[str]) -> Iterator[Cause]:
    if any(each != "All" for each in given):
        told = f'Unsupported value: {to_json(given)}: supported values: "All"'
        yield _cause("FieldValueNotSupported", told, "dryRun")


def list_options(query: Query) -> ListOptions:
    """The options of a list."""
    _integer(query.get("timeoutSeconds"))  # lists take no time, but what is said must be a number
    options = ListOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        limit=max(_integer(query.get("limit")) or 0, 0),
        continue_token=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
    )
    causes = [*_match_causes(options), *_initial_events_causes(query)]
    if causes:
        raise invalid_options("ListOptions", *causes)
    return options


def _match_causes(options: ListOptions) -> Iterator[Cause]:
    """All that is wrong with how the version of a list is to be matched."""
    field = "resourceVersionMatch"
    if not options.match:
        return
    if not options.version:
        told = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
        yield _cause("FieldValueForbidden", told, field)
    if options.continue_token:
        told = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
        yield _cause("FieldValueForbidden", told, field)
    if options.match not in ("Exact", "NotOlderThan"):
        told = f'Unsupported value: {quoted(options.match)}: supported values: "Exact", "NotOlderThan", ""'
        yield _cause("FieldValueNotSupported", told, field)
    if options.match == "Exact" and options.version == "0":
        told = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        yield _cause("FieldValueForbidden", told, field)


def _initial_events_causes(query: Query) -> Iterator[Cause]:
    if "sendInitialEvents" in query:
        told = "Forbidden: sendInitialEvents is forbidden for list"
        yield _cause("FieldValueForbidden", told, "sendInitialEvents")


def selected_for_deletion(query: Query) -> ListOptions:
    """The options of the list that a deletion of many begins with: read in parts, so at the very version."""
    options = list_options(query)
    exact = options.version not in ("", "0") and not options.match
    return structs.replace(options, match="Exact") if exact else options


def asks_to_watch(query: Query) -> bool:
    """Whether a query turns a list into a watch."""
    return query.get("watch", "false").lower() not in ("false", "0")


def watch_options(query: Query) -> WatchOptions:
    """The options of a watch; those of one that the path alone asks for are judged like a list's."""
    if not asks_to_watch(query):
        list_options(query)
        query = {name: value for name, value in query.items() if name != "resourceVersionMatch"}
    given = query.get("sendInitialEvents")
    timeout = _integer(query.get("timeoutSeconds"))
    options = WatchOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        since=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        bookmarks=_boolean(query.get("allowWatchBookmarks")),
        initial=None if given is None else _boolean(given),
        marked=asks_to_watch(query),
        timeout=float(timeout) if timeout else None,
    )
    causes = [*_initial_causes(options), *_continue_causes(query)]
    if causes:
        raise invalid_options("ListOptions", *causes)
    return options


def _initial_causes(options: WatchOptions) -> Iterator[Cause]:
    field = "resourceVersionMatch"
    if options.initial is None and options.match:
        told = "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        yield _cause("FieldValueForbidden", told, field)
    elif options.initial is not None and options.match != "NotOlderThan":
        told = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        yield _cause("FieldValueForbidden", told, field)
    if options.match not in ("", "NotOlderThan"):
        told = f'Unsupported value: {quoted(options.match)}: supported values: "NotOlderThan"'
        yield _cause("FieldValueNotSupported", told, field)


def _continue_causes(query: Query) -> Iterator[Cause]:
    """The server blames the match, given or not, where a watch is to be continued like a list."""
    if query.get("continue"):
        told = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
        yield _cause("FieldValueForbidden", told, "resourceVersionMatch")


def delete_options(query: Query, body: Mapping[str, Any] | None) -> DeleteOptions:
    """The options of a deletion: those of the body, or else those of the query."""
    given = dict(body) if body else _from_query(query)
    policy, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    causes = []
    if orphan is not None and policy is not None:
        told = f"Invalid value: {quoted(policy)}: orphanDependents and deletionPropagation cannot be both set"
        causes.append(_cause("FieldValueInvalid", told, "propagationPolicy"))
    elif policy is not None and policy not in POLICIES:
        allowed = ", ".join(map(quoted, (*POLICIES, "nil")))
        told = f"Unsupported value: {quoted(policy)}: supported values: {allowed}"
        causes.append(_cause("FieldValueNotSupported", told, "propagationPolicy"))
    causes += _dry_run_causes(given.get("dryRun") or [])
    if causes:
        raise invalid_options("DeleteOptions", *causes)
    preconditions = given.get("preconditions") or {}
    return DeleteOptions(
        policy=policy or "",
        orphan=orphan,
        grace=given.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
        dry_run=bool(given.get("dryRun")),
    )


def _from_query(query: Query) -> dict[str, Any]:
    found: dict[str, Any] = {"dryRun": _every(query, "dryRun")}
    named = {name: query[name] for name in ("uid", "resourceVersion") if query.get(name)}
    if named:
        found["preconditions"] = named
    if "propagationPolicy" in query:
        found["propagationPolicy"] = query["propagationPolicy"]
    if "gracePeriodSeconds" in query:
        found["gracePeriodSeconds"] = _integer(query["gracePeriodSeconds"])
    if "orphanDependents" in query:
        found["orphanDependents"] = _boolean(query["orphanDependents"])
    return found


def _every(query: Query, name: str) -> list[str]:
    """Each value that a query gives for an option."""
    if isinstance(query, MultiMapping):
        return query.getall(name, [])
    return [query[name]] if name in query else []


def _boolean(text: str | None) -> bool:
    """How the server reads a flag: whatever is not plainly false is true."""
    return text is not None and text.lower() not in ("false", "0")


def _integer(text: str | None) -> int | None:
    if text is None:
        return None
    number = whole(text)
    if number is None:
        why = OUT_OF_RANGE if is_spelled(text) else NO_NUMBER
        raise bad_request(unreadable_number("ParseInt", text, why))
    return number


def unreadable_number(function: str, text: str, why: str = NO_NUMBER) -> str:
    """What Go says of a text that it cannot read as a number."""
    return f"strconv.{function}: parsing {quoted(text)}: {why}"


def unreadable_version(text: str) -> str:
    """What is wrong with a resource version, if anything."""
    if not is_spelled(text, UINT64):
        return unreadable_number("ParseUint", text)
    return unreadable_number("ParseUint", text, OUT_OF_RANGE) if whole(text, UINT64) is None else ""


def _cause(reason: str, message: str, field: str) -> Cause:
    return Cause(reason=reason, message=message, field=field)
