"""ControllerRevisions: the templates that StatefulSets and DaemonSets had and have. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from trimtab.apiserver.behaviours.changes import NOTHING, Change, Create, Decision, Delete, Update
from trimtab.apiserver.behaviours.hashes import template_hash
from trimtab.apiserver.behaviours.kinds import CONTROLLER_REVISION, POD
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    annotations_of,
    controller_reference,
    is_controlled_by,
    is_going,
    name_of,
    namespace_of,
    status_of,
    uid_of,
    with_status,
)
from trimtab.apiserver.behaviours.ownership import claims
from trimtab.apiserver.behaviours.readiness import next_available
from trimtab.apiserver.behaviours.world import World


class Revised(Struct, frozen=True, kw_only=True):
    """A controller that keeps its revisions, with its pods."""

    owner: Manifest
    pods: tuple[Manifest, ...]
    history: History


def revised(world: World, kind: str, name: Name, *, hash_label: str) -> Revised | Decision:
    """A controller with its pods and revisions, or what has to be written before anybody may look at it."""
    owner = world.get(kind, *name)
    if owner is None:
        return NOTHING
    claimed = claims(world, owner, POD)
    if claimed.changes:
        return Decision(changes=claimed.changes)
    history = history_of(world, owner, hash_label=hash_label)
    if history.change is not None and not is_going(owner):
        return Decision(changes=(history.change,))
    return Revised(owner=owner, pods=claimed.owned, history=history)


def concluded(
    found: Revised,
    moves: Sequence[Change],
    status: Mapping[str, Any],
    *,
    used: Collection[str],
    min_ready: int,
    now: datetime,
    retry: datetime | None,
) -> Decision:
    """What is to be done about a controller: its moves, its status, and no revisions that nobody uses."""
    owner, changes = found.owner, list(moves)
    if status != status_of(owner):
        changes.append(Update(body=with_status(owner, status), subresource="status"))
    limit = owner["spec"].get("revisionHistoryLimit", 10)
    changes += forgotten(found.history.all, {*used, name_of(found.history.update)}, limit)
    times = [each for each in (next_available(found.pods, min_ready, now), retry) if each is not None]
    return Decision(changes=tuple(changes), again=min(times, default=None), on_behalf_of=uid_of(owner))


class History(Struct, frozen=True, kw_only=True):
    """The revisions of one controller by number, the one of its template, and what to write for that."""

    all: tuple[Manifest, ...]
    update: Manifest
    change: Change | None = None


def history_of(world: World, owner: Manifest, *, hash_label: str) -> History:
    """The revisions of a controller; the one of the present template is the newest, or becomes so."""
    found = [each for each in world.owned(owner, CONTROLLER_REVISION) if is_controlled_by(each, owner)]
    found.sort(key=lambda each: (each["revision"], name_of(each)))
    data = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
    newest = found[-1]["revision"] if found else 0
    same = [each for each in found if each.get("data") == data]
    if not same:
        made = _revision(owner, data, newest + 1, hash_label)
        return History(all=tuple(found), update=made, change=Create(made))
    update = same[-1]
    if update["revision"] == newest:
        return History(all=tuple(found), update=update)
    change = Update(body={**update, "revision": newest + 1})
    return History(all=tuple(found), update=update, change=change)


def _revision(owner: Manifest, data: dict[str, Any], number: int, hash_label: str) -> dict[str, Any]:
    hashed = template_hash(owner["spec"]["template"], int(status_of(owner).get("collisionCount", 0)))
    labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
    metadata = {
        "name": f"{name_of(owner)}-{hashed}",
        "namespace": namespace_of(owner),
        "labels": {**labels, hash_label: hashed},
        "annotations": dict(annotations_of(owner)),
        "ownerReferences": [controller_reference(owner)],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {key: value for key, value in metadata.items() if value},
        "data": data,
        "revision": number,
    }


def template_of(revision: Manifest) -> dict[str, Any]:
    """The template that a revision keeps."""
    template = revision["data"]["spec"]["template"]
    return {key: value for key, value in template.items() if key != "$patch"}


def forgotten(revisions: Sequence[Manifest], used: Collection[str], limit: int) -> list[Delete]:
    """Revisions that nobody uses beyond the history that is kept, the oldest first."""
    unused = [each for each in revisions if name_of(each) not in used]
    return [Delete(target=each) for each in unused[: max(0, len(unused) - limit)]]
