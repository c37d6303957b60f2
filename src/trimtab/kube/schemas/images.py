"""Container image references: the little of them that decides how an image is pulled.

Reading follows the grammar that registries and Kubernetes share; where an image comes from is not judged.
"""

from __future__ import annotations

import re

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"(?:\[[0-9a-fA-F:]+\]|{_LABEL}(?:\.{_LABEL})*)(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:(?P<domain>{_DOMAIN})/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)


def image_tag(image: str) -> str:
    """The tag of an image, `latest` where neither tag nor digest is given; empty for what is no image."""
    found = _REFERENCE.fullmatch(image)
    if found is None:
        return ""
    return found["tag"] or ("" if found["digest"] else "latest")
