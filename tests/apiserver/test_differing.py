"""Every difference that the documentation names is one: both servers answer as recorded, and not alike."""

from __future__ import annotations

import pytest

from testbed.controlplane import ControlPlane
from tests.apiserver.bad_requests import Client
from tests.apiserver.differing import EMBEDDED, PROOFS, REAL, shown
from tests.apiserver.wire import recorded


def test_every_proof_has_two_recorded_answers() -> None:
    assert sorted(recorded(REAL)) == sorted(recorded(EMBEDDED)) == sorted(PROOFS)


@pytest.mark.parametrize("name", PROOFS)
def test_a_difference_is_one_and_goes_as_recorded(client: Client, name: str) -> None:
    assert shown(client, PROOFS[name]) == recorded(EMBEDDED)[name]
    assert recorded(EMBEDDED)[name] != recorded(REAL)[name], f"{name} is no difference any more"


def test_the_record_is_what_a_real_server_does_today(api_server: ControlPlane) -> None:
    real = Client(api_server.kubeconfig)
    real.prepare()
    told = {name: shown(real, proof, patiently=True) for name, proof in PROOFS.items()}
    assert told == recorded(REAL)
