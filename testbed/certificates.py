"""The certificate authority of the testbed: files of server and client certificates, valid or expired.

Stricter than what `pki` throws together for a test: all that Kubernetes and strict clients look for is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from msgspec import Struct

from testbed.pki import hosts_named, named, pem_of, unsigned

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
        self._name = named(name)
        builder = _certificate(self._name, self._name, self._key.public_key(), expired=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.certificate = folder / "ca.crt"
        self.certificate.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, name: str, hosts: Sequence[str] = ("localhost", "127.0.0.1")) -> KeyPair:
        """A certificate for a server on these host names and addresses."""
        return self._issue(name, named(name), ExtendedKeyUsageOID.SERVER_AUTH, hosts=hosts)

    def client(self, user: str, groups: Sequence[str] = (), *, expired: bool = False) -> KeyPair:
        """A certificate that Kubernetes reads as this user in these groups."""
        file = f"{user}-expired" if expired else user
        usage = ExtendedKeyUsageOID.CLIENT_AUTH
        return self._issue(file, named(user, groups), usage, expired=expired)

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
            builder = builder.add_extension(hosts_named(hosts), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return self._save(file, certificate, key)

    def _save(self, file: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
        pair = KeyPair(certificate=self._folder / f"{file}.crt", key=self._folder / f"{file}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pair.key.touch(mode=0o600)
        pair.key.write_bytes(pem_of(key))
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
    pair.key.write_bytes(pem_of(key))
    return pair


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, expired: bool
) -> x509.CertificateBuilder:
    """A certificate still to be signed: valid from yesterday for a year, or over since yesterday."""
    now = datetime.now(UTC)
    first, last = (now - 2 * DAY, now - DAY) if expired else (now - DAY, now + 365 * DAY)
    known_by = x509.SubjectKeyIdentifier.from_public_key(key)
    return unsigned(subject, issuer, key, first, last).add_extension(known_by, critical=False)


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
