"""Secrets as Argo CD shows them: whether values are equal, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.engine.compare.masking import masked_pair
from trimtab.resources.manifests import Manifest
from trimtab.resources.secrets import LAST_APPLIED


def secret(data: Any, **annotations: str) -> Manifest:
    metadata: dict[str, Any] = {"name": "s"}
    if annotations:
        metadata["annotations"] = {name.replace("_", "."): text for name, text in annotations.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def with_last_applied(manifest: Manifest, text: str) -> Manifest:
    annotations = {**manifest["metadata"].get("annotations", {}), LAST_APPLIED: text}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


def data_of(manifest: Manifest | None) -> Any:
    assert manifest is not None
    return manifest["data"]


@pytest.mark.fact("D14")
def test_equal_values_are_shown_equal() -> None:
    target, live = masked_pair(secret({"a": "MQ==", "b": "Mg=="}), secret({"a": "MQ==", "b": "Mg=="}))
    assert data_of(target) == data_of(live) == {"a": "++++++++", "b": "++++++++"}


@pytest.mark.fact("D14", "D12")
def test_text_is_shown_equal_to_the_same_value_encoded() -> None:
    wanted = {**secret({}), "stringData": {"a": "1"}}
    target, live = masked_pair(wanted, secret({"a": "MQ=="}))
    assert data_of(target) == data_of(live) == {"a": "++++++++"}


@pytest.mark.fact("D15")
def test_different_values_have_signs_of_different_length_under_the_same_key_only() -> None:
    live = with_last_applied(secret({"a": "Mg==", "b": "MQ=="}), json.dumps(secret({"a": "Mw=="})))
    target, shown = masked_pair(secret({"a": "MQ==", "b": "MQ=="}), live)
    assert data_of(target) == {"a": "++++++++", "b": "++++++++"}
    assert data_of(shown) == {"a": "++++++++++++", "b": "++++++++"}
    assert shown is not None
    assert json.loads(shown["metadata"]["annotations"][LAST_APPLIED])["data"] == {"a": "++++++++++++++++"}


@pytest.mark.fact("D16")
@pytest.mark.parametrize("text", ["{", "[1]", '"c2VjcmV0"', "\ud800"])
def test_an_unreadable_copy_is_hidden_whole(text: str) -> None:
    _, shown = masked_pair(None, with_last_applied(secret({}), text))
    assert shown is not None
    assert shown["metadata"]["annotations"] == {LAST_APPLIED: "++++++++"}


@pytest.mark.fact("D17")
def test_named_annotations_are_hidden_in_both_sides_and_in_the_copy() -> None:
    target = secret({}, token_x="t1", other="o")
    live = with_last_applied(secret({}, token_x="t2"), json.dumps(secret({}, token_x="t1")))
    masked = masked_pair(target, live, {"token.x"})
    assert masked[0] is not None
    assert masked[1] is not None
    assert masked[0]["metadata"]["annotations"] == {"token.x": "++++++++", "other": "o"}
    shown = masked[1]["metadata"]["annotations"]
    assert shown["token.x"] == "++++++++++++"
    assert json.loads(shown[LAST_APPLIED])["metadata"]["annotations"] == {"token.x": "++++++++"}


def test_the_copy_itself_may_be_hidden() -> None:
    live = with_last_applied(secret({}), json.dumps(secret({"a": "MQ=="})))
    _, shown = masked_pair(None, live, {LAST_APPLIED})
    assert shown is not None
    assert shown["metadata"]["annotations"] == {LAST_APPLIED: "++++++++"}


@pytest.mark.fact("D18")
def test_either_side_may_be_absent() -> None:
    assert masked_pair(None, None) == (None, None)
    assert data_of(masked_pair(secret({"a": "MQ=="}), None)[0]) == {"a": "++++++++"}
    assert data_of(masked_pair(None, secret({"a": "MQ=="}))[1]) == {"a": "++++++++"}


def test_data_that_is_no_map_is_hidden_whole() -> None:
    assert data_of(masked_pair(secret("hush"), None)[0]) == "++++++++"
    assert data_of(masked_pair(secret(None), None)[0]) is None


VALUES = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["canary-1", "canary-2", "canary-3"]))


@given(VALUES, VALUES, VALUES)
def test_no_value_is_ever_shown_and_equality_always_is(
    wanted: dict[str, str], there: dict[str, str], applied: dict[str, str]
) -> None:
    live = with_last_applied(secret(there), json.dumps({**secret(applied), "stringData": wanted}))
    target, shown = masked_pair(secret(wanted), live)
    assert "canary" not in json.dumps([target, shown])
    for name in wanted.keys() & there.keys():
        assert (data_of(target)[name] == data_of(shown)[name]) == (wanted[name] == there[name])
