"""Record how HTTP goes with a real API server, and with ours where it differs.

python -m scripts.record_wire
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testbed.controlplane import ControlPlane
from testbed.embedded import Embedded
from tests.apiserver.bad_requests import Client
from tests.apiserver.wire import DIFFERING, EMBEDDED, EXCHANGES, REAL, told


def main() -> None:
    """Ask a fresh server of each kind, and write what they say."""
    with ControlPlane(controllers=False) as plane:
        _write(REAL, _answers(plane.kubeconfig, [*EXCHANGES]))
    with Embedded() as server:
        _write(EMBEDDED, _answers(server.kubeconfig, [*DIFFERING]))


def _answers(kubeconfig: Path, names: list[str]) -> dict[str, Any]:
    client = Client(kubeconfig)
    client.prepare()
    return {name: told(client, EXCHANGES[name]) for name in names}


def _write(path: Path, answers: dict[str, Any]) -> None:
    path.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
    print(f"{path.name}: {len(answers)} answers")


if __name__ == "__main__":
    main()
