"""What may differ between two honest servers: identities, versions, times, and what is drawn by lot.

Identities and versions are not erased but numbered in the order they are met, so that "the same uid" and "the
version did not move" stay visible. Pure but for that memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_TIME_KEYS = ("time", "Time", "Timestamp")
_CLUSTER_IP = re.compile(r"10\.96\.(?!0\.)\d+\.\d+")  # addresses in 10.96.0.* are never drawn, only asked for
_DRAWN_IN_WORDS = re.compile(rf'(?<=IPAddress\.networking\.k8s\.io "){_CLUSTER_IP.pattern}')
_LONGEST_TEXT = 4000
_LONGEST_PREFIX = 58  # longer beginnings are cut before five letters are drawn
_DRAWN_NODE_PORTS = range(30086, 32768)  # those below are never drawn, only asked for
_VERSIONS_IN_WORDS = (
    re.compile(r"(?<=current: )\d+"),
    re.compile(r"(?<=in record \()\d+(?=\))"),
    re.compile(r"(?<=in precondition: )\d+"),
    re.compile(r"(?<=in object meta: )\d+(?!-)\b"),
    re.compile(r'(?<="resourceVersion":")\d+'),
    re.compile(r'(?<=\\"resourceVersion\\":\\")\d+'),
    re.compile(r"(?<=too old resource version: )\d+ \(\d+\)"),
)
#: the server's own controllers write these at moments of their own
_MOVING_KINDS = frozenset({"CustomResourceDefinition", "Namespace"})


class Masks:
    """Masks for everything one case sees."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._drawn: list[re.Pattern[str]] = []

    def expect_drawn_name(self, prefix: str) -> None:
        """A name that begins like this will be drawn by the server."""
        self._drawn.append(re.compile(rf"({re.escape(prefix[:_LONGEST_PREFIX])})[a-z0-9]{{5}}(?!\w)"))

    def object(self, manifest: Mapping[str, Any], *, versions: bool = True) -> Any:
        """A whole object, or anything else that may hold one."""
        moving = not versions or manifest.get("kind") in _MOVING_KINDS
        return self._value("", manifest, moving=moving)

    def text(self, message: str) -> str:
        """A message, in which a server may have named uids, versions and the namespace."""
        for pattern in self._drawn:
            message = pattern.sub(r"\1?????", message)
        for pattern in _VERSIONS_IN_WORDS:
            message = pattern.sub(lambda found: self._versions.get(found[0], "<version>"), message)
        message = _DRAWN_IN_WORDS.sub("<address>", message)
        message = _TIME.sub("<time>", message)
        message = _UID.sub(lambda found: self._uid(found[0]), message)
        return shortened(message.replace(self._namespace, "<namespace>"))

    def _value(self, key: str, value: Any, *, moving: bool) -> Any:
        match value:
            case dict():
                return self._map(value, moving=moving)
            case list():
                masked = [self._value(key, each, moving=moving) for each in value]
                return sorted(masked, key=_entry) if key == "managedFields" else masked
            case str():
                return self._string(key, value, moving=moving)
            case int() if key in {"nodePort", "healthCheckNodePort"} and value in _DRAWN_NODE_PORTS:
                return "<port>"
            case _:
                return value

    def _map(self, value: dict[str, Any], *, moving: bool) -> dict[str, Any]:
        return {self.text(each): self._value(each, inner, moving=moving) for each, inner in value.items()}

    def _string(self, key: str, value: str, *, moving: bool) -> str:
        if not value:
            return value
        if key == "resourceVersion":
            return "<version>" if moving else self.version(value)
        if key.endswith(_TIME_KEYS) and _TIME.fullmatch(value):
            return "<time>"
        if key in {"clusterIP", "clusterIPs"} and _CLUSTER_IP.fullmatch(value):
            return "<address>"
        if key == "name":
            return self.text(value)
        known = _UID.sub(lambda found: self._uid(found[0]), value)
        return shortened(known.replace(self._namespace, "<namespace>"))

    def _uid(self, value: str) -> str:
        return self._uids.setdefault(value, f"<uid {len(self._uids) + 1}>")

    def version(self, value: str) -> str:
        """A version by its number in the order of meeting."""
        return self._versions.setdefault(value, f"<version {len(self._versions) + 1}>")


def shortened(text: str) -> str:
    """A text that repeats a large body: its beginning, its end and its length."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:200]} ...{len(text)} letters... {text[-200:]}"


def _entry(entry: Any) -> tuple[str, ...]:
    """An order of managers that does not depend on the second in which they wrote."""
    return tuple(str(entry.get(name, "")) for name in ("operation", "manager", "subresource", "apiVersion"))
