"""Where a chart is asked for, and with which credential."""

from __future__ import annotations

import pytest

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.charts.wishes import WantedChart, access_of, in_registry
from trimtab.sources.repositories.credentials import Basic, Belonging, Credential


def belonging(url: str, *, below: bool = True) -> Belonging:
    login = Basic(username=url, password=Secret("x"))
    return Belonging(url=url, credential=Credential(login=login), below=below, name=url)


KNOWN = (
    belonging("https://charts.example"),
    belonging("https://charts.example/stable", below=False),
    belonging("https://registry.example/team"),
)


@pytest.mark.parametrize(
    ("url", "place", "credential"),
    [
        ("https://charts.example", "https://charts.example/index.yaml", "https://charts.example"),
        ("https://charts.example/", "https://charts.example/index.yaml", "https://charts.example"),
        (
            "https://other.example/stable",
            "https://other.example/stable/index.yaml",
            "",
        ),
        ("oci://registry.example/team", "https://registry.example/team/web", "https://registry.example/team"),
        ("oci://registry.example/teams", "https://registry.example/teams/web", ""),
        ("oci://registry.example", "https://registry.example/web", ""),
    ],
)
def test_a_chart_has_one_place_and_the_credential_for_it(url: str, place: str, credential: str) -> None:
    access = access_of(WantedChart(url=url, name="web", credentials=KNOWN))
    assert (str(access.place), access.name) == (place, credential)


def test_a_credential_for_exactly_the_repository_is_taken_where_none_is_for_all_below() -> None:
    wanted = WantedChart(url="https://charts.example/stable", name="web", credentials=KNOWN[1:])
    assert access_of(wanted).name == "https://charts.example/stable"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://charts.example", "../web"),
        ("https://charts.example", "a/b"),
        ("https://charts.example", "-web"),
        ("https://charts.example", ""),
        ("https://charts.example", "web:1"),
        ("oci://registry.example/team", "../web"),
        ("oci://user:password@registry.example/team", "web"),
        ("oci://", "web"),
        ("oci://registry.example/%2e%2e", "web"),
        ("ssh://git@charts.example/x", "web"),
        ("file:///etc", "passwd"),
        ("ext::sh -c x", "web"),
        ("https://charts.example/?x=1", "web"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anybody_is_asked(url: str, name: str) -> None:
    with pytest.raises(InvalidSpec) as raised:
        access_of(WantedChart(url=url, name=name))
    assert "password" not in str(raised.value).replace("a password stands", "")


def test_an_index_may_send_to_a_registry_and_nowhere_else() -> None:
    wanted = WantedChart(url="https://charts.example", name="web", target="^1", credentials=KNOWN)
    assert in_registry(wanted, "oci://registry.example/team/web:1.2.3_b") == WantedChart(
        url="oci://registry.example/team", name="web", target="1.2.3+b", credentials=KNOWN
    )
    for strange in ("oci://", "oci://registry.example:5000/web", "oci://web:1"):
        with pytest.raises(SourceRefused):
            in_registry(wanted, strange)
