"""Secrets are shown without their values, whatever shape they come in."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.resources.secrets import LAST_APPLIED, StandIns, is_secret

HIDE = StandIns(b"0123456789abcdef")
CANARY = "hunter2-canary"
ENCODED = base64.b64encode(CANARY.encode()).decode()


def secret(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, **fields}


def shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


COPIED = {"annotations": {LAST_APPLIED: shown({"data": {"a": CANARY}})}}


def is_hidden(text: str) -> bool:
    return CANARY not in text and ENCODED not in text and ENCODED.rstrip("=") not in text


def test_the_same_value_has_the_same_stand_in() -> None:
    assert HIDE.stand_in("a") == HIDE.stand_in(b"a") == StandIns(b"0123456789abcdef").stand_in("a")


def test_another_value_or_another_key_has_another_stand_in() -> None:
    others = {HIDE.stand_in("a"), HIDE.stand_in("b"), StandIns(b"another key 1234").stand_in("a")}
    assert len(others) == 3


def test_a_stand_in_does_not_tell_the_length() -> None:
    assert {len(HIDE.stand_in("x" * size)) for size in (0, 1, 1000)} == {39}


@pytest.mark.parametrize("size", [0, 15, 65])
def test_a_key_has_a_sensible_length(size: int) -> None:
    with pytest.raises(ValueError, match="the key needs 16 to 64 bytes"):
        StandIns(b"x" * size)


def test_data_and_string_data_of_one_value_agree() -> None:
    masked = HIDE.masked(secret(data={"a": ENCODED, "b": "no base64!"}, stringData={"a": CANARY, "c": ""}))
    assert masked["data"]["a"] == masked["stringData"]["a"] == HIDE.stand_in(CANARY)
    assert masked["data"]["b"] == HIDE.stand_in("no base64!")
    assert masked["stringData"]["c"] == HIDE.stand_in("")


def test_what_is_no_secret_is_left_alone() -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": CANARY}}
    assert HIDE.masked(manifest) is manifest


def test_masking_leaves_the_secret_itself_alone() -> None:
    manifest = secret(data={"a": ENCODED})
    HIDE.masked(manifest)
    assert manifest == secret(data={"a": ENCODED})


def test_everything_but_values_stays_visible() -> None:
    manifest = secret(type="Opaque", immutable=True, data={"password": ENCODED})
    assert HIDE.masked(manifest) == {**manifest, "data": {"password": HIDE.stand_in(CANARY)}}


def test_the_last_applied_configuration_is_masked_inside() -> None:
    applied = shown(secret(data={"a": ENCODED}, stringData={"b": CANARY}))
    manifest = secret(metadata={"name": "a", "annotations": {LAST_APPLIED: applied, "note": "hi"}})
    annotations = HIDE.masked(manifest)["metadata"]["annotations"]
    assert annotations["note"] == "hi"
    assert json.loads(annotations[LAST_APPLIED]) == HIDE.masked(json.loads(applied))


@pytest.mark.parametrize(
    "manifest",
    [
        secret(data=ENCODED),
        secret(data=[ENCODED]),
        secret(data={"a": [CANARY], "b": {"c": CANARY}, "d": 5}),
        secret(data={"a": CANARY}),
        secret(stringData=CANARY),
        secret(Data={"a": CANARY}),
        secret(password=CANARY),
        secret(type={"a": CANARY}),
        secret(metadata=CANARY),
        secret(metadata={"data": {"a": CANARY}}),
        secret(metadata={"annotations": CANARY}),
        secret(metadata={"annotations": {LAST_APPLIED: CANARY}}),
        secret(metadata={"annotations": {LAST_APPLIED: shown({"data": {"a": ENCODED}})}}),
        secret(metadata={"annotations": {LAST_APPLIED: shown([CANARY])}}),
        secret(metadata={"annotations": {LAST_APPLIED: {"data": CANARY}}}),
        secret(metadata={"annotations": {LAST_APPLIED: '{"data": "' + CANARY}}),
        secret(metadata={"annotations": {LAST_APPLIED: "[" * 5000 + CANARY}}),
        secret(metadata={"annotations": {LAST_APPLIED: '{"metadata":' * 400 + f'"{CANARY}"' + "}" * 400}}),
        secret(metadata={"annotations": {LAST_APPLIED: shown(secret(metadata=COPIED))}}),
        secret(metadata={"annotations": {"kapp.k14s.io/original": shown({"data": {"a": ENCODED}})}}),
        secret(data={"a": ENCODED}, metadata={"annotations": {"copy": f"the password is {CANARY}"}}),
        secret(stringData={"a": CANARY}, metadata={"annotations": {"copy": ENCODED}}),
        {"kind": " secret ", "data": {"a": CANARY}},
        {"kind": "Secret", "apiVersion": ["v1"], "data": {"a": CANARY}},
        {"apiVersion": "v1", "kind": "List", "items": [secret(data={"a": ENCODED}), "x"]},
        {"apiVersion": "v1", "kind": "SecretList", "items": [{"data": {"a": ENCODED}}, CANARY]},
        {"kind": "List", "items": [{"kind": "List", "items": [secret(stringData={"a": CANARY})]}]},
    ],
)  # fmt: skip
def test_no_value_is_shown_however_the_secret_is_malformed(manifest: dict[str, Any]) -> None:
    assert is_hidden(shown(HIDE.masked(manifest)))


def test_lists_in_lists_without_end_are_hidden_whole() -> None:
    manifest: dict[str, Any] = secret(data={"a": ENCODED})
    for _ in range(2000):
        manifest = {"kind": "List", "items": [manifest]}
    assert is_hidden(shown(HIDE.masked(manifest)))


@pytest.mark.parametrize(
    ("kind", "expected"), [("Secret", True), ("SealedSecret", False), (None, False), (5, False)]
)
def test_a_secret_is_known_by_its_kind(kind: Any, *, expected: bool) -> None:
    assert is_secret({"kind": kind}) is expected


PLACES = st.recursive(
    st.sampled_from([CANARY, ENCODED, None, 1, "other"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["data", "stringData", "Data", "spec", "x"])


@settings(deadline=None)
@given(
    st.dictionaries(FIELDS, PLACES, max_size=4),
    st.dictionaries(st.sampled_from([LAST_APPLIED, "kapp.k14s.io/original"]), PLACES, max_size=2),
    st.dictionaries(FIELDS, PLACES, max_size=2),
)
def test_a_canary_is_never_in_the_masked_output(
    fields: dict[str, Any], annotations: dict[str, Any], misplaced: dict[str, Any]
) -> None:
    texts = {name: value if isinstance(value, str) else shown(value) for name, value in annotations.items()}
    applied = shown(secret(**fields, metadata={"annotations": texts, **misplaced}))
    manifest = secret(
        **fields, metadata={"name": "a", **misplaced, "annotations": {**texts, LAST_APPLIED: applied}}
    )
    assert is_hidden(shown(HIDE.masked(manifest)))


@settings(deadline=None)
@given(st.binary(max_size=40), st.binary(max_size=40))
def test_stand_ins_are_equal_exactly_when_values_are(one: bytes, other: bytes) -> None:
    assert (HIDE.stand_in(one) == HIDE.stand_in(other)) is (one == other)
