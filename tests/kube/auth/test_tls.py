"""Handshakes with a real TLS server: whom we trust, and what we show."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from testbed.pki import Authority, Issued
from testbed.tlsserver import seen_by, server_context, serving
from trimtab.errors import InvalidSpec
from trimtab.kube.auth.certificates import ClientPair, client_pair
from trimtab.kube.auth.tls import tls_context

AUTHORITY = Authority("cluster")
OTHER = Authority("other")
SERVER = AUTHORITY.issue("server", "127.0.0.1", "kubernetes.default")
EXPIRED = Authority("old", not_after=datetime(2024, 1, 1, tzinfo=UTC))


def trusting(
    authority: Authority | None, pair: ClientPair | None = None, *, insecure: bool = False
) -> ssl.SSLContext:
    return tls_context(
        authorities=authority.pem.decode() if authority else None,
        pair=pair,
        insecure=insecure,
        subject="alice",
    )


def paired(issued: Issued) -> ClientPair:
    return client_pair(issued.certificate, issued.key, subject="alice", names=("certificate", "key"))


async def test_a_server_of_the_right_authority_is_trusted(tmp_path: Path) -> None:
    async with serving(server_context(tmp_path, SERVER, None)) as url:
        assert await seen_by(url, trusting(AUTHORITY)) == "nobody"


@pytest.mark.parametrize("authority", [OTHER, None], ids=["another", "the system's"])
async def test_a_server_of_another_authority_is_not_trusted(
    authority: Authority | None, tmp_path: Path
) -> None:
    async with serving(server_context(tmp_path, SERVER, None)) as url:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await seen_by(url, trusting(authority))


async def test_an_expired_authority_is_not_trusted(tmp_path: Path) -> None:
    server = EXPIRED.issue("server", "127.0.0.1")
    async with serving(server_context(tmp_path, server, None)) as url:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await seen_by(url, trusting(EXPIRED))


async def test_any_server_is_trusted_when_told_so(tmp_path: Path) -> None:
    async with serving(server_context(tmp_path, SERVER, None)) as url:
        assert await seen_by(url, trusting(None, insecure=True)) == "nobody"


async def test_the_certificate_is_checked_against_the_server_name(tmp_path: Path) -> None:
    async with serving(server_context(tmp_path, SERVER, None)) as url:
        assert await seen_by(url, trusting(AUTHORITY), "kubernetes.default") == "nobody"
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await seen_by(url, trusting(AUTHORITY), "elsewhere")


async def test_a_common_name_alone_is_no_host_name(tmp_path: Path) -> None:
    named_only = AUTHORITY.issue("localhost")
    async with serving(server_context(tmp_path, named_only, None)) as url:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await seen_by(url, trusting(AUTHORITY), "localhost")


async def test_a_servers_own_certificate_can_be_trusted_as_such(tmp_path: Path) -> None:
    context = tls_context(authorities=SERVER.certificate.decode(), pair=None, insecure=False, subject="alice")
    async with serving(server_context(tmp_path, SERVER, None)) as url:
        assert await seen_by(url, context) == "nobody"


async def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    async with serving(server_context(tmp_path, SERVER, OTHER)) as url:
        assert await seen_by(url, trusting(AUTHORITY, paired(OTHER.issue("alice")))) == "alice"
        with pytest.raises(aiohttp.ClientError):
            await seen_by(url, trusting(AUTHORITY))


async def test_an_old_protocol_is_not_spoken(tmp_path: Path) -> None:
    old = server_context(tmp_path, SERVER, None)
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    async with serving(old) as url:
        with pytest.raises(aiohttp.ClientConnectorError):
            await seen_by(url, trusting(AUTHORITY))


def test_no_descriptor_and_no_file_is_left_behind() -> None:
    pair = paired(OTHER.issue("alice"))
    before = sorted(Path("/proc/self/fd").iterdir())
    trusting(AUTHORITY, pair)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_what_openssl_refuses_is_told_in_one_sentence() -> None:
    issued, other = OTHER.issue("alice"), OTHER.issue("bob")
    unfit = ClientPair(
        certificate=issued.certificate.decode(),
        key=paired(other).key,
        not_before=datetime.min.replace(tzinfo=UTC),
        not_after=datetime.max.replace(tzinfo=UTC),
    )
    with pytest.raises(InvalidSpec) as caught:
        trusting(AUTHORITY, unfit)
    assert str(caught.value) == (
        "alice: its certificates are not accepted by the TLS library (KEY_VALUES_MISMATCH)."
        " Issue them anew with a current algorithm and key size."
    )
