"""What a server proves itself with, as values: whoever is handed them need not know how they are made."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

#: where a cluster listens, and whom its certificate is for
HOST: Final = "127.0.0.1"


class Credentials(Struct, frozen=True, kw_only=True):
    """The authority's certificate, and the server's certificate and key, as PEM."""

    authority: str
    certificate: str
    key: str
