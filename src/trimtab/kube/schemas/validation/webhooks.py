"""What is wrong with webhooks: whom the server asks, when, and about what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    each_invalid,
    entries,
    invalid,
    not_supported,
    part,
    required,
    too_many,
)
from trimtab.kube.schemas.validation.names import (
    Problems,
    dns_1035_label,
    dns_subdomain,
    port_number,
    qualified_name,
)
from trimtab.kube.schemas.validation.selectors import label_selector

Json = Mapping[str, Any]
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")
FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
SIDE_EFFECTS = ("None", "NoneOnDryRun")
REVIEW_VERSIONS = ("v1", "v1beta1")
LONGEST_WAIT, MOST_CONDITIONS = 30, 64


def mutating(manifest: Json) -> Causes:
    """What is wrong with a MutatingWebhookConfiguration."""
    yield from _webhooks(manifest, {"reinvocationPolicy": REINVOCATION_POLICIES})


def validating(manifest: Json) -> Causes:
    """What is wrong with a ValidatingWebhookConfiguration."""
    yield from _webhooks(manifest, {})


def _webhooks(manifest: Json, more: Mapping[str, Sequence[str]]) -> Causes:
    seen: set[str] = set()
    for number, hook in entries(manifest.get("webhooks")):
        path, name = f"webhooks[{number}]", hook.get("name", "")
        yield from _webhook(hook, path)
        yield from choices(hook, more, path)
        yield from _review_versions(hook.get("admissionReviewVersions") or [], path)
        if name and name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)


def _webhook(hook: Json, path: str) -> Causes:
    name, seconds = hook.get("name", ""), hook.get("timeoutSeconds")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from each_invalid(f"{path}.name", name, _three_part_name(name))
    for number, rule in entries(hook.get("rules")):
        yield from rule_causes(rule, f"{path}.rules[{number}]")
    policies = {"failurePolicy": FAILURE_POLICIES, "matchPolicy": MATCH_POLICIES}
    yield from choices(hook, policies, path)
    if not hook.get("sideEffects"):
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(SIDE_EFFECTS)}")
    else:
        yield from choices(hook, {"sideEffects": SIDE_EFFECTS}, path)
    if seconds is not None and not 1 <= seconds <= LONGEST_WAIT:
        told = f"the timeout value must be between 1 and {LONGEST_WAIT} seconds"
        yield invalid(f"{path}.timeoutSeconds", seconds, told)
    for field in ("namespaceSelector", "objectSelector"):
        yield from label_selector(hook.get(field), f"{path}.{field}")
    yield from client_config(part(hook, "clientConfig"), f"{path}.clientConfig")
    yield from conditions(hook.get("matchConditions") or [], f"{path}.matchConditions")


def choices(given: Json, allowed: Mapping[str, Sequence[str]], path: str) -> Causes:
    """Fields that may only be one of some words, where they are set."""
    for name, words in allowed.items():
        if given.get(name) is not None and given[name] not in words:
            yield not_supported(f"{path}.{name}", given[name], words)


def _three_part_name(name: str) -> Problems:
    wrong = dns_subdomain(name)
    if wrong or name.count(".") > 1:
        return wrong
    return ("should be a domain with at least three segments separated by dots",)


def _review_versions(versions: list[str], path: str) -> Causes:
    if not versions:
        told = f"must specify one of {', '.join(REVIEW_VERSIONS)}"
        yield required(f"{path}.admissionReviewVersions", told)
        return
    yield from review_versions(versions, f"{path}.admissionReviewVersions")


def review_versions(versions: list[str], path: str) -> Causes:
    """The versions of a question: each once, and one that the server speaks."""
    for number, version in enumerate(versions):
        if version in versions[:number]:
            yield invalid(f"{path}[{number}]", version, "duplicate version")
            continue
        yield from each_invalid(f"{path}[{number}]", version, dns_1035_label(version))
    if not set(versions) & set(REVIEW_VERSIONS):
        yield invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")


def conditions(given: list[Any], path: str) -> Causes:
    """Conditions in CEL; what their expressions say is not looked at."""
    if len(given) > MOST_CONDITIONS:
        yield too_many(path, len(given), MOST_CONDITIONS)
    seen: set[str] = set()
    for number, condition in entries(given):
        place, name = f"{path}[{number}]", condition.get("name", "")
        if not condition.get("expression", "").strip():
            yield required(f"{place}.expression")
        if not name:
            yield required(f"{place}.name")
            continue
        yield from each_invalid(f"{place}.name", name, qualified_name(name))
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)


# -- rules ------------------------------------------------------------------------------------------------


def rule_causes(rule: Json, path: str) -> Causes:
    """What is wrong with a rule that says which requests are meant."""
    operations = rule.get("operations") or []
    yield from _words(operations, f"{path}.operations", "operations")
    for number, each in enumerate(operations):
        if each not in OPERATIONS:
            yield not_supported(f"{path}.operations[{number}]", each, OPERATIONS)
    yield from _words(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    yield from _words(versions, f"{path}.apiVersions", "API versions")
    for number, each in enumerate(versions):
        if not each:
            yield required(f"{path}.apiVersions[{number}]")
    yield from _resources(rule.get("resources") or [], f"{path}.resources")
    yield from choices(rule, {"scope": SCOPES}, path)


def _words(given: list[str], path: str, what: str) -> Causes:
    """A list of words, or a star alone."""
    if not given:
        yield required(path)
    elif "*" in given and len(given) > 1:
        yield invalid(path, given, f"if '*' is present, must not specify other {what}")


def _resources(given: list[str], path: str) -> Causes:
    if not given:
        yield required(path)
    whole: set[str] = set()  # resources of which all parts are meant, and parts of which all resources are
    named = ""
    for number, each in enumerate(given):
        place, (name, slash, inner) = f"{path}[{number}]", each.partition("/")
        if not each:
            yield required(place)
        elif not slash:
            named = each if each != "*" else ""
        else:
            for wider in (f"{name}/*", f"*/{inner}"):
                if wider in whole:
                    yield invalid(place, each, f"if '{wider}' is present, must not specify {each}")
            if "*" in (name, inner):
                whole.add(each)
    if len(given) > 1 and "*/*" in given:
        yield invalid(path, given, "if '*/*' is present, must not specify other resources")
    if "*" in given and named:
        told = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, given, told)


# -- whom to ask ------------------------------------------------------------------------------------------


def client_config(client: Json, path: str) -> Causes:
    """What is wrong with where a webhook is: at an address, or behind a service."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from address_of_webhook(url, f"{path}.url")
    else:
        yield from service_of_webhook(part(client, "service"), f"{path}.service")


def address_of_webhook(url: str, path: str) -> Causes:
    """What is wrong with the address of a webhook."""
    form = "; desired format: https://host[/path]"
    parts = urlsplit(url)
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{form}")
    if not parts.netloc:
        yield invalid(path, "", f"host must be specified{form}")
    if "@" in parts.netloc:
        told = "user information is not permitted in the URL"
        yield invalid(path, parts.netloc.rpartition("@")[0], told)
    if parts.fragment:
        yield invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(path, parts.query, "query parameters are not permitted in the URL")


def service_of_webhook(service: Json, path: str) -> Causes:
    """What is wrong with the service behind which a webhook is."""
    for name in ("name", "namespace"):
        if not service.get(name):
            yield required(f"{path}.{name}")
    port = service.get("port", 443)
    told = tuple(f"port is not valid: {each}" for each in port_number(port))
    yield from each_invalid(f"{path}.port", port, told)
    where = service.get("path") or "/"
    yield from each_invalid(f"{path}.path", where, _path_problems(where))


def _path_problems(where: str) -> Problems:
    if where in ("/", "//"):
        return () if where == "/" else ("segment[0] may not be empty",)
    wrong = [] if where.startswith("/") else ["must start with a '/'"]
    for number, step in enumerate(where[1:].removesuffix("/").split("/")):
        wrong += (
            [f"segment[{number}]: {each}" for each in dns_subdomain(step)]
            if step
            else [f"segment[{number}] may not be empty"]
        )
    return tuple(wrong)
