"""Whatever is sent, there is an outcome or a refusal: nothing else ever comes out of merging."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kube.merging.samples import GADGET_SPEC, gadget_target
from tests.kube.merging.test_strategic import LIVE, SHAPE
from tests.kube.merging.worlds import gadget
from trimtab.kube.merging.apply import LAST_APPLIED, applied, created, updated
from trimtab.kube.merging.patch import json_patch, merge_patch
from trimtab.kube.merging.strategic import strategic_patch
from trimtab.kube.refusals import Refused

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WORDS = ["name", "a", "b", "x", "port", "protocol", "managedFields", "annotations", "labels", LAST_APPLIED]
DIRECTIVES = ["$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers"]
PLACES = ["metadata", "spec", "template", "containers", "env", "volumes", "finalizers", "strategy"]
SCALARS = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(0, 2) | st.sampled_from(["", "a", "delete"])
)


def values(*names: str) -> st.SearchStrategy[Any]:
    """Any JSON, in which some names are more likely."""
    keys = st.sampled_from([*names, *WORDS])
    return st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    )


SPECS = st.fixed_dictionaries({}, optional={name: values() for name in GADGET_SPEC["properties"]})
GADGETS = st.fixed_dictionaries(
    {}, optional={"metadata": values(), "spec": SPECS | values(), "other": SCALARS}
)


def outcome(function: Any, *args: Any, **named: Any) -> Any:
    """What comes out, or None for a refusal; what went in is as before."""
    given = [each for each in args[:2] if isinstance(each, dict | list)]
    before = json.dumps(given)
    result = None
    with contextlib.suppress(Refused):
        result = function(*args, **named)
    assert json.dumps(given) == before
    return result


@settings(max_examples=40, deadline=None)
@given(GADGETS, GADGETS, st.sampled_from(["A", "kubectl"]), st.booleans())
def test_any_configuration_is_applied_or_refused(first: Any, second: Any, manager: str, force: bool) -> None:  # noqa: FBT001  (drawn)
    target = gadget_target()
    options: dict[str, Any] = {"now": NOW, "force": force}
    one, two = (
        {**fields, "apiVersion": target.api_version, "kind": target.kind} for fields in (first, second)
    )
    live = outcome(applied, None, one, target, manager="B", **options)
    if live is not None:
        outcome(applied, live, two, target, manager=manager, **options)
        outcome(updated, live, two, target, manager=manager, now=NOW)


@settings(max_examples=40, deadline=None)
@given(GADGETS, GADGETS)
def test_any_object_is_stored_with_owners_or_without(first: Any, second: Any) -> None:
    target = gadget_target()
    live = outcome(created, gadget("g", {"spec": first.get("spec")}), target, manager="A", now=NOW)
    outcome(updated, live, second, target, manager="B", now=NOW)
    outcome(applied, live, gadget("g", {"spec": second.get("spec")}), target, manager="B", now=NOW)


@settings(max_examples=40, deadline=None)
@given(values(*DIRECTIVES, *PLACES), values(*DIRECTIVES, *PLACES))
def test_any_patch_is_carried_out_or_refused(patch: Any, document: Any) -> None:
    outcome(merge_patch, LIVE, patch)
    outcome(json_patch, LIVE, patch)
    outcome(strategic_patch, LIVE, patch, SHAPE)
    outcome(strategic_patch, LIVE, {"spec": {"template": {"spec": patch}}}, SHAPE)
    if isinstance(document, dict):
        outcome(strategic_patch, document, patch, SHAPE)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])},
            optional={
                "path": st.lists(st.sampled_from([*PLACES, "0", "-", "-1"]), max_size=5).map("/".join),
                "from": st.lists(st.sampled_from([*PLACES, "0", "1"]), max_size=5).map("/".join),
                "value": values(),
            },
        ),
        max_size=6,
    )
)
def test_any_operations_are_carried_out_or_refused(operations: Any) -> None:
    outcome(json_patch, LIVE, [{**each, "path": f"/{each.get('path', '')}"} for each in operations])
    outcome(json_patch, LIVE, operations)
