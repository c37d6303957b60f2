"""TLS contexts for API servers, made of PEM texts that never touch a disk.

Which texts are the right ones is decided elsewhere; the handshake itself happens in the HTTP layer.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.certificates import ClientPair


def tls_context(
    *, authorities: str | None, pair: ClientPair | None, insecure: bool, subject: str
) -> ssl.SSLContext:
    """A context that trusts these authorities (else the system's) and shows this client pair, if any."""
    # Not ssl.create_default_context: since 3.13 it is stricter than clusters' own authorities are made.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    # As in Go, an intermediate certificate may itself be trusted.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        if authorities:
            context.load_verify_locations(cadata=authorities)
        elif not insecure:
            context.load_default_certs()
        if pair:
            _show(context, pair)
    except ssl.SSLError as exc:
        reason = f"its certificates are not accepted by the TLS library ({exc.reason or 'no reason given'})"
        raise InvalidSpec(subject, reason, "Issue them anew with a current algorithm and key size") from None
    return context


def _show(context: ssl.SSLContext, pair: ClientPair) -> None:
    """Give the context its client certificate; OpenSSL reads it from files, so they are in memory only."""
    with _in_memory(pair.certificate) as certificate, _in_memory(pair.key.reveal()) as key:
        # A key with a password was refused before; the empty one keeps OpenSSL from asking on the terminal.
        context.load_cert_chain(certificate, key, password="")


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """The path of an anonymous file that holds the text, readable by this process alone, gone afterwards."""
    descriptor = os.memfd_create("trimtab-tls", os.MFD_CLOEXEC)
    with open(descriptor, "w", encoding="ascii", errors="replace") as file:  # noqa: PTH123 - no path
        file.write(text)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"
