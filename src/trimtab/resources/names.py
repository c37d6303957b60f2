"""What a namespace may be called: whoever is told a name can say no before any cluster does. Pure.

All rules of names stand with the schemas of `trimtab.kube`; this one is asked by every floor, so it is light.
"""

from __future__ import annotations

import re
from typing import Final

#: a DNS label, as the API server itself quotes the rule; how long it may be is told apart
LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LONGEST_LABEL: Final = 63

_LABEL: Final = re.compile(LABEL)


def is_namespace_name(text: str) -> bool:
    """Whether a namespace may be called so: by a DNS label."""
    return len(text) <= LONGEST_LABEL and _LABEL.fullmatch(text) is not None
