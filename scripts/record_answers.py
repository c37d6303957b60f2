"""Record a real server's answers for tests that run without one: `python -m scripts.record_answers`.

The tests marked `real` ask again and compare, so a recording never grows stale unseen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.learning import WITHOUT_ADMISSION, answer, manifests
from scripts.refusals import (
    WRONG,
    create_refusals,
    custom_refusals,
    define_gadgets,
    unknown_refusals,
    update_refusals,
)
from testbed.controlplane import ControlPlane
from trimtab.kube.schemas.kinds import Kinds, built_in

TESTS = Path(__file__).parents[1] / "tests" / "kube"
MANIFESTS, RECORDED = TESTS / "manifests", TESTS / "recorded"
#: identities, versions of objects, addresses of Services (but for 10.96.0.0, which every dry run is given);
#: and times, all at one moment (but for the one by which Go explains how times are written)
LOTS = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "00000000-0000-4000-8000-{:012}"),
    (re.compile(r'"resourceVersion": "\d+"'), '"resourceVersion": "{}"'),
    (re.compile(r"\b10\.96\.(?!0\.0\b)\d+\.\d+\b"), "10.96.0.{}"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ(?!\d)"), "2026-01-01T00:00:00Z"),
)
Json = dict[str, Any]


def main() -> None:
    """Ask everything that is asked, and write it down."""
    given = "".join(path.read_text() for folder in (MANIFESTS, WRONG) for path in folder.iterdir())
    for name, content in answers():
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (RECORDED / name).write_text(steady(text, given) + "\n")


def answers() -> Iterator[tuple[str, Any]]:
    """What is asked of one fresh server, by the name of the recording."""
    with ControlPlane(controllers=False, apiserver_flags=WITHOUT_ADMISSION) as plane:
        yield "created.json", created_objects(plane, built_in())
        texts = sorted(json.loads((RECORDED / "quantities.json").read_text()))
        yield "quantities.json", quantities(plane, texts)
        yield "create_refusals.json", create_refusals(plane)
        yield "update_refusals.json", update_refusals(plane)
        define_gadgets(plane)
        yield "custom_refusals.json", custom_refusals(plane)
        yield "unknown_refusals.json", unknown_refusals(plane)


def steady(text: str, given: str) -> str:
    """The text with names of ours for what the server drew by lot, but for what was given to it.

    So two recordings differ where answers do.
    """
    for drawn, named in LOTS:
        text = drawn.sub(_naming(named, given), text)
    return text


def _naming(named: str, given: str) -> Callable[[re.Match[str]], str]:
    known: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return found[0] if found[0] in given else known.setdefault(found[0], named.format(len(known) + 1))

    return name


def created_objects(plane: ControlPlane, kinds: Kinds) -> list[Json]:
    """What the server keeps of each manifest of the corpus, managed fields left out."""
    kept = [answer(plane, kinds, manifest) for manifest in manifests(MANIFESTS)]
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
