"""Kubernetes judges how we read and write YAML, from a record and, where Go is, in person.

After a change of the corpus or of the oracle, record again: see scripts/record_yaml_answers.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripts.record_yaml_answers import recorded
from testbed.yamloracle import Answer, ask, read, write
from trimtab.errors import InvalidSpec
from trimtab.resources.digests import canonical
from trimtab.resources.yaml import documents, dump, dump_all, load

CORPUS = Path(__file__).parent / "corpus"
QUESTIONS: dict[str, Any] = json.loads((CORPUS / "questions.json").read_text())
ANSWERS: dict[str, Any] = json.loads((CORPUS / "answers.json").read_text())
DIFFERENCES: dict[str, dict[str, str]] = json.loads((CORPUS / "differences.json").read_text())
REFUSED = DIFFERENCES["refused though Kubernetes reads it"]
READ = DIFFERENCES["read though Kubernetes refuses it"]
WRITTEN = DIFFERENCES["written otherwise than Kubernetes does"]

GoTool = Callable[[str], Path]


def outcome(text: str) -> bytes | None:
    """Our documents in one canonical spelling; None when we refuse the text."""
    try:
        return canonical([document.value for document in documents(text, "corpus")])
    except InvalidSpec:
        return None


def expected(answer: Answer) -> bytes | None:
    return None if "error" in answer else canonical(answer["documents"])


def test_the_corpus_is_large_enough_to_mean_something() -> None:
    sizes = {part: len(QUESTIONS[part]) for part in ("scalars", "documents", "values")}
    assert sizes["scalars"] >= 200
    assert sizes["documents"] >= 50
    assert sizes["values"] >= 100


@pytest.mark.parametrize("scalar", QUESTIONS["scalars"])
def test_a_scalar_means_what_it_means_to_kubernetes(scalar: str) -> None:
    assert outcome(f"v: {scalar}\n") == expected(ANSWERS["scalars"][scalar])


@pytest.mark.parametrize("name", sorted(QUESTIONS["documents"].keys() - REFUSED.keys() - READ.keys()))
def test_a_text_holds_the_documents_that_kubernetes_sees(name: str) -> None:
    assert outcome(QUESTIONS["documents"][name]) == expected(ANSWERS["documents"][name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_kubernetes_would_lose_in_silence_is_refused(name: str) -> None:
    assert "documents" in ANSWERS["documents"][name]
    assert outcome(QUESTIONS["documents"][name]) is None


@pytest.mark.parametrize("name", READ)
def test_what_kubernetes_refuses_without_need_is_read(name: str) -> None:
    assert "error" in ANSWERS["documents"][name]
    assert outcome(QUESTIONS["documents"][name]) is not None


@pytest.mark.parametrize("name", sorted(QUESTIONS["values"].keys() - WRITTEN.keys()))
def test_a_value_is_written_as_kubernetes_writes_it(name: str) -> None:
    assert dump(QUESTIONS["values"][name]) == ANSWERS["values"][name]["text"]


@pytest.mark.parametrize("name", WRITTEN)
def test_what_kubernetes_cannot_write_is_written_otherwise(name: str) -> None:
    assert dump(QUESTIONS["values"][name]) != ANSWERS["values"][name].get("text")


@pytest.mark.parametrize("name", QUESTIONS["values"])
def test_what_was_written_reads_back_the_same(name: str) -> None:
    value = QUESTIONS["values"][name]
    assert canonical(load(dump(value), "corpus")) == canonical(value)


@pytest.mark.real
def test_the_record_is_what_kubernetes_answers_today(go_tool: GoTool) -> None:
    assert recorded(go_tool("yamloracle")) == ANSWERS


@pytest.mark.real
def test_kubernetes_reads_back_whatever_we_write(go_tool: GoTool) -> None:
    values = list(QUESTIONS["values"].values())
    texts = [dump({"v": value}) for value in values]
    answers = ask(go_tool("yamloracle"), [*map(read, texts), read(dump_all([{"v": one} for one in values]))])
    assert [expected(answer) for answer in answers[:-1]] == [canonical([{"v": value}]) for value in values]
    assert expected(answers[-1]) == canonical([{"v": value} for value in values])


TRICKY = st.text(
    st.sampled_from(
        " \t\n\r\x85\u2028\u00a0\ufeff\x00\x7féλ😀ab0189eExXoOyYnNtTfZ.-_:#'\"\\,[]{}&*!|>%@`?~<=+/"
    ),
    max_size=12,
)
WORDS = st.lists(
    st.sampled_from(
        ["true", "null", "yes", "0x", "1e5", "---", "...", "  ", "\n\n", ": ", " #", "2001-01-01"]
    )
    | TRICKY
    | st.just("words that go on and on "),
    max_size=8,
).map("".join)
PLAIN_SCALARS = st.text(
    st.sampled_from("0123456789_+-.:eExXoObBaAfFnNyYtTzZiI~<= #"), min_size=1, max_size=10
)


def is_lost_by_go(text: str) -> bool:
    return not set("\x7f\x85").isdisjoint(text) or text.endswith("\u2028") or text == "<<"


@pytest.mark.real
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scalars=st.lists(PLAIN_SCALARS, min_size=100, max_size=100, unique=True))
def test_random_scalars_mean_what_they_mean_to_kubernetes(go_tool: GoTool, scalars: list[str]) -> None:
    texts = [f"v: {scalar}\n" for scalar in scalars]
    answers = ask(go_tool("yamloracle"), map(read, texts))
    differing = {
        text: (outcome(text), expected(answer))
        for text, answer in zip(texts, answers, strict=True)
        if outcome(text) != expected(answer)
    }
    assert differing == {}


@pytest.mark.real
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(WORDS, min_size=100, max_size=100, unique=True))
def test_random_texts_are_written_as_kubernetes_writes_them(go_tool: GoTool, values: list[str]) -> None:
    nested = [{"key": [value, {value: value}]} for value in values]
    program = go_tool("yamloracle")
    written = ask(program, map(write, nested))
    read_back = ask(program, [read(dump(value)) for value in nested])
    for value, ours, theirs in zip(nested, read_back, written, strict=True):
        assert expected(ours) == canonical([value])
        if not is_lost_by_go(str(value["key"][0])):
            assert dump(value) == theirs["text"]
