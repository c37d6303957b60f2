"""Where units are kept: in memory, in files, or as records in a cluster. One contract holds for all three."""

from typing import TYPE_CHECKING

from trimtab.doors import opened_when_asked

if TYPE_CHECKING:
    from trimtab.engine.stores.files import FileStore
    from trimtab.engine.stores.memory import MemoryStore
    from trimtab.engine.stores.records import RecordStore
    from trimtab.engine.stores.renders import MemoryArchive, RecordArchive
    from trimtab.engine.stores.sealing import Keyring
else:
    __getattr__ = opened_when_asked(
        __name__,
        {
            "files": ("FileStore",),
            "memory": ("MemoryStore",),
            "records": ("RecordStore",),
            "renders": ("MemoryArchive", "RecordArchive"),
            "sealing": ("Keyring",),
        },
    )

__all__ = ["FileStore", "Keyring", "MemoryArchive", "MemoryStore", "RecordArchive", "RecordStore"]
