"""Questions about rights and identity: whoever may ask here may do everything. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from trimtab.kube.times import seconds_text

Json = dict[str, Any]
USER = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
EVERYTHING: Json = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


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
