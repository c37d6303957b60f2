"""Digests of plans and of what they are made from. Pure.

Two plans with one digest do the same to the same objects in the same state. Words for people (`why`), and
names that depend on when a plan is started, do not count. Digests of Secrets are keyed: without the key
nobody can try likely passwords against them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, assert_never

import msgspec

from trimtab.engine.rows import Desired, Row
from trimtab.engine.sync.steps import Apply, CreateNamespace, Prune, Refuse, Refused, RunHook, Step
from trimtab.resources.digests import DIGEST_LENGTH
from trimtab.resources.keys import ResourceKey
from trimtab.resources.secrets import StandIns

_ENCODER = msgspec.json.Encoder(order="deterministic")


def content_name(key: ResourceKey, digest: bytes, stand_ins: StandIns) -> str:
    """A digest of an object's content as it may be shown; empty for none."""
    if not digest:
        return ""
    return stand_ins.stand_in(digest) if key.kind == "Secret" else digest.hex()


def render_digest(rows: Iterable[Row], hooks: Iterable[Desired], stand_ins: StandIns) -> str:
    """Names all that Git wants of a unit."""
    desired = [*(row.desired for row in rows if row.desired is not None), *hooks]
    named = sorted((each.key, content_name(each.key, each.digest, stand_ins)) for each in desired)
    return _sum(named)


def plan_digest(
    unit: str, revision: str, render: str, steps: Iterable[Step], refused: Iterable[Refused]
) -> str:
    """Names what a plan does, to what, and on which conditions."""
    done = [_what(step) for step in steps]
    return _sum([unit, revision, render, done, [each.key for each in refused]])


def _what(step: Step) -> list[Any]:
    where = [step.key, step.phase, step.wave, step.expected]
    match step:
        case Apply():
            return ["apply", *where, step.api_version, step.content, step.mode, step.force, step.validate]
        case CreateNamespace():
            return ["namespace", *where, step.labels, step.annotations]
        case Prune():
            return ["prune", *where, step.propagation, bool(step.hold), bool(step.skip)]
        case RunHook():
            # Where the name is ours to choose it tells the time, and nothing can stand under it yet.
            key = (
                msgspec.structs.replace(step.key, name=step.generate_name) if step.generate_name else step.key
            )
            did = [step.ran] if step.ran else []
            return ["hook", key, step.phase, step.wave, step.content, step.policies, *did]
        case Refuse():
            return ["refuse", *where]
        case _:
            assert_never(step)


def _sum(value: Any) -> str:
    return hashlib.sha256(_ENCODER.encode(value)).hexdigest()[:DIGEST_LENGTH]
