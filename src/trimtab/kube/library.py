"""aiohttp, imported without reading the machine's certificate authorities before they are needed.

Its two default TLS contexts read them all as it is imported, which takes longer than the rest of it, and who
speaks to an API server brings a context of his own. Here both read them when the first connection is made.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

__all__ = ["aiohttp", "reading_authorities_later"]


class _ReadsWhenUsed(ssl.SSLContext):
    """A context that is to trust what this machine trusts, and does not know yet what that is."""

    def wrap_bio(self, *parts: Any, **how: Any) -> ssl.SSLObject:
        """Speak TLS through memory, which is how every connection of an event loop begins."""
        context: ssl.SSLContext = self
        context.__class__ = ssl.SSLContext  # from now on it is like any other
        context.set_default_verify_paths()
        return context.wrap_bio(*parts, **how)


@contextmanager
def reading_authorities_later() -> Iterator[None]:
    """Have contexts that this thread makes in this block read the machine's authorities when first used."""
    here, read = get_ident(), ssl.SSLContext.set_default_verify_paths

    def wait(context: ssl.SSLContext) -> None:
        if get_ident() == here:
            context.__class__ = _ReadsWhenUsed
        else:
            read(context)

    setattr(ssl.SSLContext, "set_default_verify_paths", wait)  # noqa: B010 - mypy forbids to assign a method
    try:
        yield
    finally:
        setattr(ssl.SSLContext, "set_default_verify_paths", read)  # noqa: B010 - as above


with reading_authorities_later():
    import aiohttp
