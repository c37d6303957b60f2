"""Throwaway certificates for tests: an authority, and what it issues."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

EARLY = datetime(2020, 1, 1, tzinfo=UTC)
LATE = EARLY + timedelta(days=36_500)
_IN_THE_CLEAR = NoEncryption()


class Issued(Struct, frozen=True, kw_only=True):
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes

    def encrypted_key(self, password: bytes) -> bytes:
        """The key as it looks under a password."""
        return pem_of(_loaded(self.key), BestAvailableEncryption(password))


class Authority:
    """A certificate authority that signs whatever a test asks for."""

    def __init__(
        self, name: str = "authority", *, not_before: datetime = EARLY, not_after: datetime = LATE
    ) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = named(name)
        builder = unsigned(self._name, self._name, self._key.public_key(), not_before, not_after)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        """The authority's own certificate."""
        return self._certificate.public_bytes(Encoding.PEM)

    def issue(
        self, name: str, *hosts: str, not_before: datetime = EARLY, not_after: datetime = LATE
    ) -> Issued:
        """A certificate for a client, or for a server at these hosts."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = unsigned(named(name), self._name, key.public_key(), not_before, not_after)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if hosts:
            builder = builder.add_extension(hosts_named(hosts), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Issued(certificate=certificate.public_bytes(Encoding.PEM), key=pem_of(key))


def in_base64(content: bytes) -> str:
    """Bytes as the `*-data` fields of a kubeconfig hold them."""
    return base64.b64encode(content).decode()


def unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, start: datetime, end: datetime
) -> x509.CertificateBuilder:
    """A certificate still to be signed, good from `start` to `end`."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
    )


def named(name: str, groups: Sequence[str] = ()) -> x509.Name:
    """How a certificate calls its owner; Kubernetes reads it as a user in these groups."""
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def hosts_named(hosts: Iterable[str]) -> x509.SubjectAlternativeName:
    """The names and addresses that a server's certificate is good for."""
    return x509.SubjectAlternativeName([_general_name(host) for host in hosts])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _loaded(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("not a key of this module")
    return key


def pem_of(key: ec.EllipticCurvePrivateKey, encryption: KeySerializationEncryption = _IN_THE_CLEAR) -> bytes:
    """A key as files hold it."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
