"""Words of a server that say themselves what to do."""

from __future__ import annotations

import pytest

from trimtab.app.remedies import remedy_of


def test_a_namespace_that_is_not_there_is_told_with_how_to_make_it() -> None:
    words = 'ConfigMap nowhere/a: namespaces "nowhere" not found'
    of_app = remedy_of(words, "ask", destination="nowhere")
    assert of_app == "Make the namespace nowhere, or sync with --create-namespace"
    of_another = remedy_of(words, "ask", destination="shop")
    assert of_another == "Make the namespace nowhere, or declare it beside the object"
    assert remedy_of('secrets "nowhere" not found', "ask", destination="nowhere") == "ask"


@pytest.mark.parametrize(
    "words",
    [
        'Job.batch "j" is invalid: spec.template: Invalid value: …: field is immutable',
        'Service "s" is invalid: spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
        'PersistentVolumeClaim "p" is invalid: spec: Forbidden: spec is immutable after creation except …',
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        'RoleBinding "b" is invalid: roleRef: Invalid value: …: cannot change roleRef',
        "spec: Forbidden: pod updates may not change fields other than `spec.tolerations`",
    ],
)
def test_a_field_that_cannot_be_changed_is_told_with_how_to_make_its_object_anew(words: str) -> None:
    assert "deleted and made anew with" in remedy_of(words, "ask", destination="shop")
    assert remedy_of('secrets is forbidden: User "a" cannot patch it', "ask", destination="shop") == "ask"


def test_nobody_is_told_to_have_a_definition_deleted() -> None:
    words = 'CustomResourceDefinition.apiextensions.k8s.io "a.b" is invalid: spec.scope: field is immutable'
    assert remedy_of(words, "ask", destination="shop") == "Put the field back"
