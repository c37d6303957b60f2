"""The known differences from the real server are as the documentation says: there, and no larger."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.embedded import Embedded
from tests.kube.differences import Difference, answered, answers, recorded
from tests.kube.differing import PAGES
from tests.kube.merging.samples import prepare
from tests.kube.servers import Server

ALL = [
    pytest.param(page, each, id=f"{page}: {each.what}")
    for page, differences in PAGES.items()
    for each in differences
]
TIMES = 5  # how often a server that draws lots is asked


@pytest.fixture(scope="module")
def here() -> Iterator[Server]:
    """A connection to an embedded cluster that knows the Gadget kind."""
    with Embedded() as embedded:
        server = Server.of_embedded(embedded)
        prepare(server)
        yield server
        server.close()


@pytest.mark.parametrize("page", PAGES)
def test_every_difference_is_recorded(page: str) -> None:
    assert list(recorded(page)) == [each.what for each in PAGES[page]], "run scripts.record_differences"


@pytest.mark.parametrize(("page", "difference"), ALL)
def test_the_embedded_cluster_differs_as_recorded(page: str, difference: Difference, here: Server) -> None:
    known = recorded(page)[difference.what]
    assert answered(here, difference) == known["here"]
    assert known["real"] != [known["here"]], "this is no difference any more"
    assert (len(known["real"]) > 1) == difference.by_lot


@pytest.mark.parametrize(("page", "difference"), ALL)
def test_the_real_server_answers_as_recorded(page: str, difference: Difference, server: Server) -> None:
    known = recorded(page)[difference.what]["real"]
    assert [each for each in answers(server, difference, TIMES) if each not in known] == []
