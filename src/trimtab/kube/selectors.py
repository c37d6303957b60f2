"""Label and field selectors: read, refused in the API server's words, and matched.

    labels_matching("app=web,tier in (a,b),!old")     the text form of requests
    label_selector({"matchLabels": {...}})            the object form of specs
    fields_matching("metadata.name=web")              field selectors of requests

Pure. Which fields a kind lets its objects be selected by is told by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from trimtab.kube import gotext
from trimtab.kube.refusals import Refused

IN, NOT_IN, EXISTS, ABSENT = "in", "notin", "exists", "!"
EQUALS, DOUBLE_EQUALS, NOT_EQUALS = "=", "==", "!="
GREATER, LESS = "gt", "lt"
OPERATORS = (IN, NOT_IN, EQUALS, DOUBLE_EQUALS, NOT_EQUALS, GREATER, LESS)
OBJECT_OPERATORS = {"In": IN, "NotIn": NOT_IN, "Exists": EXISTS, "DoesNotExist": ABSENT}
EVERY_KIND: Final = ("metadata.name", "metadata.namespace")

LABEL_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_ENDS = "and must start and end with an alphanumeric character"
_RULE = f"consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_KEY_RULE = (
    f"must {_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{LABEL_KEY}')"
)
_VALUE_RULE = (
    f"a valid label must be an empty string or {_RULE}"
    f" (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({LABEL_KEY})?')"
)
_SUBDOMAIN_RULE = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
    f" (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
)


class BadSelector(Refused):
    """A selector that cannot be understood."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)


class Requirement(Struct, frozen=True):
    """One condition on a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet it."""
        value = labels.get(self.key)
        match self.operator:
            case "in" | "=" | "==":
                return value in self.values
            case "notin" | "!=":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        number = _integer(value or "")
        limit = _integer(self.values[0])
        if number is None or limit is None:
            return False
        return number > limit if self.operator == GREATER else number < limit

    def __str__(self) -> str:
        joined = ",".join(sorted(self.values))
        match self.operator:
            case "in" | "notin":
                return f"{self.key} {self.operator} ({joined})"
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case _:
                return f"{self.key}{ {GREATER: '>', LESS: '<'}.get(self.operator, self.operator) }{joined}"


class LabelSelector(Struct, frozen=True):
    """Conditions that all must hold; none at all hold for everything, None for nothing."""

    requirements: tuple[Requirement, ...] | None = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return self.requirements is not None and all(each.matches(labels) for each in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements or ()))


# -- label selectors as text --------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<symbol>==|!=|[=!(),<>])|(?P<word>[^=!(),<> \t\r\n\0]+)\0?|(?P<end>\0|$))"
)
END = ""


def labels_matching(text: str) -> LabelSelector:
    """Read a label selector as requests carry it."""
    return LabelSelector(tuple(sorted(_Reader(text).requirements(), key=lambda each: each.key)))


class _Reader:
    """Reads one selector from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def requirements(self) -> Iterator[Requirement]:
        """All conditions, or the first thing that is wrong with them."""
        while self._next != END:
            if not self._is_word and self._next != "!":
                raise BadSelector(f"found '{self._next}', expected: !, identifier, or 'end of string'")
            yield self._requirement()
            after = self._take()
            if after == END:
                return
            if after != ",":
                raise BadSelector(f"found '{after}', expected: ',' or 'end of string'")
            if not self._is_word and self._next != "!":
                raise BadSelector(f"found '{self._next}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        forbids = self._next == "!"
        if forbids:
            self._take()
        if not self._is_word:
            raise _unparsable(f"found '{self._next}', expected: identifier")
        key = self._take()
        wrong = "; ".join(label_key_problems(key))
        if wrong:
            raise _unparsable(f"<nil>: Invalid value: {gotext.quoted(key)}: {wrong}")
        if forbids or self._next in (END, ","):
            return Requirement(key, ABSENT if forbids else EXISTS)
        operator = self._operator()
        values = self._values() if operator in (IN, NOT_IN) else {self._value()}
        requirement = Requirement(key, operator, tuple(sorted(values)))
        problems = list(_problems(requirement))
        if problems:
            raise _unparsable(_together(problems))
        return requirement

    def _operator(self) -> str:
        found = self._take()
        operator = {">": GREATER, "<": LESS}.get(found, found)
        if operator not in OPERATORS or found in (GREATER, LESS):
            raise _unparsable(f"found '{found}', expected: {', '.join(OPERATORS)}")
        return operator

    def _value(self) -> str:
        if self._next in (END, ","):
            return ""
        if not self._is_word:
            raise _unparsable(f"found '{self._next}', expected: identifier")
        return self._take()

    def _values(self) -> set[str]:
        opening = self._take()
        if opening != "(":
            raise _unparsable(f"found '{opening}' expected: '('")
        if not self._is_word and self._next not in (",", ")"):
            raise _unparsable(f"found '{self._next}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            values.add(self._take() if self._is_word else "")
            after = self._take()
            if after == ")":
                return values
            if after != ",":
                raise _unparsable(f"found '{after}', expected: ',' or ')'")
            if not self._is_word and self._next not in (",", ")"):
                raise _unparsable(f"found '{self._next}', expected: ',', or identifier")

    @property
    def _next(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else END

    @property
    def _is_word(self) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][1]

    def _take(self) -> str:
        token = self._next
        self._at += 1
        return token


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Symbols and words, and whether it is a word."""
    for found in _TOKEN.finditer(text):
        if found.group("end") is not None:
            return
        word = found.group("word")
        yield (word, True) if word else (found.group("symbol"), False)


def _unparsable(reason: str) -> BadSelector:
    return BadSelector(f"unable to parse requirement: {reason}")


def _together(problems: Sequence[str]) -> str:
    """Several problems in one sentence."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _problems(requirement: Requirement) -> Iterator[str]:
    """What is wrong with a condition's values."""
    if requirement.operator in (GREATER, LESS):
        for place, value in enumerate(requirement.values):
            if _integer(value) is None:
                told = "for 'Gt', 'Lt' operators, the value must be an integer"
                yield f"values[{place}]: Invalid value: {gotext.quoted(value)}: {told}"
    for place, value in enumerate(requirement.values):
        wrong = "; ".join(label_value_problems(value))
        if wrong:
            where = f"values[{place}][{requirement.key}]"
            yield f"{where}: Invalid value: {gotext.quoted(value)}: {wrong}"


def _integer(text: str) -> int | None:
    if not re.fullmatch(r"[+-]?[0-9]{1,63}", text):  # labels have no more characters
        return None
    return int(text) if -(1 << 63) <= int(text) < 1 << 63 else None


def label_key_problems(key: str) -> list[str]:
    """What is wrong with the key of a label."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_RULE} {optional}"]
    found = [f"prefix part {problem}" for problem in _subdomain_problems(prefix)] if slash else []
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        found.append("name part must be no more than 63 bytes")
    if not re.fullmatch(LABEL_KEY, name):
        found.append(f"name part {_KEY_RULE}")
    return found


def label_value_problems(value: str) -> list[str]:
    """What is wrong with the value of a label."""
    found = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
    return found if re.fullmatch(f"({LABEL_KEY})?", value) else [*found, _VALUE_RULE]


def _subdomain_problems(text: str) -> list[str]:
    if not text:
        return ["must be non-empty"]
    found = ["must be no more than 253 bytes"] if len(text.encode()) > 253 else []
    return found if re.fullmatch(SUBDOMAIN, text) else [*found, _SUBDOMAIN_RULE]


# -- label selectors as objects -----------------------------------------------------------------------------


def label_selector(selector: Mapping[str, Any] | None) -> LabelSelector:
    """Read a LabelSelector object; none selects nothing, an empty one everything."""
    if selector is None:
        return LabelSelector(None)
    labels = selector.get("matchLabels") or {}
    found = [_checked(Requirement(key, EQUALS, (value,))) for key, value in labels.items()]
    found.extend(_checked(_expression(each)) for each in selector.get("matchExpressions") or ())
    return LabelSelector(tuple(sorted(found, key=lambda each: each.key)))


def _expression(expression: Mapping[str, Any]) -> Requirement:
    name = expression.get("operator", "")
    if name not in OBJECT_OPERATORS:
        raise BadSelector(f"{gotext.quoted(name)} is not a valid label selector operator")
    values = tuple(expression.get("values") or ())
    return Requirement(expression.get("key", ""), OBJECT_OPERATORS[name], values)


def _checked(requirement: Requirement) -> Requirement:
    problems = []
    wrong = "; ".join(label_key_problems(requirement.key))
    if wrong:
        problems.append(f"key: Invalid value: {gotext.quoted(requirement.key)}: {wrong}")
    if requirement.operator in (IN, NOT_IN) and not requirement.values:
        problems.append("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")
    if requirement.operator in (EXISTS, ABSENT) and requirement.values:
        given = gotext.to_json(list(requirement.values))
        told = "values set must be empty for exists and does not exist"
        problems.append(f"values: Invalid value: {given}: {told}")
    problems.extend(_problems(requirement))
    if problems:
        raise BadSelector(_together(problems))
    return requirement


# -- field selectors ----------------------------------------------------------------------------------------


class FieldTerm(Struct, frozen=True):
    """One condition on a field: that it has this value, or has not."""

    field: str
    value: str
    negated: bool = False


class FieldSelector(Struct, frozen=True):
    """Conditions on fields that all must hold."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these selectable fields is selected; a field that is not there is empty."""
        return all((fields.get(term.field, "") == term.value) != term.negated for term in self.terms)

    def required(self, field: str) -> str | None:
        """The value that a field must have, if only one will do."""
        return next((term.value for term in self.terms if term.field == field and not term.negated), None)


_TERM = re.compile(r"(?P<field>.*?)(?P<operator>!=|==|=)(?P<value>.*)", re.DOTALL)
_PARTS = re.compile(r"(?:\\.|[^,\\]|\\$)+", re.DOTALL)


class Selectable(Struct, frozen=True):
    """The fields that a kind lets its objects be selected by, and how it refuses others.

    Of the words, `{field}` stands for what was asked for, and `{quoted}` for the same in quotes.
    """

    fields: Collection[str] = EVERY_KIND
    refusal: str = '{quoted} is not a known field selector: only "metadata.name", "metadata.namespace"'


PLAIN: Final = Selectable()


def fields_matching(text: str, selectable: Selectable = PLAIN) -> FieldSelector:
    """Read a field selector as requests carry it; a term that says nothing at all asks for nothing."""
    terms = [_term(text, part) for part in sorted(_PARTS.findall(text))]
    asked = tuple(term for term in terms if term.field or term.value)
    for term in asked:
        if term.field not in selectable.fields:
            told = selectable.refusal.format(field=term.field, quoted=gotext.quoted(term.field))
            raise BadSelector(told)
    return FieldSelector(asked)


def _term(text: str, part: str) -> FieldTerm:
    found = _TERM.fullmatch(part)
    if found is None:
        raise BadSelector(f"invalid selector: '{text}'; can't understand '{part}'")
    return FieldTerm(found["field"], _unescaped(found["value"]), found["operator"] == NOT_EQUALS)


def _unescaped(value: str) -> str:
    result = ""
    chars = iter(value)
    for char in chars:
        if char == "\\":
            escaped = next(chars, "")
            if not escaped or escaped not in "\\,=":
                raise BadSelector(f"invalid field selector: invalid escape sequence: \\{escaped}")
            result += escaped
        elif char in ",=":
            raise BadSelector(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            result += char
    return result
