"""A way to a server leaves nothing open, whenever it ends."""

from __future__ import annotations

import gc
import json
import socket
import urllib.parse
import warnings
from pathlib import Path

from testbed.embedded import Embedded
from testbed.toll import Toll


def test_a_way_that_ends_while_somebody_comes_leaves_no_socket_open(tmp_path: Path) -> None:
    found: list[str] = []
    with Embedded() as server, warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: found.append(str(message))
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(5):
            with Toll(server.kubeconfig, tmp_path) as toll:
                config = json.loads(toll.kubeconfig.read_text())
                way = urllib.parse.urlsplit(config["clusters"][0]["cluster"]["server"])
                socket.create_connection((str(way.hostname), way.port or 0)).close()
        gc.collect()
    assert "\n".join(found) == ""
