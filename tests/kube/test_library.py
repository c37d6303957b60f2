"""When TLS contexts read what this machine trusts."""

from __future__ import annotations

import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from testbed.certificates import Authority
from trimtab.kube.library import reading_authorities_later


@pytest.fixture
def _one_authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that trusts one authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(Authority(tmp_path).certificate))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))


def trusted(context: ssl.SSLContext) -> int:
    """How many authorities a context knows."""
    return context.cert_store_stats()["x509_ca"]


def connection(context: ssl.SSLContext) -> ssl.SSLObject:
    """What a connection begins with."""
    return context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="here.example")


@pytest.mark.usefixtures("_one_authority")
def test_a_context_reads_authorities_when_its_first_connection_is_made() -> None:
    with reading_authorities_later():
        context = ssl.create_default_context()
    before = trusted(context)
    first, second = connection(context), connection(context)
    assert (before, trusted(context), type(context)) == (0, 1, ssl.SSLContext)
    assert first.context is second.context is context
    assert context.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.usefixtures("_one_authority")
def test_other_threads_and_later_contexts_read_authorities_at_once() -> None:
    with reading_authorities_later(), ThreadPoolExecutor(1) as other:
        elsewhere = other.submit(ssl.create_default_context).result()
    assert (trusted(elsewhere), trusted(ssl.create_default_context())) == (1, 1)
