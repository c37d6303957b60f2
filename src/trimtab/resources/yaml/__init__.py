"""YAML exactly as kubectl and helm read and write it.

The room's door: `documents` and `load` read, `dump` and `dump_all` write.
"""

from trimtab.resources.yaml.documents import MAX_DEPTH, Document, Limits
from trimtab.resources.yaml.reader import documents, load
from trimtab.resources.yaml.writer import dump, dump_all

__all__ = ["MAX_DEPTH", "Document", "Limits", "documents", "dump", "dump_all", "load"]
