"""Random strategic merge patches for Deployments, with every directive, and what to compare afterwards."""

from __future__ import annotations

from random import Random
from typing import Any

NAMES = ["a", "b", "c", "d"]


def _picked(random: Random, values: list[Any], chance: float = 0.5) -> list[Any]:
    chosen = [value for value in values if random.random() < chance]
    random.shuffle(chosen)
    return chosen


def _container(random: Random, name: str) -> dict[str, Any]:
    container: dict[str, Any] = {"name": name, "image": random.choice("ijk")}
    if random.random() < 0.5:
        container["env"] = [{"name": each, "value": random.choice("xy")} for each in _picked(random, NAMES)]
    if random.random() < 0.3:
        container["args"] = _picked(random, ["-x", "-y"])
    if random.random() < 0.3:
        container["ports"] = [{"containerPort": each} for each in _picked(random, [80, 81, 82])]
    return container


def _volume(random: Random, name: str) -> dict[str, Any]:
    sources: list[dict[str, Any]] = [{"emptyDir": {}}, {"configMap": {"name": "m"}}]
    source = random.choice(sources)
    return {"name": name, **source}


def live_deployment(random: Random) -> dict[str, Any]:
    """A Deployment to be patched."""
    containers = [_container(random, name) for name in _picked(random, NAMES) or ["a"]]
    pod = {"containers": containers, "volumes": [_volume(random, name) for name in _picked(random, NAMES)]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    finalizers = [f"x.io/{name}" for name in _picked(random, NAMES)]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"labels": {"one": "1", "two": "2"}, "finalizers": finalizers},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


def strategic(random: Random) -> dict[str, Any]:
    """A patch for such a Deployment."""
    pod: dict[str, Any] = {}
    if random.random() < 0.8:
        _listed(random, pod, "containers", [_change(random, name) for name in _picked(random, NAMES)])
    if random.random() < 0.5:
        volumes = [_volume_change(random, name) for name in _picked(random, NAMES)]
        _listed(random, pod, "volumes", volumes)
    metadata: dict[str, Any] = {}
    if random.random() < 0.5:
        _plain_list(random, metadata)
    if random.random() < 0.4:
        metadata["labels"] = random.choice(
            [{"one": None, "two": "3"}, {"$patch": "replace", "x": "y"}, {"$patch": "delete"}, None]
        )
    spec: dict[str, Any] = {"template": {"spec": pod}}
    if random.random() < 0.3:
        spec["strategy"] = {"$retainKeys": ["type"], "type": "Recreate"}
    return {"metadata": metadata, "spec": spec}


def _change(random: Random, name: str) -> dict[str, Any]:
    match random.randrange(5):
        case 0:
            return {"name": name, "$patch": "delete"}
        case 1:
            return {"name": name, "env": [{"name": "a", "$patch": "delete"}, {"name": "d", "value": "new"}]}
        case 2:
            return {"name": name, "image": "z", "args": None}
        case _:
            return _container(random, name)


def _volume_change(random: Random, name: str) -> dict[str, Any]:
    volume = _volume(random, name)
    return {**volume, "$retainKeys": list(volume)} if random.random() < 0.7 else volume


def _listed(random: Random, pod: dict[str, Any], field: str, items: list[dict[str, Any]]) -> None:
    """Put items into a patch, perhaps with an order, perhaps as a replacement."""
    pod[field] = items
    if random.random() < 0.15:
        items.insert(random.randrange(len(items) + 1), {"$patch": "replace"})
    elif random.random() < 0.6:
        kept = [item["name"] for item in items if "$patch" not in item]
        missing = [name for name in _picked(random, NAMES) if name not in kept]
        order = list(kept)
        for name in missing:
            order.insert(random.randrange(len(order) + 1), name)
        pod[f"$setElementOrder/{field}"] = [{"name": name} for name in order]
        if random.random() < 0.2:
            del pod[field]


def _plain_list(random: Random, metadata: dict[str, Any]) -> None:
    added = [f"x.io/{name}" for name in _picked(random, NAMES)]
    gone = [f"x.io/{name}" for name in _picked(random, NAMES) if f"x.io/{name}" not in added]
    metadata["finalizers"] = added
    if random.random() < 0.5:
        metadata["$deleteFromPrimitiveList/finalizers"] = gone
    if random.random() < 0.5:
        metadata["$setElementOrder/finalizers"] = added


def essence(deployment: dict[str, Any]) -> dict[str, Any]:
    """The part of a Deployment that the patches are about, without what a server fills in."""
    pod = deployment["spec"]["template"]["spec"]
    metadata = deployment["metadata"]
    return {
        "containers": [_container_essence(each) for each in pod.get("containers") or ()],
        "volumes": [_volume_essence(each) for each in pod.get("volumes") or ()],
        "labels": metadata.get("labels") or {},
        "finalizers": metadata.get("finalizers") or [],
        "strategy": deployment["spec"].get("strategy", {}).get("type", "RollingUpdate"),
    }


def _container_essence(container: dict[str, Any]) -> dict[str, Any]:
    ports = [each["containerPort"] for each in container.get("ports") or ()]
    rest = {name: container.get(name) or [] for name in ("env", "args")}
    return {"name": container["name"], "image": container.get("image"), "ports": ports, **rest}


def _volume_essence(volume: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in volume.items() if name in ("name", "emptyDir")} | {
        "configMap": (volume.get("configMap") or {}).get("name")
    }
