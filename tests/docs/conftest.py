"""What pages need around them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.internet import Internet, internet


@pytest.fixture(scope="session")
def hosts(tmp_path_factory: pytest.TempPathFactory, helm: Path) -> Iterator[Internet]:
    """The hosts that pages speak of."""
    with internet(tmp_path_factory.mktemp("internet"), helm) as found:
        yield found
