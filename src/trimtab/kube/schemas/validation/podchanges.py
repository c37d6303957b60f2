"""What may not be changed in a Pod: almost everything, and what may only grow or shrink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.gotext import quoted
from trimtab.kube.schemas.inner import difference, inner
from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    entries,
    forbidden,
    invalid,
    part,
    required,
)
from trimtab.kube.schemas.validation.containers import ephemeral_containers
from trimtab.kube.schemas.validation.names import in_range
from trimtab.kube.schemas.validation.pods import (
    LARGEST_INT32,
    padded_image,
    surroundings,
    toleration,
    whole_pod,
)
from trimtab.kube.schemas.validation.scheduling import REQUIRED

Json = Mapping[str, Any]
POD_CHANGES = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
DEADLINE = "spec.activeDeadlineSeconds"


def pod_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a Pod."""
    spec, before = part(new, "spec"), part(old, "spec")
    yield from whole_pod(new)
    for group in ("containers", "initContainers"):
        if len(spec.get(group) or ()) != len(before.get(group) or ()):
            yield forbidden(f"spec.{group}", "pod updates may not add or remove containers")
            return
        for number, each in entries(spec.get(group)):  # once more: the server looks twice
            if not each.get("image"):
                yield required(f"spec.{group}[{number}].image")
            yield from padded_image(each, f"spec.{group}[{number}]")
    ended = list(_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")))
    yield from ended
    if ended and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from _added_tolerations(spec.get("tolerations") or [], before.get("tolerations") or [])
    yield from _deleted_gates(spec.get("schedulingGates"), before.get("schedulingGates"))
    fixed = _fixed_pod(spec, before)
    if before.get("schedulingGates"):
        yield from _added_selectors(fixed.get("nodeSelector"), before.get("nodeSelector") or {})
        yield from _narrower_terms(_terms(spec), _terms(before))
        fixed = {
            **fixed,
            "nodeSelector": before.get("nodeSelector"),
            "affinity": _fixed_affinity(spec, before),
        }
    if _plain(fixed) != _plain(before):
        yield forbidden("spec", f"{POD_CHANGES}\n{difference(before, fixed, 'PodSpec')}")


def _plain(spec: Json) -> dict[str, Any]:
    """A pod's spec as it is compared: empty lists, and the one map of texts, are nothing."""
    return {
        name: value
        for name, value in spec.items()
        if value is not None and value != [] and (value or name != "nodeSelector")
    }


def _deadline(wanted: int | None, before: int | None) -> Causes:
    """A Pod may be given less time, never more."""
    if wanted is None:
        if before is not None:
            yield invalid(DEADLINE, None, "must not update from a positive integer to nil value")
        return
    wrong = in_range(wanted, 0, LARGEST_INT32)
    yield from each_invalid(DEADLINE, wanted, wrong)
    if not wrong and before is not None and before < wanted:
        yield invalid(DEADLINE, wanted, "must be less than or equal to previous value")


def _added_tolerations(wanted: list[Json], before: list[Json]) -> Causes:
    """Tolerations may be added; those that there are may only last longer or shorter."""
    timeless = [{**each, "tolerationSeconds": None} for each in wanted]
    if any({**each, "tolerationSeconds": None} not in timeless for each in before):
        yield forbidden(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )
        return
    for number, each in enumerate(wanted):
        yield from toleration(each, f"spec.tolerations[{number}]")


def _deleted_gates(wanted: Any, before: Any) -> Causes:
    """Gates may be opened; no other one may be set up."""
    had = {each.get("name") for _, each in entries(before)}
    for number, each in entries(wanted):
        if (name := each.get("name", "")) not in had:
            told = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden(f"spec.schedulingGates[{number}].name", told)


def _added_selectors(wanted: Any, before: Json) -> Causes:
    """Of a Pod that waits at a gate the choice of nodes may become narrower."""
    if any((wanted or {}).get(name) != value for name, value in before.items()):
        told = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", wanted, told)


def _terms(spec: Json) -> list[Json]:
    """The ways to choose nodes of which one is required."""
    nodes = part(part(spec, "affinity"), "nodeAffinity")
    return part(nodes, REQUIRED).get("nodeSelectorTerms") or []


def _narrower_terms(wanted: list[Json], before: list[Json]) -> Causes:
    """Where nodes were required, each of the terms may ask for more, and none may come or go."""
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    if before and len(wanted) != len(before):
        told = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(path, [inner(each, "NodeSelectorTerm") for each in wanted] or None, told)
        return
    for number, (new, old) in enumerate(zip(wanted, before, strict=False)):
        if not _only_added(new, old):
            told = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{path}[{number}]", inner(new, "NodeSelectorTerm"), told)


def _only_added(new: Json, old: Json) -> bool:
    kinds = ("matchExpressions", "matchFields")
    if not any(old.get(kind) for kind in kinds):
        return not any(new.get(kind) for kind in kinds)
    return all((new.get(kind) or [])[: len(had := old.get(kind) or [])] == had for kind in kinds)


def _fixed_affinity(spec: Json, before: Json) -> Any:
    """The affinity of a Pod that waits at a gate, with the choice of nodes that it had, judged elsewhere."""
    wanted, had = spec.get("affinity"), before.get("affinity")
    nodes = part(before, "affinity").get("nodeAffinity")
    chosen = part(spec, "affinity").get("nodeAffinity")
    if (chosen is None) == (nodes is None) and _plain(chosen or {}) == _plain(nodes or {}):
        return wanted
    others = {name: value for name, value in (wanted or {}).items() if name != "nodeAffinity"}
    if had is None and not others:
        return None
    return {**others, "nodeAffinity": nodes} if nodes is not None else others


def _fixed_pod(spec: Json, before: Json) -> dict[str, Any]:
    """A pod's spec with what may change as it was before."""
    free = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
    fixed = {**spec, **{name: before.get(name) for name in free}}
    for group in ("containers", "initContainers"):
        if spec.get(group):
            images = [each.get("image", "") for each in before[group]]
            fixed[group] = [{**each, "image": image} for each, image in zip(spec[group], images, strict=True)]
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and spec.get(grace) == 1:
        fixed[grace] = before[grace]
    return fixed


def pod_ephemeral_update(new: Json, old: Json) -> Causes:
    """What is wrong with containers that are added to a running Pod: those that it has stay as they are."""
    spec, path = part(new, "spec"), "spec.ephemeralContainers"
    added = spec.get("ephemeralContainers") or []
    others = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    volumes = frozenset(each.get("name", "") for _, each in entries(spec.get("volumes")))
    yield from ephemeral_containers(added, others, surroundings(spec, volumes), path)
    by_name = {each.get("name", ""): each for each in added}
    for before in part(old, "spec").get("ephemeralContainers") or ():
        named = quoted(before["name"])
        after = by_name.get(before["name"])
        if after is None:
            yield forbidden(path, f"existing ephemeral containers {named} may not be removed\n")
        elif after != before:
            shown = difference(before, after, "EphemeralContainer")
            yield forbidden(path, f"existing ephemeral containers {named} may not be changed\n{shown}")
