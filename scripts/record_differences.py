"""Record what both servers answer where they are known to differ: `python -m scripts.record_differences`.

The declarations are in `tests/kube/*/differing.py`; the tests compare with what this writes.
"""

from __future__ import annotations

from testbed.controlplane import ControlPlane
from testbed.embedded import Embedded
from tests.kube.differences import OFTEN, answered, answers, written
from tests.kube.differing import PAGES
from tests.kube.merging.samples import prepare
from tests.kube.servers import Server


def main() -> None:
    """Ask both, and write it down."""
    with ControlPlane(controllers=False) as plane, Embedded() as embedded:
        real, here = Server.of(plane), Server.of_embedded(embedded)
        for server in (real, here):
            prepare(server)
        for page, differences in PAGES.items():
            written(
                page,
                {
                    each.what: {"real": answers(real, each, OFTEN), "here": answered(here, each)}
                    for each in differences
                },
            )


if __name__ == "__main__":
    main()
