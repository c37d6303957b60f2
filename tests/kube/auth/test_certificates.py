"""Certificates and keys are judged before they are used."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from testbed.pki import Authority
from trimtab.errors import InvalidSpec
from trimtab.kube.auth.certificates import authorities, client_pair, decoded_base64, validity_problem

NAMES = ("client-certificate", "client-key")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def test_a_pair_knows_how_long_it_is_good_for(authority: Authority) -> None:
    issued = authority.issue("alice", not_before=NOON, not_after=NOON + timedelta(days=1))
    pair = client_pair(issued.certificate, issued.key, subject="a", names=NAMES)
    assert (pair.not_before, pair.not_after) == (NOON, NOON + timedelta(days=1))
    assert issued.key.decode() not in repr(pair)


def test_certificate_and_key_may_share_one_file(authority: Authority) -> None:
    issued = authority.issue("alice")
    for both in (issued.certificate + issued.key, issued.key + issued.certificate):
        assert client_pair(both, both, subject="a", names=NAMES).key.reveal() == both.decode()


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        (timedelta(seconds=-1), "client certificate is not valid before 2026-01-01 12:00:00 UTC"),
        (timedelta(0), ""),
        (timedelta(hours=23), ""),
        (timedelta(days=1), "client certificate expired at 2026-01-02 12:00:00 UTC"),
    ],
)
def test_a_pair_is_valid_from_its_start_until_its_end(
    authority: Authority, after: timedelta, problem: str
) -> None:
    issued = authority.issue("alice", not_before=NOON, not_after=NOON + timedelta(days=1))
    pair = client_pair(issued.certificate, issued.key, subject="a", names=NAMES)
    assert validity_problem(pair, NOON + after) == problem


def test_a_key_of_another_certificate_is_refused(authority: Authority) -> None:
    alice, bob = authority.issue("alice"), authority.issue("bob")
    with pytest.raises(InvalidSpec, match="its client-key does not belong to its client-certificate"):
        client_pair(alice.certificate, bob.key, subject="a", names=NAMES)


def test_a_key_under_a_password_is_refused_instead_of_asked_for(authority: Authority) -> None:
    alice = authority.issue("alice")
    with pytest.raises(InvalidSpec, match="its client-key is encrypted with a password"):
        client_pair(alice.certificate, alice.encrypted_key(b"canary"), subject="a", names=NAMES)


@pytest.mark.parametrize(
    "garbage",
    [b"", b"canary", b"\xff", b"-----BEGIN CERTIFICATE-----\ncanary\n-----END CERTIFICATE-----\n"],
)
def test_garbage_is_neither_certificate_nor_key_nor_authority(authority: Authority, garbage: bytes) -> None:
    alice = authority.issue("alice")
    with pytest.raises(InvalidSpec, match="its client-certificate holds no readable PEM certificate"):
        client_pair(garbage, alice.key, subject="a", names=NAMES)
    with pytest.raises(InvalidSpec, match="its client-key holds no readable PEM private key"):
        client_pair(alice.certificate, garbage, subject="a", names=NAMES)
    with pytest.raises(InvalidSpec, match="its certificate-authority holds no readable PEM certificate"):
        authorities(garbage, subject="a", field="certificate-authority")


def test_a_bundle_is_reduced_to_its_certificates(authority: Authority) -> None:
    other = Authority("other")
    bundle = b"# comment\n" + authority.pem + b"\n" + other.pem
    assert authorities(bundle, subject="a", field="ca") == (authority.pem + other.pem).decode()


def test_base64_may_be_folded_but_not_broken() -> None:
    assert decoded_base64("Y2Fu\n YXJ5", subject="a", field="f") == b"canary"
    for broken in ("Y2F", "Y2Fu!", "ä"):
        with pytest.raises(InvalidSpec, match="its f is not base64"):
            decoded_base64(broken, subject="a", field="f")


def test_whoever_shows_a_token_does_not_load_the_cryptography_library(authority: Authority) -> None:
    lines = (
        "import sys",
        "from trimtab.kube.auth.certificates import authorities",
        f"authorities({authority.pem!r}, subject='a', field='ca')",
        "from trimtab.kube import connect, from_kubeconfig",
        "print('cryptography' in sys.modules)",
    )
    said = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, check=True)
    assert said.stdout.split() == [b"False"]
