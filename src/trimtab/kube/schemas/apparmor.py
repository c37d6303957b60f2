"""AppArmor profiles: the old annotation of a container, and the field that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]
PREFIX = "container.apparmor.security.beta.kubernetes.io/"
LOCALHOST = "localhost/"
LONGEST_PROFILE = 4095
OLD = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_WORDS = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}


def is_profile(annotation: str) -> bool:
    """Whether an annotation says something that is understood."""
    return annotation == "" or annotation in _WORDS or annotation.startswith(LOCALHOST)


def profile_of(annotation: str) -> dict[str, Any] | None:
    """The field that says the same as an annotation, if one can."""
    if annotation in _WORDS:
        return {"type": _WORDS[annotation]}
    name = annotation.removeprefix(LOCALHOST)
    sound = name == name.strip() and 0 < len(name.encode()) <= LONGEST_PROFILE
    if name == annotation or not sound:
        return None
    return {"type": "Localhost", "localhostProfile": name}


def own_profile(context: Any) -> Any:
    """The profile that the security context of a pod or of a container asks for."""
    return context.get("appArmorProfile") if isinstance(context, dict) else None
