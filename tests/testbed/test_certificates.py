"""The small authority: who a certificate names, for where, and until when."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from testbed.certificates import Authority

NOW = datetime.now(UTC)  # noqa: TID251 - certificates are valid by the machine's own clock


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_a_client_certificate_names_user_and_groups(tmp_path: Path) -> None:
    pair = Authority(tmp_path).client("carol", ["readers", "writers"])
    assert read(pair.certificate).subject.rfc4514_string() == "CN=carol,O=writers,O=readers"
    assert pair.key.stat().st_mode & 0o777 == 0o600


def test_a_server_certificate_holds_for_names_and_addresses(tmp_path: Path) -> None:
    pair = Authority(tmp_path).server("web", ["localhost", "127.0.0.1"])
    names = read(pair.certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_an_expired_certificate_is_over_but_was_valid_once(tmp_path: Path) -> None:
    certificate = read(Authority(tmp_path).client("carol", expired=True).certificate)
    assert certificate.not_valid_before_utc < certificate.not_valid_after_utc < NOW


def test_another_authority_with_the_same_name_does_not_vouch(tmp_path: Path) -> None:
    one, other = Authority(tmp_path / "one"), Authority(tmp_path / "other")
    certificate = read(one.client("carol").certificate)
    certificate.verify_directly_issued_by(read(one.certificate))
    with pytest.raises(InvalidSignature):
        certificate.verify_directly_issued_by(read(other.certificate))
