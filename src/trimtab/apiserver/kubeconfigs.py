"""Our entry in a kubeconfig: added to what is there, and taken out again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
LISTS = ("clusters", "users", "contexts")


def merged(before: Mapping[str, Any], own: Mapping[str, Any]) -> Json:
    """A kubeconfig with our entries in place of older ones of the same name, and ours current."""
    result: Json = {"apiVersion": "v1", "kind": "Config", **before}
    for name in LISTS:
        ours = own[name]
        names = {entry["name"] for entry in ours}
        kept = [entry for entry in before.get(name) or [] if entry.get("name") not in names]
        result[name] = [*kept, *ours]
    return {**result, "current-context": own["current-context"]}


def without(config: Mapping[str, Any], name: str, url: str) -> Json:
    """A kubeconfig without our entries, if the cluster of that name is still the one at this address."""
    mine = any(
        entry.get("name") == name and (entry.get("cluster") or {}).get("server") == url
        for entry in config.get("clusters") or ()
    )
    if not mine:
        return dict(config)
    left = {part: [entry for entry in config.get(part) or () if entry.get("name") != name] for part in LISTS}
    current = "" if config.get("current-context") == name else config.get("current-context", "")
    return {**config, **left, "current-context": current}
