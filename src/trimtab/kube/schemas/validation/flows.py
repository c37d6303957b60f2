"""What is wrong with how requests to the server itself are shared out: flows and levels of priority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    entries,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
)
from trimtab.kube.schemas.validation.names import dns_subdomain, in_range

Json = Mapping[str, Any]
METHODS = ("ByNamespace", "ByUser")
SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
LEAST_PRECEDENCE, MOST_QUEUES = 10000, 10_000_000
EXEMPT = "exempt"


def flow_schema(manifest: Json) -> Causes:
    """What is wrong with a FlowSchema."""
    spec = part(manifest, "spec")
    yield from _precedence(spec.get("matchingPrecedence", 0), part(manifest, "metadata").get("name", ""))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type", "") not in METHODS:
        shown = Shown((("Type", method.get("type", "")),))
        yield not_supported("spec.distinguisherMethod.type", shown, METHODS)
    level, path = (
        part(spec, "priorityLevelConfiguration").get("name", ""),
        "spec.priorityLevelConfiguration.name",
    )
    if not level:
        yield required(path, "must reference a priority level")
    else:
        yield from each_invalid(path, level, dns_subdomain(level))
    for number, rule in entries(spec.get("rules")):
        yield from _rule(rule, f"spec.rules[{number}]")


def _precedence(precedence: int, name: str) -> Causes:
    path = "spec.matchingPrecedence"
    if precedence <= 0:
        yield invalid(path, precedence, "must be a positive value")
    if precedence > LEAST_PRECEDENCE:
        yield invalid(path, precedence, f"must not be greater than {LEAST_PRECEDENCE}")
    if precedence == 1 and name != EXEMPT:
        yield invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")


def _rule(rule: Json, path: str) -> Causes:
    subjects = rule.get("subjects") or []
    if not subjects:
        yield required(f"{path}.subjects", "subjects must contain at least one value")
    for number, subject in entries(subjects):
        yield from _subject(subject, f"{path}.subjects[{number}]")
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        yield required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for number, each in entries(rule.get("resourceRules")):
        yield from _resources(each, f"{path}.resourceRules[{number}]")
    for number, each in entries(rule.get("nonResourceRules")):
        yield from _addresses(each, f"{path}.nonResourceRules[{number}]")


def _subject(subject: Json, path: str) -> Causes:
    kind = subject.get("kind", "")
    if kind not in SUBJECTS:
        yield not_supported(f"{path}.kind", kind, tuple(SUBJECTS))
        return
    for each, field in reversed(SUBJECTS.items()):
        given = subject.get(field)
        if each != kind and given is not None:
            yield forbidden(f"{path}.{field}", f"{field} is forbidden when subject kind is not '{each}'")
        elif each == kind and given is None:
            yield required(f"{path}.{field}", f"{field} is required when subject kind is '{each}'")
        elif given is not None:
            yield from _name(given, f"{path}.{field}", in_namespace=kind == "ServiceAccount")


def _name(given: Json, path: str, *, in_namespace: bool) -> Causes:
    name, namespace = given.get("name", ""), given.get("namespace", "")
    if not name:
        yield required(f"{path}.name")
    elif in_namespace and name != "*":
        yield from each_invalid(f"{path}.name", name, dns_subdomain(name))
    if in_namespace and not namespace:
        yield required(f"{path}.namespace", "must specify namespace for service account")


def _resources(rule: Json, path: str) -> Causes:
    yield from _verbs(rule.get("verbs") or [], f"{path}.verbs")
    for field, what, one in (
        ("apiGroups", "api groups", "api group"),
        ("resources", "resources", "resource"),
    ):
        yield from _words(
            rule.get(field) or [], f"{path}.{field}", what, f"resource rules must supply at least one {one}"
        )
    spaces = rule.get("namespaces") or []
    if not spaces and not rule.get("clusterScope"):
        told = "resource rules that are not cluster scoped must supply at least one namespace"
        yield required(f"{path}.namespaces", told)
    elif spaces:
        yield from _words(spaces, f"{path}.namespaces", "namespaces", "")


def _verbs(verbs: Sequence[str], path: str) -> Causes:
    yield from _words(verbs, path, "verbs", "verbs must contain at least one value")
    if verbs and "*" not in verbs and not {*verbs} <= {*VERBS}:
        yield not_supported(path, verbs, VERBS)


def _words(words: Sequence[str], path: str, what: str, missing: str) -> Causes:
    if not words:
        yield required(path, missing)
    elif "*" in words and len(words) > 1:
        yield invalid(path, words, f"if '*' is present, must not specify other {what}")


def _addresses(rule: Json, path: str) -> Causes:
    yield from _verbs(rule.get("verbs") or [], f"{path}.verbs")
    given, place = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    yield from _words(given, place, "non-resource URLs", "nonResourceURLs must contain at least one value")
    for number, each in enumerate(() if "*" in given else given):
        yield from _address(each, f"{place}[{number}]")


def _address(text: str, path: str) -> Causes:
    if not text:
        yield invalid(path, text, "must not be empty")
    elif text == "/":
        return
    elif not text.startswith("/"):
        yield invalid(path, text, "must start with slash")
    elif " " in text:
        yield invalid(path, text, "must not contain white-space")
    elif "//" in text:
        yield invalid(path, text, "must not contain double slash")
    elif ("*" in text and not text.endswith("/*")) or text.count("*") > 1:
        yield invalid(path, text, "wildcard can only do suffix matching")


# -- levels -----------------------------------------------------------------------------------------------


def priority_level(manifest: Json) -> Causes:
    """What is wrong with a PriorityLevelConfiguration."""
    spec, name = part(manifest, "spec"), part(manifest, "metadata").get("name", "")
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    if (name == EXEMPT) != (kind == "Exempt") and kind in ("Exempt", "Limited"):
        told = "must be 'Exempt' if and only if `name` is 'exempt'"
        yield invalid("spec.type", kind, told)
    if kind == "Exempt":
        if limited is not None:
            yield forbidden("spec.limited", "must be nil if the type is not Limited")
        return
    if kind != "Limited":
        yield not_supported("spec.type", kind, ("Exempt", "Limited"))
        return
    if exempt is not None:
        yield forbidden("spec.exempt", "must be nil if the type is Limited")
    if limited is None:
        yield required("spec.limited", "must not be empty when type is Limited")
    else:
        yield from _limited(limited, "spec.limited")


def _limited(limited: Json, path: str) -> Causes:
    shares = limited.get("nominalConcurrencyShares") or 0
    if shares < 0:
        yield invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    yield from _response(part(limited, "limitResponse"), f"{path}.limitResponse")
    lent, borrowed = limited.get("lendablePercent"), limited.get("borrowingLimitPercent")
    if lent is not None:
        yield from each_invalid(f"{path}.lendablePercent", lent, in_range(lent, 0, 100))
    if borrowed is not None and borrowed < 0:
        told = "if specified, must be a non-negative integer"
        yield invalid(f"{path}.borrowingLimitPercent", borrowed, told)


def _response(response: Json, path: str) -> Causes:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Reject" and queuing is not None:
        told = "must be nil if limited.limitResponse.type is not Limited"
        yield forbidden(f"{path}.queuing", told)
    elif kind == "Queue" and queuing is None:
        told = "must not be empty if limited.limitResponse.type is Limited"
        yield required(f"{path}.queuing", told)
    elif kind == "Queue":
        yield from _queuing(part(response, "queuing"), f"{path}.queuing")
    elif kind != "Reject":
        yield not_supported(f"{path}.type", kind, ("Queue", "Reject"))


def _queuing(queuing: Json, path: str) -> Causes:
    queues, hand, length = (queuing.get(name, 0) for name in ("queues", "handSize", "queueLengthLimit"))
    if length <= 0:
        yield invalid(f"{path}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        yield invalid(f"{path}.queues", queues, "must be positive")
    elif queues > MOST_QUEUES:
        yield invalid(f"{path}.queues", queues, f"must not be greater than {MOST_QUEUES}")
    if hand <= 0:
        yield invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        yield invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
