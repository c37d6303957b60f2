"""Every difference that the documentation names is one: both servers answer as recorded, and not alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.controlplane import ControlPlane
from testbed.embedded import Embedded
from tests.apiserver.bad_requests import Client
from tests.differing.asking import Proof, all_shown, proofs, recorded, shown
from tests.differing.pages import PAGES

ALL = [
    pytest.param(page, name, proof, id=f"{page}: {name}")
    for page, differences in PAGES.items()
    for name, proof in proofs(differences).items()
]
TIMES = 5  # how often a server that draws lots is asked


@pytest.fixture(scope="module")
def here() -> Iterator[Client]:
    """A client of an embedded cluster."""
    with Embedded() as server:
        yield _prepared(Client(server.kubeconfig))


@pytest.fixture(scope="module")
def real(api_server: ControlPlane) -> Client:
    """A client of a real API server."""
    return _prepared(Client(api_server.kubeconfig))


def _prepared(client: Client) -> Client:
    client.prepare()
    return client


@pytest.mark.parametrize("page", PAGES)
def test_every_proof_is_recorded(page: str) -> None:
    assert list(recorded(page)) == list(proofs(PAGES[page])), "run scripts.record_differences"


@pytest.mark.parametrize(("page", "name", "proof"), ALL)
def test_the_embedded_cluster_differs_as_recorded(page: str, name: str, proof: Proof, here: Client) -> None:
    known = recorded(page)[name]
    assert shown(here, proof) == known["ours"]
    assert known["real"] != [known["ours"]], "this is no difference any more"
    assert (len(known["real"]) > 1) == proof.by_lot


@pytest.mark.parametrize(("page", "name", "proof"), ALL)
def test_the_real_server_answers_as_recorded(page: str, name: str, proof: Proof, real: Client) -> None:
    known = recorded(page)[name]["real"]
    assert [each for each in all_shown(real, proof, TIMES) if each not in known] == []
