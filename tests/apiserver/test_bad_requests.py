"""Bad requests are refused as a real server refuses them: the same code, reason, details and words."""

from __future__ import annotations

import pytest

from testbed.controlplane import ControlPlane
from tests.apiserver.bad_requests import REQUESTS, Client, comparable, recorded


def test_every_request_has_a_recorded_answer() -> None:
    assert sorted(recorded()) == sorted(REQUESTS)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_bad_request_is_refused_as_a_real_server_does(client: Client, name: str) -> None:
    assert comparable(client.send(REQUESTS[name])) == recorded()[name]


def test_the_record_is_what_a_real_server_answers_today(api_server: ControlPlane) -> None:
    real = Client(api_server.kubeconfig)
    real.prepare()
    assert {name: comparable(real.send(request)) for name, request in REQUESTS.items()} == recorded()
