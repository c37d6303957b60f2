"""Questions about rights and identity: whoever may ask here may do everything. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from trimtab.apiserver.refusing import invalid
from trimtab.apiserver.requests import Address
from trimtab.kube.gotext import Shown
from trimtab.kube.refusals import Cause, bad_request
from trimtab.kube.schemas.validation.causes import Causes, part
from trimtab.kube.schemas.validation.causes import invalid as wrong_value
from trimtab.kube.times import seconds_text

Json = dict[str, Any]
USER = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
EVERYTHING: Json = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def check(question: Json, address: Address) -> None:
    """Refuse a question that leaves open what is asked."""
    spec, kind = part(question, "spec"), question["kind"]
    if kind == "TokenReview" and not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    if kind == "SelfSubjectRulesReview" and not spec.get("namespace"):
        raise bad_request("no namespace on request")
    if kind.endswith("SubjectAccessReview"):
        causes = [
            Cause(reason=each.reason, message=each.message, field=each.field)
            for each in _access_causes(spec, kind, address.namespace)
        ]
        if causes:
            raise invalid(address.served.group, "", "", causes)


def _access_causes(spec: Mapping[str, Any], kind: str, namespace: str) -> Causes:
    resource, url = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    shown = Shown({"Path": url.get("path", ""), "Verb": url.get("verb", "")}) if url is not None else None
    if resource is not None and url is not None:
        told = "cannot be specified in combination with resourceAttributes"
        yield wrong_value("spec.nonResourceAttributes", shown, told)
    elif resource is None and url is None:
        told = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield wrong_value("spec.resourceAttributes", None, told)
    if kind != "SelfSubjectAccessReview" and not spec.get("user") and not spec.get("groups"):
        yield wrong_value("spec.user", "", "at least one of user or group must be specified")
    if kind != "LocalSubjectAccessReview":
        return
    if resource is not None and resource.get("namespace") != namespace:
        told = "must match metadata.namespace"
        yield wrong_value("spec.resourceAttributes.namespace", resource.get("namespace", ""), told)
    if url is not None:
        yield wrong_value("spec.nonResourceAttributes", shown, "disallowed on this kind of request")


def answered(question: Json, now: datetime) -> Json:
    """The question with its answer as status."""
    match question["kind"]:
        case "SelfSubjectReview":
            metadata = {**question["metadata"], "creationTimestamp": seconds_text(now)}
            return {**question, "metadata": metadata, "status": {"userInfo": USER}}
        case "SelfSubjectRulesReview":
            return {**question, "spec": {}, "status": EVERYTHING}
        case "TokenReview":
            return {**question, "status": {"user": {}, "error": "invalid bearer token"}}
        case _:
            return {**question, "status": {"allowed": True}}
