"""What pods ask of their nodes: requests added up, and whether a node has room for one more. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from trimtab.apiserver.behaviours.manifests import Manifest, status_of
from trimtab.kube.quantity import parse_quantity

PODS = "pods"
_ALWAYS = "Always"


@lru_cache(maxsize=1024)
def _nanos(text: str | float) -> int:
    return parse_quantity(text).nanos


ONE = _nanos(1)


def _amounts(resources: Mapping[str, Any] | None) -> Counter[str]:
    return Counter({name: _nanos(amount) for name, amount in (resources or {}).items()})


def _requests(containers: Iterable[Mapping[str, Any]]) -> Iterator[Counter[str]]:
    for each in containers:
        yield _amounts((each.get("resources") or {}).get("requests"))


def requested(pod: Manifest) -> Counter[str]:
    """What the pod asks for: its containers together, or as much as its hungriest init container needs."""
    spec = pod["spec"]
    total: Counter[str] = Counter()
    for each in _requests(spec["containers"]):
        total.update(each)
    first, beside = Counter[str](), Counter[str]()
    inits = spec.get("initContainers") or ()
    for container, each in zip(inits, _requests(inits), strict=True):
        if container.get("restartPolicy") == _ALWAYS:
            beside.update(each)
            first |= beside
        else:
            first |= beside + each
    total.update(beside)
    total |= first
    total.update(_amounts(spec.get("overhead")))
    total[PODS] = ONE
    return total


def room(node: Manifest) -> Counter[str]:
    """What the node can give to pods."""
    status = status_of(node)
    return _amounts(status.get("allocatable") or status.get("capacity"))


def shortages(asked: Mapping[str, int], used: Mapping[str, int], has: Mapping[str, int]) -> Iterator[str]:
    """What the node has too little of, once this much is used."""
    for name, amount in asked.items():
        if amount and amount > has.get(name, 0) - used.get(name, 0):
            yield name


def has_room(asked: Mapping[str, int], has: Mapping[str, int]) -> bool:
    """Whether the node would do if it were empty."""
    return all(amount <= has.get(name, 0) for name, amount in asked.items())
