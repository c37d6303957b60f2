"""YAML exactly as kubectl and helm read and write it.

The room's door: `documents` and `load` read, `each_document` reads what can be read, `forgiven` reads as
leniently as a server, `dump` and `dump_all` write.
"""

from typing import TYPE_CHECKING

from trimtab.doors import opened_when_asked
from trimtab.resources.yaml.words import (
    MAX_DEPTH,
    TOO_HEAVY,
    Document,
    Excessive,
    Forgiven,
    Limits,
    Twin,
    Unread,
)

if TYPE_CHECKING:
    from trimtab.resources.yaml.reader import documents, each_document, forgiven, load
    from trimtab.resources.yaml.writer import dump, dump_all
else:  # most who read never write, and a server may never see any YAML
    __getattr__ = opened_when_asked(
        __name__,
        {
            "reader": ("documents", "each_document", "forgiven", "load"),
            "writer": ("dump", "dump_all"),
        },
    )

__all__ = [
    "MAX_DEPTH",
    "TOO_HEAVY",
    "Document",
    "Excessive",
    "Forgiven",
    "Limits",
    "Twin",
    "Unread",
    "documents",
    "dump",
    "dump_all",
    "each_document",
    "forgiven",
    "load",
]
