"""Certificates and keys of a kubeconfig: are they what they should be, and until when?

Pure: PEM bytes and the time in, values or one error out. Chains are judged by the TLS handshake, not here.
Client certificates are read by the cryptography library, which is large, so it is loaded for whoever has one:
most programs in a cluster show a token, and their authorities are judged by the TLS library alone.
"""

from __future__ import annotations

import base64
import binascii
import re
import ssl
from datetime import datetime
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import Secret

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_CERTIFICATE: Final = re.compile(
    rb"-----BEGIN (X509 |)CERTIFICATE-----(.*?)-----END \1CERTIFICATE-----", re.DOTALL
)


class ClientPair(Struct, frozen=True, kw_only=True):
    """A client certificate chain with its key, both PEM, and the time it is good for."""

    certificate: str
    key: Secret
    not_before: datetime
    not_after: datetime


def decoded_base64(text: str, *, subject: str, field: str) -> bytes:
    """The bytes of a `*-data` field."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidSpec(
            subject, f"its {field} is not base64", f"Encode the PEM text with base64 and set {field} to it"
        ) from None


def client_pair(certificate: bytes, key: bytes, *, subject: str, names: tuple[str, str]) -> ClientPair:
    """Certificate and key as a pair, after they were seen to belong together; `names` are their fields."""
    leaf = _leaf(certificate, subject, names[0])
    private = _private_key(key, subject, names[1])
    if not _is_pair(leaf, private):
        raise InvalidSpec(
            subject,
            f"its {names[1]} does not belong to its {names[0]}",
            "Replace both with a pair that was issued together",
        )
    return ClientPair(
        certificate=certificate.decode("ascii", "replace"),
        key=Secret(key.decode("ascii", "replace")),
        not_before=leaf.not_valid_before_utc,
        not_after=leaf.not_valid_after_utc,
    )


def validity_problem(pair: ClientPair, now: datetime) -> str:
    """Why the pair is of no use now, or nothing."""
    if now >= pair.not_after:
        return f"client certificate expired at {pair.not_after:%Y-%m-%d %H:%M:%S} UTC"
    if now < pair.not_before:
        return f"client certificate is not valid before {pair.not_before:%Y-%m-%d %H:%M:%S} UTC"
    return ""


def authorities(content: bytes, *, subject: str, field: str) -> str:
    """The certificates of a CA bundle as PEM text, after they were seen to be some."""
    try:
        found = [base64.b64decode(block[2]) for block in _CERTIFICATE.finditer(content)]
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=b"".join(found))
    except (ValueError, ssl.SSLError):
        raise _no_certificate(subject, field) from None
    return "".join(map(ssl.DER_cert_to_PEM_cert, found))


def _no_certificate(subject: str, field: str) -> InvalidSpec:
    return InvalidSpec(
        subject, f"its {field} holds no readable PEM certificate", f"Set {field} to a PEM certificate"
    )


def _leaf(content: bytes, subject: str, field: str) -> x509.Certificate:
    """The first certificate of a chain, all of which must be readable."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return x509.load_pem_x509_certificates(content)[0]
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _no_certificate(subject, field) from None


def _private_key(content: bytes, subject: str, field: str) -> PrivateKeyTypes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(content, password=None)
    except TypeError:  # how the library says that a password is needed
        raise InvalidSpec(
            subject,
            f"its {field} is encrypted with a password",
            "Decrypt it, for example with `openssl pkey`, or use a credential plugin",
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidSpec(
            subject, f"its {field} holds no readable PEM private key", f"Set {field} to a PEM private key"
        ) from None


def _is_pair(certificate: x509.Certificate, key: PrivateKeyTypes) -> bool:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    try:
        public, of_key = certificate.public_key(), key.public_key()
        form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return public.public_bytes(*form) == of_key.public_bytes(*form)
    except (ValueError, UnsupportedAlgorithm):
        return False
