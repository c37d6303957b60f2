"""Record what both servers answer where they are known to differ: `python -m scripts.record_differences`.

The declarations are in `tests/differing/`; the tests compare with what this writes.
"""

from __future__ import annotations

from testbed.controlplane import ControlPlane
from testbed.embedded import Embedded
from tests.apiserver.bad_requests import Client
from tests.differing.asking import OFTEN, all_shown, proofs, shown, written
from tests.differing.pages import PAGES


def main() -> None:
    """Ask both, and write it down."""
    with ControlPlane(controllers=False) as plane, Embedded() as embedded:
        real, ours = Client(plane.kubeconfig), Client(embedded.kubeconfig)
        for client in (real, ours):
            client.prepare()
        for page, differences in PAGES.items():
            asked = proofs(differences).items()
            written(
                page,
                {
                    name: {"real": all_shown(real, proof, OFTEN), "ours": shown(ours, proof)}
                    for name, proof in asked
                },
            )
            print(f"{page}: {len(asked)} proofs")


if __name__ == "__main__":
    main()
