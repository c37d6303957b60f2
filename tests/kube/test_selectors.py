"""Label and field selectors: what they select, and the words in which they are refused."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kube.servers import Server
from trimtab.kube.refusals import Refused
from trimtab.kube.selectors import (
    FieldSelector,
    LabelSelector,
    Selectable,
    fields_matching,
    label_selector,
    labels_matching,
)

CHARACTERS = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character"
)
NAME = (
    f"must {CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    f"a valid label must be an empty string or {CHARACTERS} (e.g. 'MyValue',  or 'my_value',  or '12345',"
    " regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
PREFIX = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
DOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
PARSE = "unable to parse requirement: "
NOT_WHOLE = "for 'Gt', 'Lt' operators, the value must be an integer"
LONG = "9" * 5000
TOO_LONG = f'values[0][a]: Invalid value: "{LONG}": must be no more than 63 bytes'
KEY = f"{PARSE}<nil>: Invalid value: "
OPERATORS = "expected: in, notin, =, ==, !=, gt, lt"
OBJECTS: dict[str, dict[str, str]] = {
    "plain": {},
    "web": {"app": "web", "tier": "front"},
    "db": {"app": "db", "empty": ""},
    "five": {"n": "5", "app": "web"},
}
SELECTIONS: list[tuple[str, str]] = [
    ("", "plain web db five"),
    ("app", "web db five"),
    ("!app", "plain"),
    ("! app", "plain"),
    ("app=web", "web five"),
    ("app==web", "web five"),
    (" app \t=\n web ", "web five"),
    ("app!=web", "plain db"),
    ("app in (web,db)", "web db five"),
    ("app in (db)", "db"),
    ("app notin (web)", "plain db"),
    ("app in ()", ""),
    ("empty in (,)", "db"),
    ("empty in (x,,y)", "db"),
    ("empty in (x,)", "db"),
    ("empty=", "db"),
    ("empty!=", "plain web five"),
    ("app=web,tier", "web"),
    ("app=web,!tier", "five"),
    ("n>4", "five"),
    ("n<6", "five"),
    ("n>5", ""),
    ("app>1", ""),
    ("in", ""),
    ("app in (in,notin,web)", "web five"),
    ("app=notin", ""),
    ("a.b/c=d", ""),
]
REFUSALS: list[tuple[str, str]] = [
    ("a in b", f"{PARSE}found 'b' expected: '('"),
    ("a in (b", f"{PARSE}found '', expected: ',' or ')'"),
    ("a in (b,", f"{PARSE}found '', expected: ',', or identifier"),
    ("a in (b c)", f"{PARSE}found 'c', expected: ',' or ')'"),
    ("a in (=)", f"{PARSE}found '=', expected: ',', ')' or identifier"),
    ("a,", "found '', expected: identifier after ','"),
    ("a,,b", "found ',', expected: identifier after ','"),
    (",a", "found ',', expected: !, identifier, or 'end of string'"),
    ("=b", "found '=', expected: !, identifier, or 'end of string'"),
    ("(", "found '(', expected: !, identifier, or 'end of string'"),
    ("a b", f"{PARSE}found 'b', {OPERATORS}"),
    ("a gt 1", f"{PARSE}found 'gt', {OPERATORS}"),
    ("a)", f"{PARSE}found ')', {OPERATORS}"),
    ("a!b", f"{PARSE}found '!', {OPERATORS}"),
    ("a\x00b", f"{PARSE}found 'b', {OPERATORS}"),
    ("a=b=c", "found '=', expected: ',' or 'end of string'"),
    ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ("!a=b", "found '=', expected: ',' or 'end of string'"),
    ("a=(", f"{PARSE}found '(', expected: identifier"),
    ("a===b", f"{PARSE}found '=', expected: identifier"),
    ("a<>b", f"{PARSE}found '>', expected: identifier"),
    ("!", f"{PARSE}found '', expected: identifier"),
    (
        "a>x",
        f'{PARSE}values[0]: Invalid value: "x": {NOT_WHOLE}',
    ),
    ("a>", f'{PARSE}values[0]: Invalid value: "": {NOT_WHOLE}'),
    (
        f"a>{LONG}",
        f'{PARSE}[values[0]: Invalid value: "{LONG}": {NOT_WHOLE}, {TOO_LONG}]',
    ),
    ("/a", f'{KEY}"/a": prefix part must be non-empty'),
    ("a/", f'{KEY}"a/": name part must be non-empty; name part {NAME}'),
    ("a/b/c", f'{KEY}"a/b/c": a valid label key {NAME} {PREFIX}'),
    ("-a", f'{KEY}"-a": name part {NAME}'),
    ("é", f'{KEY}"é": name part {NAME}'),
    ("x" * 64, f'{KEY}"{"x" * 64}": name part must be no more than 63 bytes'),
    ("UPPER/a", f'{KEY}"UPPER/a": prefix part {DOMAIN}'),
    (
        "x." * 130 + "/a",
        f'{KEY}"{"x." * 130}/a": prefix part must be no more than 253 bytes; prefix part {DOMAIN}',
    ),
    ("a=-", f'{PARSE}values[0][a]: Invalid value: "-": {VALUE}'),
    ('a=="b"', f'{PARSE}values[0][a]: Invalid value: "\\"b\\"": {VALUE}'),
    ("a=" + "x" * 64, f'{PARSE}values[0][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes'),
    (
        "a in (-y,-x)",
        f'{PARSE}[values[0][a]: Invalid value: "-x": {VALUE}, values[1][a]: Invalid value: "-y": {VALUE}]',
    ),
]
FIELD_SELECTIONS: list[tuple[str, str]] = [
    ("", "plain web db five"),
    (",", "plain web db five"),
    ("metadata.name=web", "web"),
    ("metadata.name==web", "web"),
    ("metadata.name!=web", "plain db five"),
    ("metadata.name=web,", "web"),
    ("metadata.name=web,metadata.name=db", ""),
    ("metadata.name=", ""),
    ("metadata.name=a\\,b", ""),
    ("metadata.name=a b", ""),
]
UNKNOWN = 'is not a known field selector: only "metadata.name", "metadata.namespace"'
FIELD_REFUSALS: list[tuple[str, str]] = [
    ("spec.x=1", f'"spec.x" {UNKNOWN}'),
    ("=a", f'"" {UNKNOWN}'),
    ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
    ("metadata.name=a,bogus", "invalid selector: 'metadata.name=a,bogus'; can't understand 'bogus'"),
    ("metadata.name>a", "invalid selector: 'metadata.name>a'; can't understand 'metadata.name>a'"),
    ("metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"),
    ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
    ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
    ("metadata.name=a,,spec.x=1", f'"spec.x" {UNKNOWN}'),
]


@pytest.mark.parametrize(("text", "selected"), SELECTIONS)
def test_a_label_selector_selects(text: str, selected: str) -> None:
    selector = labels_matching(text)
    assert " ".join(name for name, labels in OBJECTS.items() if selector.matches(labels)) == selected


@pytest.mark.parametrize(("text", "message"), REFUSALS)
def test_a_label_selector_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        labels_matching(text)
    assert (refused.value.code, refused.value.word, refused.value.message) == (400, "BadRequest", message)


@pytest.mark.parametrize(("text", "selected"), FIELD_SELECTIONS)
def test_a_field_selector_selects(text: str, selected: str) -> None:
    selector = fields_matching(text)
    fields = {name: {"metadata.name": name, "metadata.namespace": "default"} for name in OBJECTS}
    assert " ".join(name for name in OBJECTS if selector.matches(fields[name])) == selected


@pytest.mark.parametrize(("text", "message"), FIELD_REFUSALS)
def test_a_field_selector_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        fields_matching(text)
    assert (refused.value.code, refused.value.message) == (400, message)


def test_the_facts_about_selectors_hold_on_a_real_server(server: Server) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "selecting"}}
    assert server.send("POST", "/api/v1/namespaces", namespace)[0] == 201
    folder = "/api/v1/namespaces/selecting/configmaps"
    for name, labels in OBJECTS.items():
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}
        assert server.send("POST", folder, body)[0] == 201
    for parameter, selections, refusals in (
        ("labelSelector", SELECTIONS, REFUSALS),
        ("fieldSelector", FIELD_SELECTIONS, FIELD_REFUSALS),
    ):
        for text, selected in selections:
            listed = server.get(f"{folder}?{parameter}={quote(text)}")
            found = {each["metadata"]["name"] for each in listed["items"]}
            assert found == set(selected.split()), text
        for text, message in refusals:
            code, answer = server.send("GET", f"{folder}?{parameter}={quote(text)}")
            assert (code, answer["message"]) == (400, message), text
    code, answer = server.send("GET", "/api/v1/namespaces/default/pods?fieldSelector=spec.bogus%3D1")
    assert (code, answer["message"]) == (400, "field label not supported: spec.bogus")


def test_a_kind_with_fields_of_its_own_refuses_others_in_other_words() -> None:
    own = Selectable(("metadata.name", "spec.nodeName"), "{field} is no {quoted}")
    assert fields_matching("spec.nodeName=n", own).matches({"spec.nodeName": "n"})
    with pytest.raises(Refused, match=r'spec\.bogus is no "spec\.bogus"'):
        fields_matching("spec.bogus=1", own)


def test_a_field_selector_tells_the_one_value_that_a_field_must_have() -> None:
    selector = fields_matching("metadata.name!=a,metadata.name=b,metadata.namespace!=c")
    assert selector.required("metadata.name") == "b"
    assert selector.required("metadata.namespace") is None


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, ""),
        ({}, "plain web db five"),
        ({"matchLabels": {"app": "web"}}, "web five"),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "x"]}]}, "db"),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, "plain db"),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, "web"),
        (
            {
                "matchLabels": {"app": "web"},
                "matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}],
            },
            "five",
        ),
    ],
)
def test_a_selector_object_selects(selector: Any, selected: str) -> None:
    found = label_selector(selector)
    assert " ".join(name for name, labels in OBJECTS.items() if found.matches(labels)) == selected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"key": "a", "operator": "Gt", "values": ["1"]}, '"Gt" is not a valid label selector operator'),
        (
            {"key": "a", "operator": "In"},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["x"]},
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
        ({"key": "-", "operator": "Exists"}, f'key: Invalid value: "-": name part {NAME}'),
    ],
)
def test_a_selector_object_is_refused(expression: Any, message: str) -> None:
    with pytest.raises(Refused) as refused:
        label_selector({"matchExpressions": [expression]})
    assert refused.value.message == message


def test_a_selector_is_written_in_the_order_of_its_keys() -> None:
    text = "z,b in (y,x),a=1,!c,d!=2,e>3,f<4"
    assert str(labels_matching(text)) == "a=1,b in (x,y),!c,d!=2,e>3,f<4,z"


@given(st.text(alphabet="ab/!=(),<> in", max_size=12))
def test_any_text_is_read_or_refused_and_what_is_read_can_be_read_again(text: str) -> None:
    try:
        selector = labels_matching(text)
    except Refused:
        return
    assert isinstance(selector, LabelSelector)
    assert labels_matching(str(selector)) == selector


@given(st.text(alphabet="metadata.name=!\\,", max_size=20))
def test_any_text_is_read_as_field_selector_or_refused(text: str) -> None:
    try:
        selector = fields_matching(text)
    except Refused:
        return
    assert isinstance(selector, FieldSelector)
