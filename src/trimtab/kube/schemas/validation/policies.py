"""What is wrong with admission policies and their bindings; what their CEL says is not looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    each_invalid,
    entries,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
)
from trimtab.kube.schemas.validation.names import dns_1035_label, dns_subdomain, path_segment, qualified_name
from trimtab.kube.schemas.validation.selectors import label_selector
from trimtab.kube.schemas.validation.webhooks import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    choices,
    conditions,
    rule_causes,
)

Json = Mapping[str, Any]
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS = ("Audit", "Deny", "Warn")
NOT_FOUND_ACTIONS = ("Deny", "Allow")
PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
EITHER = "validations or auditAnnotations must contain at least one item"
BOTH = "name and selector are mutually exclusive"
TWICE_TOLD = (
    "must not contain both Deny and Warn (repeating the same validation failure information "
    "in the API response and headers serves no purpose)"
)
IDENTIFIER = r"[_a-zA-Z][_a-zA-Z0-9]*"
RESERVED = (
    "as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return"
    "|true|var|void|while"
)


def validating_policy(manifest: Json) -> Causes:
    """What is wrong with a ValidatingAdmissionPolicy."""
    spec = part(manifest, "spec")
    yield from _policy(spec)
    checks, notes = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not checks and not notes:
        yield required("spec.validations", EITHER)
        yield required("spec.auditAnnotations", EITHER)
        return
    for number, check in entries(checks):
        yield from _check(check, f"spec.validations[{number}]")
    yield from _notes(notes, part(manifest, "metadata").get("name", ""))


def _policy(spec: Json) -> Causes:
    """What both kinds of policies have."""
    yield from choices(spec, {"failurePolicy": FAILURE_POLICIES}, "spec")
    if spec.get("paramKind") is not None:
        yield from _kind(spec["paramKind"], "spec.paramKind")
    matched = spec.get("matchConstraints")
    if matched is None:
        yield required("spec.matchConstraints")
    else:
        yield from _matched(matched, "spec.matchConstraints")
        if not matched.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
    yield from conditions(spec.get("matchConditions") or [], "spec.matchConditions")
    for number, variable in entries(spec.get("variables")):
        yield from _variable(variable, f"spec.variables[{number}]")


def _kind(kind: Json, path: str) -> Causes:
    version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    group, _, number = version.rpartition("/")
    place = f"{path}.apiVersion"
    if not version:
        yield required(place)
    elif version.count("/") > 1:
        yield invalid(place, version, f"unexpected GroupVersion string: {version}")
    else:
        for text, wrong in ((group, dns_subdomain(group) if group else ()), (number, dns_1035_label(number))):
            yield from each_invalid(place, text, (",".join(wrong),) if wrong else ())
    wrong = dns_1035_label(name.lower())
    if not name:
        yield required(f"{path}.kind")
    elif wrong:
        told = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        yield invalid(f"{path}.kind", name, told)


def _matched(matched: Json, path: str) -> Causes:
    yield from choices(matched, {"matchPolicy": MATCH_POLICIES}, path)
    for field in ("namespaceSelector", "objectSelector"):
        yield from label_selector(matched.get(field), f"{path}.{field}")
    for field in ("resourceRules", "excludeResourceRules"):
        for number, rule in entries(matched.get(field)):
            yield from _named_rule(rule, f"{path}.{field}[{number}]")


def _named_rule(rule: Json, path: str) -> Causes:
    seen: set[str] = set()
    for number, name in entries(rule.get("resourceNames")):
        place = f"{path}.resourceNames[{number}]"
        yield from each_invalid(place, name, path_segment(name))
        if name in seen:
            yield duplicate(place, name)
        seen.add(name)
    yield from rule_causes(rule, path)


def _variable(variable: Json, path: str) -> Causes:
    name = variable.get("name", "")
    if not name.strip():
        yield required(f"{path}.name", "name is not specified")
    elif not re.fullmatch(IDENTIFIER, name) or re.fullmatch(RESERVED, name):
        yield invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not variable.get("expression", "").strip():
        yield required(f"{path}.expression", "expression is not specified")


def _check(check: Json, path: str) -> Causes:
    if not check.get("expression", "").strip():
        yield required(f"{path}.expression", "expression is not specified")
    for field in ("messageExpression", "message"):
        text = check.get(field, "")
        if text and not text.strip():
            yield invalid(f"{path}.{field}", text, "must be non-empty if specified")
        elif field == "message" and "\n" in text.strip():
            yield invalid(f"{path}.{field}", text, "must not contain line breaks")
    yield from choices(check, {"reason": REASONS}, path)


def _notes(notes: list[Any], policy: str) -> Causes:
    seen: set[str] = set()
    for number, note in entries(notes):
        path, key = f"spec.auditAnnotations[{number}]", note.get("key", "")
        yield from each_invalid(f"{path}.key", f"{policy}/{key}", qualified_name(f"{policy}/{key}"))
        if not note.get("valueExpression", "").strip():
            yield required(f"{path}.valueExpression", "valueExpression is not specified")
        if key in seen:
            yield duplicate(f"{path}.key", key)
        seen.add(key)


def mutating_policy(manifest: Json) -> Causes:
    """What is wrong with a MutatingAdmissionPolicy."""
    spec = part(manifest, "spec")
    yield from _policy(spec)
    changes = spec.get("mutations") or []
    if not changes:
        yield required("spec.mutations", "mutations must contain at least one item")
    for number, change in entries(changes):
        yield from _change(change, f"spec.mutations[{number}]")
    if not spec.get("reinvocationPolicy"):
        yield required("spec.reinvocationPolicy")
    else:
        yield from choices(spec, {"reinvocationPolicy": REINVOCATION_POLICIES}, "spec")


def _change(change: Json, path: str) -> Causes:
    kind = change.get("patchType", "")
    if not kind:
        yield required(f"{path}.patchType")
    elif kind not in PATCHES:
        yield not_supported(f"{path}.patchType", kind, tuple(PATCHES))
    for each, field in PATCHES.items() if kind in PATCHES else ():
        if each == kind and change.get(field) is None:
            yield required(f"{path}.{field}", f"must be specified when patchType is {kind}")
        elif each == kind and not change[field].get("expression", "").strip():
            yield required(f"{path}.{field}.expression")
    for each, field in PATCHES.items() if kind in PATCHES else ():
        if each != kind and change.get(field) is not None:
            told = f"must not be specified when patchType is {kind}"
            yield invalid(f"{path}.{field}", f"{{{field}}}", told)


# -- bindings ---------------------------------------------------------------------------------------------


def validating_binding(manifest: Json) -> Causes:
    """What is wrong with a ValidatingAdmissionPolicyBinding."""
    spec = part(manifest, "spec")
    yield from mutating_binding(manifest)
    actions, path = spec.get("validationActions") or [], "spec.validationActions"
    if not actions:
        yield required(path, "at least one validation action is required")
    for number, action in enumerate(actions):
        if action not in ACTIONS:
            yield not_supported(f"{path}[{number}]", action, ACTIONS)
        if action in actions[:number]:
            yield duplicate(f"{path}[{number}]", action)
    if {"Deny", "Warn"} <= {*actions}:
        yield invalid(path, actions, TWICE_TOLD)


def mutating_binding(manifest: Json) -> Causes:
    """What is wrong with a MutatingAdmissionPolicyBinding."""
    spec = part(manifest, "spec")
    policy = spec.get("policyName", "")
    if not policy:
        yield required("spec.policyName")
    else:
        yield from each_invalid("spec.policyName", policy, dns_subdomain(policy))
    if spec.get("paramRef") is not None:
        yield from _parameters(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        yield from _matched(spec["matchResources"], "spec.matchResources")


def _parameters(given: Json, path: str) -> Causes:
    name, selector, action = given.get("name"), given.get("selector"), given.get("parameterNotFoundAction")
    yield from each_invalid(f"{path}.name", name, path_segment(name) if name else ())
    if name and selector is not None:
        yield forbidden(f"{path}.name", BOTH)
    yield from label_selector(selector, f"{path}.selector")
    if name and selector is not None:
        yield forbidden(f"{path}.selector", BOTH)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    if not action:
        yield required(f"{path}.parameterNotFoundAction")
    elif action not in NOT_FOUND_ACTIONS:
        yield not_supported(f"{path}.parameterNotFoundAction", action, NOT_FOUND_ACTIONS)
