"""Where we may connect to."""

from __future__ import annotations

import pytest

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.settings import RepositoriesSettings
from trimtab.sources.repositories.addresses import address_of
from trimtab.sources.repositories.egress import Egress, check_scheme, checked_addresses, egress_of

USUAL = egress_of(RepositoriesSettings())

FORBIDDEN = [
    "127.0.0.1",
    "127.255.0.3",
    "::1",
    "0.0.0.0",  # noqa: S104 - nobody binds to it
    "::",
    "169.254.169.254",
    "fe80::1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.1",
    "ff02::1",
    "240.0.0.1",
    "255.255.255.255",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "::127.0.0.1",
]


@pytest.mark.parametrize("address", FORBIDDEN)
def test_addresses_that_are_not_for_tenants_are_refused_in_every_spelling(address: str) -> None:
    with pytest.raises(SourceRefused, match="not allowed"):
        checked_addresses("git.example", [address], USUAL)


@pytest.mark.parametrize("address", ["140.82.121.4", "10.1.2.3", "192.168.1.1", "2606:50c0::1", "fd12::1"])
def test_public_and_private_networks_are_allowed(address: str) -> None:
    assert checked_addresses("git.example", [address], USUAL) == (address,)


def test_one_bad_address_among_good_ones_condemns_them_all() -> None:
    with pytest.raises(SourceRefused):
        checked_addresses("git.example", ["140.82.121.4", "169.254.169.254"], USUAL)


def test_the_operator_can_allow_hosts_addresses_and_networks() -> None:
    allow = ("git.local", "*.test.local", "127.0.0.1", "169.254.10.0/24", "::1")
    egress = egress_of(RepositoriesSettings(allow_hosts=allow))
    for host, address in (
        ("git.local", "127.0.0.9"),
        ("a.test.local", "127.0.0.9"),
        ("any.example", "127.0.0.1"),
        ("any.example", "169.254.10.9"),
        ("any.example", "::1"),
        ("any.example", "::ffff:127.0.0.1"),
    ):
        assert checked_addresses(host, [address], egress)
    for host, address in (
        ("git.local.evil", "127.0.0.9"),
        ("xtest.local", "127.0.0.9"),
        ("any.example", "127.0.0.2"),
        ("any.example", "169.254.169.254"),
    ):
        with pytest.raises(SourceRefused):
            checked_addresses(host, [address], egress)


def test_the_operator_can_refuse_networks_and_that_counts_most() -> None:
    settings = RepositoriesSettings(
        refuse_networks=("10.96.0.0/12",), allow_hosts=("10.96.0.1", "kubernetes")
    )
    for host in ("git.example", "kubernetes"):
        for address in ("10.96.0.1", "::ffff:10.96.0.1"):
            with pytest.raises(SourceRefused, match="the operator has refused") as refused:
                checked_addresses(host, [address], egress_of(settings))
            assert "allow" not in str(refused.value), "allowing it would not help"
            assert "repositories.refuse_networks" in str(refused.value)


def test_a_refused_network_that_is_none_is_told() -> None:
    with pytest.raises(InvalidSpec, match="no network"):
        egress_of(RepositoriesSettings(refuse_networks=("everything",)))


@pytest.mark.parametrize("text", ["http://git.example/a", "file:///srv/a"])
def test_only_https_and_ssh_are_allowed_unless_the_operator_says_so(text: str) -> None:
    with pytest.raises(SourceRefused, match="not an allowed way"):
        check_scheme(address_of(text), USUAL)
    check_scheme(address_of(text), Egress(schemes=frozenset({"http", "file"})))


def test_the_setting_that_would_allow_a_way_is_told_ready_to_be_given() -> None:
    with pytest.raises(SourceRefused, match=r"the setting repositories\.allow_schemes=file,https,ssh\."):
        check_scheme(address_of("file:///srv/a"), USUAL)
