"""The story: what is done in which order, what should then be so, and the words around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from trimtab.interfaces.demo.stage import Stage

OVERLAY: Final = "overlays/live/kustomization.yaml"
HELD: Final = 2  # the exit code of what somebody has to decide
NOT_WELL: Final = 4  # something did not become healthy in time
NOT_WELL_NOW: Final = 1  # the answer of `why` when something is the matter
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
    said = stage.show("sync", *asked, "--yes")
    stage.holds("the queue is well", _end(said), "queue is Synced and Healthy")


def first_sync(stage: Stage) -> None:
    """A Kustomize overlay with a hook and waves."""
    stage.act("A Kustomize overlay: planned first, then synced in waves")
    asked = (stage.url, "--path", "overlays/live", "--app", "shop", "-n", "shop")
    planned = len(_changes(stage.show("plan", *asked)))
    known = [each["app"] for each in stage.ask("status")]
    stage.holds("a plan of 18 objects, and nothing is written", (planned, known), (18, ["queue"]))
    said = stage.show("sync", *asked, "--yes")
    stage.holds("the shop is well", _end(said), "shop is Synced and Healthy")
    stage.show("tree", "shop")


def new_image(stage: Stage) -> None:
    """A commit changes one image."""
    stage.act("A commit changes one image, and the plan says exactly that")
    stage.edit(OVERLAY, 'newTag: "2.0"', 'newTag: "2.1"')
    stage.commit("web 2.1")
    wanted = ["apply Deployment.apps shop/web differs at /spec/template/spec/containers/0/image"]
    stage.holds("one image changes, nothing else", _changes(stage.show("plan", "shop")), wanted)
    said = stage.show("sync", "shop", "--yes")
    stage.holds("it is rolled out", _end(said), "shop is Synced and Healthy")


def drift(stage: Stage) -> None:
    """Somebody changes a live object."""
    stage.act("Somebody scales cart by hand, past Git: drift is found and healed")
    stage.change_live("Deployment", "cart", {"spec": {"replicas": 7}})
    wanted = ["apply Deployment.apps shop/cart differs at /spec/replicas"]
    stage.holds("the drift is found", _changes(stage.show("plan", "shop")), wanted)
    said = stage.show("sync", "shop", "--yes")
    stage.holds("it is healed", _end(said), "shop is Synced and Healthy")


def bad_commit(stage: Stage) -> None:
    """A commit would delete most of the app."""
    stage.act("A bad commit would delete most of the shop: it is held")
    both = "  - ../../services/catalog\n  - ../../services/cart\n"
    stage.edit(OVERLAY, both, "")
    stage.commit("Tidy up")
    stage.show("sync", "shop", "--prune", "--yes", code=HELD)
    left = len(stage.ask("status", "shop")["resources"])
    stage.holds("all 18 objects are still there", left, 18)
    stage.edit(OVERLAY, "  - ../../services/web\n", f"{both}  - ../../services/web\n")
    stage.commit("Put catalog and cart back")


def broken_image(stage: Stage) -> None:
    """An image that does not exist."""
    stage.act("A commit names an image that does not exist")
    stage.edit(OVERLAY, 'newTag: "2.1"\n', f'newTag: "2.2-typo"\n{_BROKEN}')
    stage.commit("web 2.2")
    stage.show("sync", "shop", "--yes", "--timeout", "3", code=NOT_WELL)
    stage.say("Why?")
    said = "\n".join(stage.show("why", "shop", code=NOT_WELL_NOW))
    stage.holds("`why` names the image", "registry.example/shop/web:2.2-typo" in said, True)


def back(stage: Stage) -> None:
    """Go back to what was well."""
    stage.act("Back to the last state that was well, without Git")
    said = stage.show("rollback", "shop", "--yes", "--reason", "2.2 has no image")
    stage.holds("the shop is well again", said[-1].partition(",")[0], "shop is Synced and Healthy")


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
            "\nThat was all of it. To go on:\n"
            "  trimtab demo --keep                                  the same, and the cluster stays for you\n"
            "  trimtab cluster up                                   an empty cluster in memory\n"
            "  trimtab sync ./deploy -n shop --create-namespace     your own manifests, on any cluster"
        )
    settings = "\n".join(f"  export {name}={value}" for name, value in stage.exports.items())
    return (
        f"\nThe cluster keeps running, and the repository is in {stage.repository}. To go on:\n{settings}\n"
        "  trimtab tree shop        what is there\n"
        "  trimtab history shop     what was there\n"
        "  trimtab cluster down     the end"
    )


def _end(said: list[str]) -> str:
    """The last line of a sync, without the commit."""
    return said[-1].partition(" at ")[0]


def _changes(said: list[str]) -> list[str]:
    """The lines of a printed plan, beside those of hooks, as words without phase and wave."""
    rows = [line.split() for line in said]
    return [" ".join(row[2:]) for row in rows if row[:1] == ["Sync"]]
