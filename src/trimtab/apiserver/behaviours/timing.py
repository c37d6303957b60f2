"""How long things take in the embedded cluster, and how pods are asked to fail. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

SIMULATE = "trimtab.dev/simulate"


class Simulation(enum.Enum):
    """What the annotation `trimtab.dev/simulate` on a pod template asks for."""

    NOTHING = ""
    IMAGE_PULL_ERROR = "image-pull-error"
    CRASH_LOOP = "crash-loop"
    NEVER_READY = "never-ready"
    SLOW = "slow"
    FAIL = "fail"


class Timing(Struct, frozen=True, kw_only=True):
    """How long each step of a pod's life takes; everything else follows at once."""

    #: from being put on a node until the containers run
    start: timedelta = timedelta(seconds=1)
    #: from running until ready
    ready: timedelta = timedelta(seconds=1)
    #: from running until done, where the pod is meant to end (or to crash)
    run: timedelta = timedelta(seconds=2)
    #: from the wish to delete a pod until it is gone, at most its own grace period
    stop: timedelta = timedelta(0)
    #: from the last word to a going namespace's pods until the rest of it goes: controllers see the pods go
    drain: timedelta = timedelta(seconds=2)
    #: how much longer a slow pod takes to start and to be ready
    slow_factor: float = 10.0
    #: first wait before an image is pulled again or a crashed container is restarted; doubled each time
    backoff: timedelta = timedelta(seconds=10)
    #: the longest of those waits
    backoff_cap: timedelta = timedelta(minutes=5)
    #: first wait before a failed pod of a Job is replaced; doubled each time
    job_backoff: timedelta = timedelta(seconds=10)
    #: the longest of those waits
    job_backoff_cap: timedelta = timedelta(minutes=10)


#: where somebody watches: long enough to be seen, short enough not to bore
BRISK = Timing(start=timedelta(seconds=0.4), ready=timedelta(seconds=0.4), run=timedelta(seconds=0.8))
AT_ONCE = Timing(start=timedelta(0), ready=timedelta(0), run=timedelta(0))


def simulation_from(text: str | None) -> Simulation:
    """What the text asks for; what nobody knows asks for nothing."""
    try:
        return Simulation(text or "")
    except ValueError:
        return Simulation.NOTHING


def simulation_warnings(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """What is said of asking for trouble in a way that brings none."""
    spec = _below(manifest, "spec")
    template = _below(_below(spec, "jobTemplate"), "spec") if "jobTemplate" in spec else spec
    pod = manifest if manifest.get("kind") == "Pod" else _below(template, "template")
    own, asked = _asked(manifest), _asked(pod)
    known = ", ".join(each.value for each in Simulation if each.value)
    if asked is not None and asked not in {each.value for each in Simulation}:
        return (f"{SIMULATE}: {asked!r} is not known and changes nothing; known are {known}",)
    if own is not None and asked is None and pod:
        return (f"{SIMULATE}: it changes nothing here; put it on the pod template",)
    return ()


def _asked(manifest: Mapping[str, Any]) -> Any:
    return _below(_below(manifest, "metadata"), "annotations").get(SIMULATE)


def _below(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def doubled(first: timedelta, cap: timedelta, times: int) -> timedelta:
    """The wait after so many failures before this one."""
    return min(cap, first * (1 << min(max(times, 0), 30)))
