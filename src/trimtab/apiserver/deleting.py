"""What a deletion does to an object: it goes at once, or waits for finalizers or for its grace. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeAlias

from msgspec import Struct

from trimtab.apiserver.definitions import GROUP, KIND, ending
from trimtab.apiserver.refusing import conflict
from trimtab.apiserver.requests import Address, DeleteOptions
from trimtab.apiserver.strategies import strategy_of
from trimtab.kube import trees
from trimtab.kube.times import seconds_text

Json = dict[str, Any]
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


class Removed(Struct, frozen=True):
    """The object is gone; this is how it was last."""

    object: Json


class Ended(Struct, frozen=True):
    """The object is marked as ending now, and then gone."""

    object: Json


class Marked(Struct, frozen=True):
    """The object stays until nothing keeps it any more."""

    object: Json


class Untouched(Struct, frozen=True):
    """It is being deleted already, and nothing changes."""

    object: Json


Deleted: TypeAlias = Removed | Ended | Marked | Untouched


def deleted(live: Json, address: Address, options: DeleteOptions, now: datetime) -> Deleted:
    """What this deletion makes of the live object."""
    check_conditions(live, address, options)
    special = SPECIAL.get((address.served.group, address.served.kind))
    if special is not None and "deletionTimestamp" not in live["metadata"]:
        return Marked(special(live, now))
    metadata = live["metadata"]
    finalizers = _finalizers(metadata.get("finalizers") or [], address, options)
    grace = _grace(live, address, options)
    if _is_full_namespace(live):
        return Untouched(live)
    if not finalizers and not grace and not _is_pod(address):
        return Removed(live)
    marked = _marked(metadata, grace, now)
    if not finalizers and not grace:
        return Ended({**live, "metadata": _counted(marked, metadata)})
    if finalizers != (metadata.get("finalizers") or []):
        marked["finalizers"] = finalizers
        if not finalizers:
            del marked["finalizers"]
    if trees.equal(marked, metadata):
        return Untouched(live)
    return Marked({**live, "metadata": _counted(marked, metadata)})


def _counted(marked: Json, before: Json) -> Json:
    """Objects that count their generations count the beginning of their end."""
    if "generation" in before and "deletionTimestamp" not in before:
        return {**marked, "generation": before["generation"] + 1}
    return marked


def _duration(seconds: int) -> timedelta:
    """As Go counts: in nanoseconds, of which the lowest 64 bits are kept."""
    nanoseconds = (seconds * 10**9 + (1 << 63)) % (1 << 64) - (1 << 63)
    return timedelta(microseconds=nanoseconds // 1000)


def _marked(metadata: Json, grace: int, now: datetime) -> Json:
    ends = seconds_text(now + _duration(grace))
    if "deletionTimestamp" not in metadata:
        return {**metadata, "deletionTimestamp": ends, "deletionGracePeriodSeconds": grace}
    if grace < metadata.get("deletionGracePeriodSeconds", 0):
        return {**metadata, "deletionTimestamp": ends, "deletionGracePeriodSeconds": grace}
    return dict(metadata)


def _finalizers(current: list[str], address: Address, options: DeleteOptions) -> list[str]:
    """The finalizers after the wish for what the object owns is noted among them."""
    wish = _wish(current, address, options)
    others = [each for each in current if each not in (ORPHAN, FOREGROUND)]
    if [each for each in current if each in (ORPHAN, FOREGROUND)] == ([wish] if wish else []):
        return current
    return [*others, wish] if wish else others


def _wish(current: list[str], address: Address, options: DeleteOptions) -> str:
    if options.orphan is not None:
        return ORPHAN if options.orphan else ""
    if options.policy:
        return {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.policy, "")
    for each in current:
        if each in (ORPHAN, FOREGROUND):
            return each
    return ORPHAN if strategy_of(address.served).orphans else ""


def _grace(live: Json, address: Address, options: DeleteOptions) -> int:
    """The seconds that a pod has to end; only pods on a node get any."""
    if not _is_pod(address):
        return 0
    spec = live["spec"]
    if not spec.get("nodeName") or live.get("status", {}).get("phase") in ("Failed", "Succeeded"):
        return 0
    running = live["metadata"].get("deletionGracePeriodSeconds")
    wanted = options.grace
    if wanted is None:
        wanted = running if running is not None else spec.get("terminationGracePeriodSeconds", 30)
    return max(int(wanted), 0) if wanted >= 0 else 1


def _is_pod(address: Address) -> bool:
    return (address.served.group, address.served.kind) == ("", "Pod")


def check_conditions(live: Json, address: Address, options: DeleteOptions) -> None:
    """Refuse a deletion that means another object, or another version of it."""
    served, metadata = address.served, live["metadata"]
    if options.uid is not None and options.uid != metadata["uid"]:
        told = f"the UID in the precondition ({options.uid}) does not match the UID in record"
        why = f"{told} ({metadata['uid']}). The object might have been deleted and then recreated"
        raise conflict(served.group, served.kind, address.name, why)
    if options.version is not None and options.version != metadata["resourceVersion"]:
        told = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion"
        )
        why = f"{told} in record ({metadata['resourceVersion']}). The object might have been modified"
        raise conflict(served.group, served.kind, address.name, why)


def may_go(manifest: Json) -> bool:
    """Whether nothing keeps an object that is being deleted."""
    metadata = manifest["metadata"]
    waiting = (
        metadata.get("finalizers")
        or metadata.get("deletionGracePeriodSeconds")
        or _is_full_namespace(manifest)
    )
    return "deletionTimestamp" in metadata and not waiting


def _is_full_namespace(live: Json) -> bool:
    return live["kind"] == "Namespace" and bool(live["spec"].get("finalizers"))


def _ending_namespace(live: Json, now: datetime) -> Json:
    """A namespace stays until what is in it is gone."""
    metadata = {**live["metadata"], "deletionTimestamp": seconds_text(now)}
    return {**live, "metadata": metadata, "status": {**live.get("status", {}), "phase": "Terminating"}}


#: kinds that stay, marked in their own way, until somebody has cleared away what hangs on them
SPECIAL = {("", "Namespace"): _ending_namespace, (GROUP, KIND): ending}
