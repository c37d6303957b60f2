"""What a user of kubectl writes by habit is understood by every verb, or answered in a sentence."""

from __future__ import annotations

import shlex

import pytest

from tests.interfaces.cli.understanding import understood
from trimtab.interfaces.cli.verbs import VERBS

#: how each verb is called, with no more than it needs
CALLS = {
    "apply": "apply shop.plan",
    "delete": "delete shop",
    "diff": "diff shop",
    "doctor": "doctor",
    "history": "history shop",
    "install": "install",
    "pause": "pause shop",
    "plan": "plan shop",
    "resume": "resume shop",
    "rollback": "rollback shop",
    "run": "run",
    "status": "status shop",
    "sync": "sync shop",
    "terminate": "terminate shop",
    "tree": "tree shop",
    "wait": "wait shop",
    "why": "why shop",
}
#: those that ask no cluster of anybody's
ALONE = {"cluster", "completion", "demo", "health", "render", "settings", "version"}


def test_no_verb_is_left_out() -> None:
    assert {*CALLS, *ALONE} == set(VERBS)


@pytest.mark.parametrize("verb", CALLS)
def test_every_verb_that_asks_a_cluster_is_told_which_as_kubectl_is(verb: str) -> None:
    context = understood([*shlex.split(CALLS[verb]), "--kubeconfig", "near", "--context", "live"])
    assert (str(context.params["kubeconfig"]), context.params["context"]) == ("near", "live")


@pytest.mark.parametrize("verb", [verb for verb in CALLS if verb != "run"])
@pytest.mark.parametrize("flag", ["-n", "--namespace"])
def test_every_verb_that_is_about_apps_takes_a_namespace(verb: str, flag: str) -> None:
    assert understood([*shlex.split(CALLS[verb]), flag, "shop"]).params["namespace"] == "shop"


def test_a_sync_waits_unless_told_otherwise() -> None:
    said = [understood(["sync", "shop", *words]).params["waits"] for words in ([], ["--wait"], ["--no-wait"])]
    assert said == [True, True, False]
