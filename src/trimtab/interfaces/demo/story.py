"""The story: what is done in which order, what should then be so, and the words around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from trimtab.interfaces.demo.order import BEGUN, DONE, in_order, turns
from trimtab.interfaces.demo.stage import Stage
from trimtab.resources.keys import ResourceKey

OVERLAY: Final = "overlays/live/kustomization.yaml"
HELD: Final = 2  # the exit code of what somebody has to decide
NOT_WELL: Final = 4  # something did not become healthy in time
NOT_WELL_NOW: Final = 1  # the answer of `why` when something is the matter
WELL: Final = "Synced and Healthy"
NOT_ILL: Final = ("Healthy", "")  # many kinds have no health
HOOK: Final = "run hook"
#: the phases and waves of the shop, in their order
TURNS: Final = ("PreSync 0", "Sync 0", "Sync 1", "Sync 2")
_BROKEN: Final = """patches:
  # The cluster in memory pulls no images; this has its pods behave as if there were no such image.
  - target: {kind: Deployment, name: web}
    patch: |
      - op: add
        path: /spec/template/metadata/annotations
        value: {trimtab.dev/simulate: image-pull-error}
"""


def told(stage: Stage) -> None:
    """Tell the whole story; it stops with an error where a fact does not hold."""
    for chapter in CHAPTERS:
        chapter(stage)


def chart(stage: Stage) -> None:
    """A Helm chart, from Git."""
    stage.act("A Helm chart becomes what the cluster runs")
    stage.commit("A shop: three services, a queue, a migration")
    asked = (stage.url, "--path", "charts/queue", "--app", "queue", "-n", "shop", "--create-namespace")
    stage.show("sync", *asked, "--yes")
    stage.holds("the queue is well", _stands(stage, "queue"), WELL)


def first_sync(stage: Stage) -> None:
    """A Kustomize overlay with a hook and waves."""
    stage.act("A Kustomize overlay: planned first, then synced in waves")
    asked = (stage.url, "--path", "overlays/live", "--app", "shop", "-n", "shop")
    stage.show("plan", *asked)
    plan = stage.ask("plan", *asked)
    planned, known = len(_changes(plan)), [each["app"] for each in stage.ask("status")]
    stage.holds("a plan of 18 objects, and nothing is written", (planned, known), (18, ["queue"]))
    before, turn_of = stage.version(), turns(plan)
    stage.show("sync", *asked, "--yes")
    stage.holds("the shop is well", _stands(stage, "shop"), WELL)
    order = in_order(turn_of, stage.happened(turn_of, since=before))
    wanted = ", ".join(f"{turn} {mark}" for turn in TURNS for mark in (BEGUN, DONE))
    sentence = "the migration came first, and every wave when the one before was well"
    stage.holds(sentence, ", ".join(order), wanted)
    stage.show("tree", "shop")
    found = _counted(stage.ask("tree", "shop")["objects"])
    stage.holds("every object is well, down to the 6 pods", found, "18 objects, 6 pods, not well: none")


def new_image(stage: Stage) -> None:
    """A commit changes one image."""
    stage.act("A commit changes one image, and the plan says exactly that")
    stage.edit(OVERLAY, 'newTag: "2.0"', 'newTag: "2.1"')
    stage.commit("web 2.1")
    wanted = ["apply Deployment.apps shop/web differs at /spec/template/spec/containers/0/image"]
    stage.show("plan", "shop")
    stage.holds("one image changes, nothing else", _changes(stage.ask("plan", "shop")), wanted)
    stage.show("sync", "shop", "--yes")
    stage.holds("it is rolled out", _stands(stage, "shop"), WELL)


def drift(stage: Stage) -> None:
    """Somebody changes a live object."""
    stage.act("Somebody scales cart by hand, past Git: drift is found and healed")
    stage.change_live(ResourceKey("apps", "Deployment", "shop", "cart"), {"spec": {"replicas": 7}})
    wanted = ["apply Deployment.apps shop/cart differs at /spec/replicas"]
    stage.show("plan", "shop")
    stage.holds("the drift is found", _changes(stage.ask("plan", "shop")), wanted)
    stage.show("sync", "shop", "--yes")
    stage.holds("it is healed", _stands(stage, "shop"), WELL)


def bad_commit(stage: Stage) -> None:
    """A commit would delete most of the app."""
    stage.act("A bad commit would delete most of the shop: it is held")
    both = "  - ../../services/catalog\n  - ../../services/cart\n"
    stage.edit(OVERLAY, both, "")
    stage.commit("Tidy up")
    stage.show("sync", "shop", "--prune", "--yes", code=HELD)
    left = [each for each in stage.ask("tree", "shop")["objects"] if each["created"]]
    stage.holds("all 18 objects are still there", len(left), 18)
    stage.edit(OVERLAY, "  - ../../services/web\n", f"{both}  - ../../services/web\n")
    stage.commit("Put catalog and cart back")


def broken_image(stage: Stage) -> None:
    """An image that does not exist."""
    stage.act("A commit names an image that does not exist")
    stage.edit(OVERLAY, 'newTag: "2.1"\n', f'newTag: "2.2-typo"\n{_BROKEN}')
    stage.commit("web 2.2")
    stage.show("sync", "shop", "--yes", "--timeout", "3", code=NOT_WELL)
    stage.say("Why?")
    stage.show("why", "shop", code=NOT_WELL_NOW)
    said = stage.ask("why", "shop", code=NOT_WELL_NOW)["sentence"]
    stage.holds("`why` names the image", "registry.example/shop/web:2.2-typo" in said, True)


def back(stage: Stage) -> None:
    """Go back to what was well."""
    stage.act("Back to the last state that was well, without Git")
    stage.show("rollback", "shop", "--yes", "--reason", "2.2 has no image")
    stage.holds("the shop is well again", _stands(stage, "shop"), WELL)


CHAPTERS: Final[tuple[Callable[[Stage], None], ...]] = (
    chart,
    first_sync,
    new_image,
    drift,
    bad_commit,
    broken_image,
    back,
)


def ways_on(stage: Stage, *, keep: bool) -> str:
    """How to go on from here."""
    if not keep:
        return (
            "To go on:\n"
            "  trimtab demo --keep                                  the same, and the cluster stays for you\n"
            "  trimtab cluster up                                   an empty cluster in memory\n"
            "  trimtab sync ./deploy -n shop --create-namespace     your own manifests, on any cluster"
        )
    settings = "\n".join(f"  export {name}={value}" for name, value in stage.exports.items())
    return (
        f"The cluster keeps running, and the repository is in {stage.repository}. To go on:\n{settings}\n"
        "  trimtab tree shop        what is there\n"
        "  trimtab history shop     what was there\n"
        "  trimtab cluster down     the end"
    )


def _stands(stage: Stage, app: str) -> str:
    """How an app stands, by its two words."""
    status = stage.ask("status", app)
    return f"{status['sync']} and {status['health']}"


def _counted(objects: Sequence[Mapping[str, Any]]) -> str:
    """How many objects a tree has, how many pods they have, and which of them all are not well."""
    everything = [*_down(objects)]
    pods = sum(each["kind"] == "Pod" for each in everything)
    unwell = [f"{each['kind']} {each['name']}" for each in everything if each["health"] not in NOT_ILL]
    return f"{len(objects)} objects, {pods} pods, not well: {', '.join(unwell) or 'none'}"


def _down(objects: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Objects, what they own, what that owns, and so on."""
    for each in objects:
        yield each
        yield from _down(each["children"])


def _changes(plan: Mapping[str, Any]) -> list[str]:
    """What a plan does beside running hooks, step by step."""
    steps = [step for step in plan["steps"] if step["action"] != HOOK]
    return [f"{step['action']} {ResourceKey(**step['object'])} {step['why']}" for step in steps]
