"""In which order a plan was carried out, told by the states that its objects have had. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey

BEGUN, DONE = "begun", "well"


def turns(plan: Mapping[str, Any]) -> dict[ResourceKey, str]:
    """The phase and the wave of everything that a plan makes, such as `Sync 1`."""
    return {ResourceKey(**step["object"]): f"{step['phase']} {step['wave']}" for step in plan["steps"]}


def in_order(turn_of: Mapping[ResourceKey, str], states: Iterable[KubeObject]) -> list[str]:
    """When each turn was begun, and when all of it was well, as the sequence that it was.

    A turn is begun with its first object, and well when the last of its objects is for the first time.
    """
    made: dict[ResourceKey, int] = {}
    well: dict[ResourceKey, int] = {}
    for state in sorted(states, key=version_of):
        made.setdefault(state.key, version_of(state))
        if is_well(state.manifest()):
            well.setdefault(state.key, version_of(state))
    marks: list[tuple[int, int, str]] = []
    for turn in dict.fromkeys(turn_of.values()):
        keys = [key for key, its in turn_of.items() if its == turn]
        begun = [made[key] for key in keys if key in made]
        marks += [(min(begun), 0, f"{turn} {BEGUN}")] if begun else []
        marks += [(max(well[key] for key in keys), 1, f"{turn} {DONE}")] if well.keys() >= set(keys) else []
    return [mark for _, _, mark in sorted(marks)]


def is_well(manifest: Mapping[str, Any]) -> bool:
    """Whether a Job is complete, or a Deployment has all of its pods; whatever else is there is well."""
    status: Mapping[str, Any] = manifest.get("status") or {}
    match manifest["kind"]:
        case "Job":
            held = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
            return "Complete" in held
        case "Deployment":
            seen: bool = status.get("observedGeneration", 0) >= manifest["metadata"]["generation"]
            enough: bool = status.get("availableReplicas", 0) >= manifest["spec"]["replicas"]
            return seen and enough
        case _:
            return True


def version_of(state: KubeObject) -> int:
    """When this was so, as the cluster counts."""
    return int(state.metadata.resource_version)
