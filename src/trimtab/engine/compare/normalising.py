"""What is made equal before comparing, because it means the same. Pure; nothing given is changed.

These are rules about meaning (the order of endpoints says nothing) that a server does not know. How a server
writes what it is given (quantities, empty maps) is not here: `walking` asks the schemas for that.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.resources.manifests import Manifest
from trimtab.resources.secrets import is_secret

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_RBAC: Final = "rbac.authorization.k8s.io"


class Normal(Struct, frozen=True, kw_only=True):
    """Choices about what means the same."""

    #: rules of roles that are put together from other roles are not compared
    ignore_aggregated_roles: bool = False


def normal(manifest: Manifest, options: Normal) -> Manifest:
    """The manifest with everything equal that means the same."""
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict) and "creationTimestamp" in metadata:
        rest = {name: value for name, value in metadata.items() if name != "creationTimestamp"}
        manifest = {**manifest, "metadata": rest}
    step = _STEPS.get((_group(manifest), str(manifest.get("kind"))))
    return manifest if step is None else step(manifest, options)


def _group(manifest: Manifest) -> str:
    return str(manifest.get("apiVersion", "")).rpartition("/")[0]


# -- Secrets ------------------------------------------------------------------------------------------------


def with_data_for_string_data(manifest: Manifest) -> Manifest:
    """A Secret with `data` alone.

    A server turns `stringData` into `data` and forgets whose it was, so that a value taken out of Git would
    stay in the cluster for ever. What is no text is moved as it is, for the server to refuse.
    """
    if "stringData" not in manifest or not is_secret(manifest):
        return manifest
    texts, data = manifest["stringData"], manifest.get("data")
    if texts is not None and not isinstance(texts, dict):
        return manifest
    held = {name: value for name, value in manifest.items() if name != "stringData"}
    if not texts:
        return held
    moved = {name: _encoded(value) for name, value in texts.items()}
    return {**held, "data": {**(data if isinstance(data, dict) else {}), **moved}}


def _encoded(value: Any) -> Any:
    return base64.b64encode(value.encode()).decode() if isinstance(value, str) else value


def _secret(manifest: Manifest, _options: Normal) -> Manifest:
    manifest = with_data_for_string_data(manifest)
    data = manifest.get("data")
    if isinstance(data, dict):
        read = {name: _read(value) for name, value in data.items()}
        manifest = {**manifest, "data": read} if read != data else manifest
    return manifest


def _read(value: Any) -> Any:
    """A value of `data` as servers write it: nothing is an empty text, and line breaks are no content."""
    if value is None:
        return ""
    if isinstance(value, str) and ("\n" in value or "\r" in value):
        return value.replace("\n", "").replace("\r", "")
    return value


# -- roles --------------------------------------------------------------------------------------------------


def _role(manifest: Manifest, options: Normal) -> Manifest:
    is_aggregated = isinstance(manifest.get("aggregationRule"), dict)
    if (options.ignore_aggregated_roles and is_aggregated) or not manifest.get("rules"):
        return {name: value for name, value in manifest.items() if name != "rules"}
    return manifest


# -- endpoints ----------------------------------------------------------------------------------------------


def _endpoints(manifest: Manifest, _options: Normal) -> Manifest:
    """Endpoints in one order, whatever order they came in."""
    subsets = manifest.get("subsets")
    if not isinstance(subsets, list):
        return manifest
    return {**manifest, "subsets": sorted(map(_subset, subsets), key=_ENCODER.encode)}


def _subset(subset: Any) -> Any:
    if not isinstance(subset, dict):
        return subset
    found = dict(subset)
    for field in ("addresses", "notReadyAddresses"):
        if isinstance(found.get(field), list):
            found[field] = sorted(found[field], key=_address)
    if isinstance(found.get("ports"), list):
        found["ports"] = sorted(map(_port, found["ports"]), key=_ENCODER.encode)
    return found


def _address(address: Any) -> tuple[str, str, bytes]:
    if not isinstance(address, dict):
        return "", "", _ENCODER.encode(address)
    target = address.get("targetRef")
    uid = target.get("uid") if isinstance(target, dict) else ""
    return str(address.get("ip")), str(uid), b""


def _port(port: Any) -> Any:
    return {"protocol": "TCP", **port} if isinstance(port, dict) else port


_STEPS: Final[dict[tuple[str, str], Callable[[Manifest, Normal], Manifest]]] = {
    ("", "Secret"): _secret,
    (_RBAC, "Role"): _role,
    (_RBAC, "ClusterRole"): _role,
    ("", "Endpoints"): _endpoints,
}
