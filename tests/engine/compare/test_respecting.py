"""What is applied where ignored fields are to stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.engine.compare.ignoring import IgnoreRule, KeyRules, Rules, without
from trimtab.engine.compare.respecting import respecting
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest

US = "trimtab"
WEB = ResourceKey("apps", "Deployment", "shop", "web")


def deployment(spec: dict[str, Any], *owners: tuple[str, dict[str, Any]]) -> Manifest:
    lines = [
        {
            "manager": manager,
            "operation": "Apply" if manager == US else "Update",
            "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        for manager, fields in owners
    ]
    metadata: dict[str, Any] = {"name": "web", "namespace": "shop"}
    if lines:
        metadata["managedFields"] = lines
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"template": {"spec": {"containers": list(items)}}}


def rules(*pointers: str, managers: tuple[str, ...] = ()) -> KeyRules:
    rule = IgnoreRule(
        group="apps", kind="Deployment", json_pointers=pointers, managed_fields_managers=managers
    )
    return Rules((rule,)).for_key(WEB)


def applied(wanted: Manifest, live: Manifest, by: KeyRules, *, whole: bool = False) -> Any:
    less, there = without(wanted, by.pointers), without(live, by.pointers)
    return respecting(wanted, less, live, there, by, manager=US, whole=whole)["spec"]


WEB_1, WEB_2 = {"name": "web", "image": "web:1"}, {"name": "web", "image": "web:2"}
LOG_1, LOG_2 = {"name": "log", "image": "log:1"}, {"name": "log", "image": "log:2"}


@pytest.mark.parametrize(
    ("why", "pointers", "wanted", "live", "expected"),
    [
        ("the live value stays", ["/spec/replicas"], {"replicas": 2}, {"replicas": 5}, {"replicas": 5}),
        (
            "what is gone stays gone",
            ["/spec/replicas"],
            {"replicas": 2, "paused": True},
            {},
            {"paused": True},
        ),
        ("what nobody wants is left to its owner", ["/spec/replicas"], {}, {"replicas": 5}, {}),
        (
            "what is around it is as wanted",
            ["/spec/strategy/rollingUpdate/maxSurge"],
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 2}}},
            {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 9, "maxUnavailable": 9}}},
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 9, "maxUnavailable": 2}}},
        ),
        (
            "a whole field stays whole",
            ["/spec/template"],
            {"replicas": 2, **containers(WEB_1)},
            {"replicas": 1, **containers(WEB_2, LOG_2)},
            {"replicas": 2, **containers(WEB_2, LOG_2)},
        ),
        (
            "a field of one item of a list stays, whatever its place",
            ["/spec/template/spec/containers/0/image"],
            containers(LOG_1, WEB_1),
            containers(WEB_2, LOG_2),
            containers(LOG_1, WEB_2),
        ),
        (
            "a whole item of a list stays in the place it is wanted in",
            ["/spec/template/spec/containers/1"],
            containers(LOG_1, WEB_1),
            containers(WEB_2, LOG_2),
            containers(LOG_2, WEB_1),
        ),
        ("pointers to nothing do nothing", ["/spec/x/y"], {"replicas": 2}, {"replicas": 1}, {"replicas": 2}),
    ],
)
def test_ignored_fields_are_applied_as_they_are(
    why: str, pointers: list[str], wanted: Any, live: Any, expected: Any
) -> None:
    assert applied(deployment(wanted), deployment(live), rules(*pointers)) == expected, why


def test_what_somebody_else_owns_is_not_mentioned_so_that_no_apply_can_set_it_back() -> None:
    live = deployment({"replicas": 5}, ("autoscaler", {"f:spec": {"f:replicas": {}}}))
    assert applied(deployment({"replicas": 2, "paused": True}), live, rules("/spec/replicas")) == {
        "paused": True
    }


def test_what_we_own_and_want_no_more_stays_if_it_is_ignored() -> None:
    live = deployment({"replicas": 5}, (US, {"f:spec": {"f:replicas": {}}}))
    assert applied(deployment({}), live, rules("/spec/replicas")) == {"replicas": 5}


def test_an_object_that_is_replaced_as_a_whole_brings_along_all_that_is_ignored() -> None:
    live = deployment({"replicas": 5}, ("autoscaler", {"f:spec": {"f:replicas": {}}}))
    assert applied(deployment({}), live, rules("/spec/replicas"), whole=True) == {"replicas": 5}


def test_what_a_trusted_manager_has_changed_is_left_to_him_also_inside_lists() -> None:
    item: dict[str, Any] = {'k:{"name":"web"}': {"f:image": {}}}
    fields = {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": item}}}}
    live = deployment({"replicas": 5, **containers(WEB_2, LOG_2)}, ("trusted", fields))
    wanted = deployment({"replicas": 2, **containers(LOG_1, WEB_1)})
    by = rules(managers=("trusted",))
    assert applied(wanted, live, by) == containers(LOG_1, {"name": "web"})
    assert applied(wanted, live, by, whole=True) == {"replicas": 5, **containers(LOG_1, WEB_2)}
    assert applied(wanted, live, rules(managers=("other",))) == wanted["spec"]


def test_status_is_never_applied() -> None:
    live = {**deployment({"replicas": 5}), "status": {"replicas": 5}}
    wanted, by = deployment({"replicas": 2}), rules("/status", "/spec/replicas")
    less, there = without(wanted, by.pointers), without(live, by.pointers)
    found = respecting(wanted, less, live, there, by, manager=US, whole=True)
    assert "status" not in found
    assert found["spec"] == {"replicas": 5}
