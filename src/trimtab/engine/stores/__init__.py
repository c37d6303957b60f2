"""Where units are kept: in memory, in files, or as records in a cluster. One contract holds for all three."""

from trimtab.engine.stores.files import FileStore
from trimtab.engine.stores.memory import MemoryStore
from trimtab.engine.stores.records import RecordStore
from trimtab.engine.stores.renders import MemoryArchive, RecordArchive
from trimtab.engine.stores.sealing import Keyring

__all__ = ["FileStore", "Keyring", "MemoryArchive", "MemoryStore", "RecordArchive", "RecordStore"]
