"""Record a real server's answers for tests that run without one: `python -m scripts.record_answers`.

The tests marked `real` ask again and compare, so a recording never grows stale unseen.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from scripts.learning import WITHOUT_ADMISSION, answer, manifests
from scripts.refusals import (
    create_refusals,
    custom_refusals,
    define_gadgets,
    unknown_refusals,
    update_refusals,
)
from testbed.controlplane import ControlPlane
from trimtab.kube.schemas.kinds import Kinds, built_in

TESTS = Path(__file__).parents[1] / "tests" / "kube"
RECORDED = TESTS / "recorded"
Json = dict[str, Any]


def main() -> None:
    """Ask everything that is asked, and write it down."""
    with ControlPlane(controllers=False, apiserver_flags=WITHOUT_ADMISSION) as plane:
        write("created.json", created_objects(plane, built_in()))
        texts = sorted(json.loads((RECORDED / "quantities.json").read_text()))
        write("quantities.json", quantities(plane, texts))
        write("create_refusals.json", create_refusals(plane))
        write("update_refusals.json", update_refusals(plane))
        define_gadgets(plane)
        write("custom_refusals.json", custom_refusals(plane))
        write("unknown_refusals.json", unknown_refusals(plane))


def write(name: str, content: Any) -> None:
    """Write one recording."""
    (RECORDED / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def created_objects(plane: ControlPlane, kinds: Kinds) -> list[Json]:
    """What the server keeps of each manifest of the corpus, managed fields left out."""
    kept = [answer(plane, kinds, manifest) for manifest in manifests(TESTS / "manifests")]
    for each in kept:
        each.get("metadata", {}).pop("managedFields", None)
    return kept


def quantities(plane: ControlPlane, texts: list[str]) -> dict[str, str]:
    """How the server writes each quantity, or why it refuses it."""
    return {text: quantity(plane, text) for text in texts}


def quantity(plane: ControlPlane, text: str) -> str:
    """A quantity as the size limit of a volume, kept as it is; a negative one as a refusal names it."""
    if text.startswith("-"):
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "q"},
            "status": {"capacity": {"cpu": text}},
        }
        status, told = plane.answer("POST", "/api/v1/nodes?dryRun=All", node)
        found = re.search(r'Invalid value: "([^"]*)"', str(told.get("message")))
        if status < 300:
            return str(told["status"]["capacity"]["cpu"])
        return found.group(1) if found else refusal(told)
    volume = {"name": "v", "emptyDir": {"sizeLimit": text}}
    spec = {"containers": [{"name": "a", "image": "a"}], "volumes": [volume]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}, "spec": spec}
    status, told = plane.answer("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod)
    return str(told["spec"]["volumes"][0]["emptyDir"]["sizeLimit"]) if status < 300 else refusal(told)


def refusal(told: Json) -> str:
    """Why a quantity could not be read, in the server's words."""
    return f"refused: {str(told['message']).rpartition(': ')[2]}"


if __name__ == "__main__":
    main()
