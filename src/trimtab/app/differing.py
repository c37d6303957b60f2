"""What differs between what is wanted and what is, object by object and field by field. Pure.

Two ways lead here: rows of the engine, which has asked the server where it could not tell, and manifests from
files, which are compared with what is known of built-in kinds and nobody is asked. Secrets are shown as
stand-ins in both.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from trimtab.app.naming import key_report
from trimtab.app.remedies import refusal_of
from trimtab.engine.compare.ignoring import NOTHING_IGNORED
from trimtab.engine.compare.judging import Lens, local_differences
from trimtab.engine.compare.matching import MERE_WARNINGS, Finding, FindingKind
from trimtab.engine.compare.normalising import with_data_for_string_data
from trimtab.engine.compare.walking import schema_of
from trimtab.engine.rows import Difference, Row, Verdict
from trimtab.engine.sync.hooks import Role, role_of
from trimtab.errors import InvalidSpec, UserError
from trimtab.resources import manifests as reading
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Found, Manifest, api_version, key_of
from trimtab.resources.secrets import StandIns

_MOST_WARNINGS: Final = 5


class NotCompared(UserError):
    """Whether objects differ could not be told."""

    @classmethod
    def of(cls, problems: Sequence[str]) -> NotCompared:
        """The first problem, and how many more there are."""
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return cls("diff", f"{problems[0].rstrip('.')}{more}")


class Change(enum.Enum):
    """What an apply would do to an object."""

    CREATE = "create"
    UPDATE = "update"
    #: it is no longer declared: a sync that prunes deletes it
    PRUNE = "prune"


class ObjectDiff(Struct, frozen=True, kw_only=True):
    """One object that is not as it is wanted."""

    key: ResourceKey
    change: Change
    api_version: str = ""
    fields: tuple[Difference, ...] = ()
    #: the whole object, where there is none yet; without secrets
    desired: Manifest | None = None
    #: what else is to be said: who claims it, why the server would refuse it
    note: str = ""


class Differing(Struct, frozen=True, kw_only=True):
    """Everything that differs, and what could not be compared."""

    objects: tuple[ObjectDiff, ...] = ()
    problems: tuple[str, ...] = ()


def diff_report(found: ObjectDiff) -> dict[str, Any]:
    """One object that differs, for programs."""
    return {
        "object": key_report(found.key),
        "apiVersion": found.api_version,
        "change": found.change.value,
        "fields": [
            {
                "path": each.path,
                "live": each.live,
                "desired": each.desired,
                "manager": each.manager,
                "rule": each.rule,
            }
            for each in found.fields
        ],
        "desired": found.desired,
        "note": found.note,
    }


# -- by rows ------------------------------------------------------------------------------------------------


def differing(rows: Iterable[Row], findings: Iterable[Finding], stand_ins: StandIns) -> Differing:
    """What the rows of an app say; of a document that cannot be read nobody knows what it declares."""
    known = tuple(findings)
    problems = [str(each) for each in known if each.kind not in MERE_WARNINGS]
    is_whole, objects = not _unreadable(known), []
    for row in rows:
        if row.problem:
            problems.append(f"{row.key}: {row.problem}")
        elif row.verdict is Verdict.OUT_OF_SYNC and row.taints and (is_whole or row.desired is not None):
            objects.append(_of_row(row, stand_ins))
    return Differing(
        objects=tuple(sorted(objects, key=lambda each: each.key)), problems=tuple(dict.fromkeys(problems))
    )


def warnings_in(findings: Iterable[Finding]) -> tuple[str, ...]:
    """What whoever declares an app should know though nothing is in the way; not more than a few."""
    found = tuple(dict.fromkeys(str(each) for each in findings if each.kind in MERE_WARNINGS))
    left = len(found) - _MOST_WARNINGS
    return (*found[:_MOST_WARNINGS], f"and {left} more") if left > 0 else found


def check_readable(findings: Iterable[Finding]) -> None:
    """Return if it is known of every document what it declares; else an error for who is there to mend it.

    Whoever keeps an app goes on with the others meanwhile, and deletes nothing.
    """
    broken = _unreadable(findings)
    if broken:
        first, others = broken[0], f" (and {len(broken) - 1} more like it)" if len(broken) > 1 else ""
        raise InvalidSpec(first.subject, f"{first.reason}{others}", first.remedy)


def _unreadable(findings: Iterable[Finding]) -> list[Finding]:
    """Documents that may be of any object."""
    return [each for each in findings if each.kind is FindingKind.INVALID and each.key is None]


def _of_row(row: Row, stand_ins: StandIns) -> ObjectDiff:
    if row.desired is None:
        version = row.live.api_version if row.live else ""
        return ObjectDiff(key=row.key, change=Change.PRUNE, api_version=version)
    if row.live is None:
        return _new(row.key, row.desired.manifest, stand_ins)
    claimed = f"it is managed by {row.claimed_by}" if row.claimed_by is not None else ""
    return ObjectDiff(
        key=row.key,
        change=Change.UPDATE,
        api_version=row.desired.api_version,
        fields=row.differences,
        note="; ".join(each for each in (claimed, refusal_of(row)) if each),
    )


def _new(key: ResourceKey, manifest: Manifest, stand_ins: StandIns) -> ObjectDiff:
    return ObjectDiff(
        key=key,
        change=Change.CREATE,
        api_version=str(manifest.get("apiVersion", "")),
        desired=stand_ins.masked(manifest),
    )


# -- by files -----------------------------------------------------------------------------------------------


def differing_files(
    desired: Sequence[Found], live: Sequence[Found], lens: Lens, *, namespace: str = ""
) -> Differing:
    """What applying some manifests would change of others, which a cluster once gave.

    What is live and not wanted is left out, since nobody knows whose it is, and so are hooks, which run
    instead of being kept.
    """
    there = {key_of(each.manifest, each.where): each.manifest for each in live}
    objects = []
    for one in desired:
        if role_of(reading.annotations(one.manifest, one.where)) is not Role.RESOURCE:
            continue
        key = _placed(key_of(one.manifest, one.where), namespace, there, one.where)
        found = there.get(key)
        if found is None:
            objects.append(_new(key, one.manifest, lens.stand_ins))
            continue
        fields = _compared(one.manifest, found, lens)
        if fields:
            version = api_version(one.manifest, one.where)
            objects.append(ObjectDiff(key=key, change=Change.UPDATE, api_version=version, fields=fields))
    return Differing(objects=tuple(objects))


def _compared(desired: Manifest, live: Manifest, lens: Lens) -> tuple[Difference, ...]:
    recorded = live if schema_of(live) is not None or _has_record(live) else _with_record(live)
    views = [lens.view(each, NOTHING_IGNORED) for each in (with_data_for_string_data(desired), recorded)]
    return local_differences(views[0], views[1], NOTHING_IGNORED, lens)


def _placed(
    key: ResourceKey, namespace: str, there: Mapping[ResourceKey, Manifest], where: str
) -> ResourceKey:
    """The key of the live object that is meant, where a manifest leaves the namespace to whoever applies."""
    if key.namespace or key in there:
        return key
    alike = [each for each in there if (each.group, each.kind, each.name) == (key.group, key.kind, key.name)]
    chosen = [each for each in alike if not namespace or each.namespace == namespace]
    if len(chosen) > 1:
        places = ", ".join(sorted(each.namespace for each in chosen))
        raise InvalidSpec(where, f"{key} may be the one in any of {places}", "Say which with -n")
    return chosen[0] if chosen else key


def _metadata(manifest: Manifest) -> dict[str, Any]:
    metadata = manifest.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _has_record(live: Manifest) -> bool:
    return bool(_metadata(live).get("managedFields"))


def _with_record(live: Manifest) -> Manifest:
    """The object with a record by which its maps merge, as a server has it where a definition says nothing.

    kubectl leaves the record out, and without it or a schema nothing tells that a map is more than one value.
    """
    fields = {f"f:{name}": _record(value) for name, value in live.items() if name not in _UNRECORDED}
    line = {
        "manager": "",
        "operation": "Update",
        "apiVersion": live.get("apiVersion"),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**live, "metadata": {**_metadata(live), "managedFields": [line]}}


_UNRECORDED: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


def _record(value: Any) -> dict[str, Any]:
    return {f"f:{name}": _record(each) for name, each in value.items()} if isinstance(value, dict) else {}
