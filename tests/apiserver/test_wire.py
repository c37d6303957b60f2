"""HTTP goes with the embedded server as with a real one, or as the table of differences says."""

from __future__ import annotations

import pytest

from testbed.controlplane import ControlPlane
from tests.apiserver.bad_requests import Client
from tests.apiserver.wire import DIFFERING, EMBEDDED, EXCHANGES, REAL, SAME, recorded, told
from trimtab.apiserver import wire


def test_every_exchange_has_a_recorded_answer() -> None:
    assert sorted(recorded(REAL)) == sorted(EXCHANGES)
    assert sorted(recorded(EMBEDDED)) == sorted(DIFFERING)


@pytest.mark.parametrize("name", SAME)
def test_an_exchange_goes_as_with_a_real_server(client: Client, name: str) -> None:
    assert told(client, SAME[name]) == recorded(REAL)[name]


@pytest.mark.parametrize("name", DIFFERING)
def test_an_exchange_that_differs_does_so_as_recorded(client: Client, name: str) -> None:
    assert told(client, EXCHANGES[name]) == recorded(EMBEDDED)[name]
    assert recorded(EMBEDDED)[name] != recorded(REAL)[name], f"{name} is no difference any more"


def test_the_record_is_what_a_real_server_does_today(api_server: ControlPlane) -> None:
    real = Client(api_server.kubeconfig)
    real.prepare()
    assert {name: told(real, exchange) for name, exchange in EXCHANGES.items()} == recorded(REAL)


@pytest.mark.parametrize(
    ("header", "media"),
    [
        ("application/json", "application/json"),
        (" Application/JSON ; a=b;", "application/json"),
        ('a/b; c="d\\"e"; f=g', "a/b"),
        ("a/b; c=d; C=d", "a/b"),
        ("a/b; c=d; c=e", ""),
        ("a/b; c", ""),
        ("a/b;;", ""),
        ("a /b", ""),
        ("", ""),
    ],
)
def test_a_media_type_is_read_with_its_parameters(header: str, media: str) -> None:
    assert wire.media_type(header) == media


def test_options_that_cannot_be_read_are_left_out() -> None:
    assert [*wire.query_in("/a?b=c&b=%64&e&f=%zz&g;h=i&j=k+l").items()] == [
        ("b", "c"),
        ("b", "d"),
        ("e", ""),
        ("j", "k l"),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1.5h", ""),
        ("-1m30s", ""),
        ("+.5s", ""),
        ("0", ""),
        ("-0", ""),
        ("10\u00b5s", ""),
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("abc", 'time: invalid duration "abc"'),
        ("1", 'time: missing unit in duration "1"'),
        ("1s1", 'time: missing unit in duration "1s1"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
    ],
)
def test_a_duration_is_read_as_by_go(text: str, why: str) -> None:
    assert wire.unreadable_duration(text) == why
