"""A small certificate authority for the testbed: server and client certificates, valid or expired."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

DAY = timedelta(days=1)


class KeyPair(Struct, frozen=True, kw_only=True):
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; everything it makes lies in one folder."""

    def __init__(self, folder: Path, name: str = "trimtab-testbed") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        builder = _certificate(self._name, self._name, self._key.public_key(), expired=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.certificate = folder / "ca.crt"
        self.certificate.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, name: str, hosts: Sequence[str] = ("localhost", "127.0.0.1")) -> KeyPair:
        """A certificate for a server on these host names and addresses."""
        return self._issue(name, _named(name), ExtendedKeyUsageOID.SERVER_AUTH, hosts=hosts)

    def client(self, user: str, groups: Sequence[str] = (), *, expired: bool = False) -> KeyPair:
        """A certificate that Kubernetes reads as this user in these groups."""
        file = f"{user}-expired" if expired else user
        usage = ExtendedKeyUsageOID.CLIENT_AUTH
        return self._issue(file, _named(user, groups), usage, expired=expired)

    def _issue(
        self,
        file: str,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        *,
        hosts: Sequence[str] = (),
        expired: bool = False,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _certificate(subject, self._name, key.public_key(), expired=expired)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer_key, critical=False)
        if hosts:
            names = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return self._save(file, certificate, key)

    def _save(self, file: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
        pair = KeyPair(certificate=self._folder / f"{file}.crt", key=self._folder / f"{file}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pair.key.touch(mode=0o600)
        pair.key.write_bytes(_pem(key))
        return pair


def signing_keys(folder: Path) -> KeyPair:
    """A key pair without a certificate, for signing tokens; `certificate` is the bare public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = KeyPair(certificate=folder / "sa.pub", key=folder / "sa.key")
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    pair.certificate.write_bytes(public)
    pair.key.touch(mode=0o600)
    pair.key.write_bytes(_pem(key))
    return pair


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, expired: bool
) -> x509.CertificateBuilder:
    """A certificate still to be signed: valid from yesterday for a year, or over since yesterday."""
    now = datetime.now(UTC)
    first, last = (now - 2 * DAY, now - DAY) if expired else (now - DAY, now + 365 * DAY)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(first)
        .not_valid_after(last)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _named(name: str, groups: Sequence[str] = ()) -> x509.Name:
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
