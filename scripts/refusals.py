"""Objects that a server refuses, made of a valid one and a change, and what it says of them.

The cases are data under `tests/kube/wrong`; `scripts.record_answers` writes the answers down.
"""

from __future__ import annotations

import contextlib
import copy
from pathlib import Path
from typing import Any

import yaml

from scripts.learning import path_of
from testbed.controlplane import ControlPlane
from testbed.problems import PartFailed
from trimtab.kube.schemas.kinds import built_in

GADGETS = "/apis/example.com/v1/namespaces/default/gadgets"
WRONG = Path(__file__).parents[1] / "tests" / "kube" / "wrong"
Json = dict[str, Any]


def bases() -> dict[str, Json]:
    """The valid objects."""
    found: dict[str, Json] = yaml.safe_load((WRONG / "bases.yaml").read_text())
    return found


def cases(name: str) -> list[Json]:
    """The changes, each to one of the valid objects."""
    found: list[Json] = yaml.safe_load((WRONG / name).read_text())
    return found


def spoiled(base: Json, case: Json) -> Json:
    """A copy of the object with the case's fields set and dropped."""
    changed = copy.deepcopy(base)
    for pointer, value in (case.get("set") or case.get("then") or {}).items():
        parent, key = _place(changed, pointer)
        parent[key] = copy.deepcopy(value)
    for pointer in case.get("drop", ()):
        parent, key = _place(changed, pointer)
        del parent[key]
    return changed


def _place(manifest: Any, pointer: str) -> tuple[Any, Any]:
    """The parent of a JSON pointer's target, and its key there; parents on the way are made."""
    *steps, last = (step.replace("~1", "/") for step in pointer[1:].split("/"))
    for step in steps:
        manifest = manifest[int(step)] if isinstance(manifest, list) else manifest.setdefault(step, {})
    return manifest, int(last) if isinstance(manifest, list) else last


def create_refusals(plane: ControlPlane) -> list[Json]:
    """What the server says to the creation of each spoiled object."""
    valid = bases()
    answers = []
    for case in cases("cases.yaml"):
        manifest = spoiled(valid[case["of"]], case)
        path = path_of(built_in(), valid[case["of"]])
        answers.append({"case": case, **said(*plane.answer("POST", f"{path}?dryRun=All", manifest))})
    return answers


def update_refusals(plane: ControlPlane) -> Json:
    """What the server keeps of each valid object, and what it says to each change of it."""
    kept, answers = {}, []
    for name in sorted({case["of"] for case in cases("updates.yaml")}):
        manifest = bases()[name]
        kept[name] = plane.call("POST", path_of(built_in(), manifest), manifest)
        kept[name]["metadata"].pop("managedFields", None)
    for case in cases("updates.yaml"):
        old = kept[case["of"]]
        path = f"{path_of(built_in(), bases()[case['of']])}/{old['metadata']['name']}"
        latest = plane.call("GET", path)["metadata"]["resourceVersion"]
        changed = spoiled(old, case)
        changed["metadata"]["resourceVersion"] = latest
        answers.append({"case": case, **said(*plane.answer("PUT", f"{path}?dryRun=All", changed))})
    return {"kept": kept, "answers": answers}


def gadget() -> Json:
    """The custom kind that cases are about: its definition, an object and the cases."""
    told: Json = yaml.safe_load((WRONG / "gadget.yaml").read_text())
    return told


def define_gadgets(plane: ControlPlane) -> None:
    """Let the server know the custom kind, and return when it does."""
    definition = gadget()["definition"]
    plane.call("POST", path_of(built_in(), definition), definition)
    plane.apiserver.wait_until(lambda: _is_served(plane, GADGETS), what="serving gadgets", limit=30)


def custom_refusals(plane: ControlPlane) -> list[Json]:
    """What the server says to objects of a custom kind that break its schema."""
    told = gadget()
    return [
        {"case": case, **said(*plane.answer("POST", f"{GADGETS}?dryRun=All", spoiled(told["object"], case)))}
        for case in told["cases"]
    ]


def unknown_refusals(plane: ControlPlane) -> list[Json]:
    """What the server says to fields that it does not know, where it is asked to be strict."""
    valid = {**bases(), "gadget": gadget()["object"]}
    answers = []
    for case in cases("unknown.yaml"):
        base = valid[case["of"]]
        path = GADGETS if case["of"] == "gadget" else path_of(built_in(), base)
        answer = plane.answer("POST", f"{path}?dryRun=All&fieldValidation=Strict", spoiled(base, case))
        answers.append({"case": case, **said(*answer)})
    return answers


def _is_served(plane: ControlPlane, path: str) -> bool:
    with contextlib.suppress(PartFailed, ValueError):
        plane.call("GET", path)
        return True
    return False


def said(code: int, answer: Json) -> Json:
    """The part of an answer that tells why."""
    if code < 300:
        return {"code": code}
    causes = (answer.get("details") or {}).get("causes", [])
    return {"code": code, "reason": answer["reason"], "message": answer["message"], "causes": causes}
