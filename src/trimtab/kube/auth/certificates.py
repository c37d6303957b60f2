"""Certificates and keys of a kubeconfig: are they what they should be, and until when?

Pure: PEM bytes and the time in, values or one error out. Chains are judged by the TLS handshake, not here.
"""

from __future__ import annotations

import base64
import binascii
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import Secret


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
    leaf = _certificates(certificate, subject, names[0])[0]
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
    return "".join(
        certificate.public_bytes(Encoding.PEM).decode("ascii")
        for certificate in _certificates(content, subject, field)
    )


def _certificates(content: bytes, subject: str, field: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(content)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InvalidSpec(
            subject, f"its {field} holds no readable PEM certificate", f"Set {field} to a PEM certificate"
        ) from None


def _private_key(content: bytes, subject: str, field: str) -> PrivateKeyTypes:
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
    try:
        public, of_key = certificate.public_key(), key.public_key()
        form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return public.public_bytes(*form) == of_key.public_bytes(*form)
    except (ValueError, UnsupportedAlgorithm):
        return False
