"""Words of a server that say themselves what to do."""

from __future__ import annotations

from trimtab.app.remedies import remedy_of


def test_a_namespace_that_is_not_there_is_told_with_how_to_make_it() -> None:
    words = 'ConfigMap nowhere/a: namespaces "nowhere" not found'
    of_app = remedy_of(words, "ask", destination="nowhere")
    assert of_app == "Make the namespace nowhere, or sync with --create-namespace"
    of_another = remedy_of(words, "ask", destination="shop")
    assert of_another == "Make the namespace nowhere, or declare it beside the object"
    assert remedy_of('secrets "nowhere" not found', "ask", destination="nowhere") == "ask"


def test_a_field_that_cannot_be_changed_is_told_with_how_to_make_its_object_anew() -> None:
    words = 'Job.batch shop/j: Job.batch "j" is invalid: spec.template: Invalid value: …: field is immutable'
    assert "Force=true" in remedy_of(words, "ask", destination="shop")
