"""Record how a real API server refuses bad requests: `python -m scripts.record_bad_requests`."""

from __future__ import annotations

import json

from testbed.controlplane import ControlPlane
from tests.apiserver.bad_requests import RECORD, REQUESTS, Client, comparable


def main() -> None:
    """Ask a fresh control plane, and write what it says."""
    with ControlPlane(controllers=False) as plane:
        client = Client(plane.kubeconfig)
        client.prepare()
        answers = {name: comparable(client.send(request)) for name, request in REQUESTS.items()}
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
    print(f"{RECORD.name}: {len(answers)} answers")


if __name__ == "__main__":
    main()
