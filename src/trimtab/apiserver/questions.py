"""Questions about rights and identity: whoever may ask here may do everything. Pure."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
USER = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
EVERYTHING: Json = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def answered(question: Json) -> Json:
    """The question with its answer as status."""
    match question["kind"]:
        case "SelfSubjectReview":
            status: Json = {"userInfo": USER}
        case "SelfSubjectRulesReview":
            status = EVERYTHING
        case "TokenReview":
            status = {"user": {}, "error": "invalid bearer token"}
        case _:
            status = {"allowed": True}
    return {**question, "status": status}
