"""What servers say when they refuse, as they say it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.app.why.words import Meaning, NoRight, NoRoom, NotAdmitted, OtherIdentity, meaning_of

SAID: list[tuple[str, Meaning | None]] = [
    (
        (
            'deployments.apps is forbidden: User "ann" cannot create resource "deployments" in API group'
            ' "apps" in the namespace "shop"'
        ),
        NoRight(user="ann", verb="create", resource="deployments", group="apps", namespace="shop"),
    ),
    (
        (
            'namespaces is forbidden: User "system:serviceaccount:a:b" cannot list resource "namespaces"'
            ' in API group "" at the cluster scope'
        ),
        NoRight(user="system:serviceaccount:a:b", verb="list", resource="namespaces"),
    ),
    (
        'forbidden: User "ann" cannot get path "/version"',
        NoRight(user="ann", verb="get", resource="/version"),
    ),
    (
        (
            'Error creating: pods "web-1" is forbidden: exceeded quota: small, requested: pods=1, used:'
            " pods=4, limited: pods=4"
        ),
        NoRoom(limit="small", why="requested: pods=1, used: pods=4, limited: pods=4"),
    ),
    (
        'pods "web" is forbidden: failed quota: cpu: must specify limits.cpu for: main',
        NoRoom(limit="cpu", why="must specify limits.cpu for: main"),
    ),
    (
        'pods "web" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
        NoRoom(limit="Container", why="maximum cpu usage per Container is 1, but limit is 2"),
    ),
    (
        (
            "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'team' with binding 'all' denied"
            " request: say which team"
        ),
        NotAdmitted(by="ValidatingAdmissionPolicy 'team'", why="say which team"),
    ),
    (
        'admission webhook "guard.example.com" denied the request: no latest tags',
        NotAdmitted(by='admission webhook "guard.example.com"', why="no latest tags"),
    ),
    (
        'Internal error occurred: failed calling webhook "guard.example.com": no endpoints available',
        NotAdmitted(by='webhook "guard.example.com"', why="no endpoints available", is_silent=True),
    ),
    (
        'pods "web" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true',
        NotAdmitted(by='PodSecurity "restricted:latest"', why="runAsNonRoot != true"),
    ),
    ("Precondition failed: UID in precondition: a, UID in object meta: b", OtherIdentity()),
    ('Deployment.apps "web" is invalid: spec.selector: Required value', None),
    ("", None),
]


@pytest.mark.parametrize(("words", "meaning"), SAID)
def test_words_of_refusal_mean_what_they_say(words: str, meaning: Meaning | None) -> None:
    assert meaning_of(words) == meaning
    assert meaning_of(words.replace(" ", "\n")) == meaning


@given(st.text(alphabet=st.sampled_from('User "cannot resource": quota\n,'), max_size=200))
def test_any_words_can_be_read(words: str) -> None:
    meaning_of(words)


def test_a_right_says_kind_and_place_as_people_ask_for_them() -> None:
    everywhere = NoRight(user="ann", verb="get", resource="pods")
    assert (everywhere.full_resource, everywhere.where) == ("pods", "in the whole cluster")
    one = NoRight(user="ann", verb="get", resource="jobs", group="batch", namespace="shop")
    assert (one.full_resource, one.where) == ("jobs.batch", "in the namespace shop")
