"""Short names for templates: the hashes in labels and in names of ReplicaSets and ControllerRevisions. Pure.

They look like Kubernetes' own and change when the template does, but are not the same: the real ones are made
from Go's memory layout.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: no vowels, so no words
_SAFE = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET, _PRIME = 2166136261, 16777619


def template_hash(template: Mapping[str, Any], collisions: int = 0) -> str:
    """A short word for a template; each collision gives another one."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    value = _OFFSET
    for byte in f"{text}{collisions or ''}".encode():
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(value))
