"""Webhooks of every host: signatures, contents, and bad input."""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
import time
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import InvalidSpec, TrimtabError
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.hints.changes import Change
from trimtab.sources.hints.webhooks import (
    Delivery,
    Heard,
    Provider,
    WebhookRefused,
    WebhookTooLarge,
    heard_in,
)
from trimtab.sources.repositories.addresses import Place

SECRET = "c4n4ry:secret"
SECRETS = {provider: (Secret(SECRET),) for provider in Provider}
OLD, NEW, NONE = "a" * 40, "b" * 40, "0" * 40
COMMITS = [
    {"id": NEW, "added": ["web/new.yaml"], "removed": ["web/old.yaml"], "modified": ["web/x.yaml"]},
    {"id": NEW, "added": [], "removed": [], "modified": ["web/x.yaml", "README.md"]},
]
PATHS = ("web/new.yaml", "web/old.yaml", "web/x.yaml", "README.md")


def mac(body: bytes) -> str:
    return hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


def signed(provider: Provider, body: bytes) -> dict[str, str]:
    """The headers with which a host proves itself, in its own spelling."""
    match provider:
        case Provider.GITHUB:
            return {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={mac(body)}"}
        case Provider.GITEA:
            return {"X-Gitea-Event": "push", "X-GitHub-Event": "push", "X-Gitea-Signature": mac(body)}
        case Provider.GITLAB:
            return {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": SECRET}
        case Provider.BITBUCKET_CLOUD:
            return {"X-Event-Key": "repo:push", "X-Hook-UUID": "1", "X-Hub-Signature": f"sha256={mac(body)}"}
        case Provider.BITBUCKET_SERVER:
            return {"X-Event-Key": "repo:refs_changed", "X-Hub-Signature": f"sha256={mac(body)}"}
        case Provider.AZURE_DEVOPS:
            return {"Authorization": f"Basic {base64.b64encode(SECRET.encode()).decode()}"}
        case Provider.GENERIC:
            return {"X-Trimtab-Signature-256": f"sha256={mac(body)}"}


def heard(provider: Provider, message: Any, **headers: str) -> Heard:
    body = message if isinstance(message, bytes) else msgspec.json.encode(message)
    return heard_in(Delivery(headers={**signed(provider, body), **headers}, body=body), SECRETS)


HUB = {
    "ref": "refs/heads/main",
    "before": OLD,
    "after": NEW,
    "forced": False,
    "repository": {
        "clone_url": "https://Git.example/Team/App.git",
        "ssh_url": "git@git.example:Team/App.git",
        "html_url": "https://git.example/Team/App",
        "default_branch": "main",
        "owner": {"login": "Team"},
    },
    "commits": COMMITS,
    "pusher": {"email": "a@b.example"},
}
LAB: dict[str, Any] = {
    "object_kind": "push",
    "ref": "refs/heads/main",
    "before": OLD,
    "after": NEW,
    "project": {
        "git_http_url": "https://git.example/team/app.git",
        "git_ssh_url": "git@git.example:team/app.git",
        "web_url": "https://git.example/team/app",
        "default_branch": "main",
    },
    "commits": COMMITS,
    "total_commits_count": 2,
}
CLOUD: dict[str, Any] = {
    "repository": {"full_name": "team/app", "links": {"html": {"href": "https://bitbucket.org/team/app"}}},
    "push": {
        "changes": [
            {
                "old": {"type": "branch", "name": "main", "target": {"hash": OLD}},
                "new": {"type": "branch", "name": "main", "target": {"hash": NEW}},
            },
            {"old": {"type": "branch", "name": "gone", "target": {"hash": OLD}}, "new": None},
            {"old": None, "new": {"type": "annotated_tag", "name": "v1", "target": {"hash": NEW}}},
        ]
    },
}
SERVER = {
    "repository": {
        "slug": "app",
        "links": {
            "clone": [
                {"href": "ssh://git@git.example:7999/team/app.git", "name": "ssh"},
                {"href": "https://git.example/scm/team/app.git", "name": "http"},
            ]
        },
    },
    "changes": [{"ref": {"id": "refs/heads/main", "type": "BRANCH"}, "fromHash": OLD, "toHash": NEW}],
}
AZURE = {
    "eventType": "git.push",
    "resource": {
        "refUpdates": [{"name": "refs/heads/main", "oldObjectId": OLD, "newObjectId": NEW}],
        "repository": {
            "remoteUrl": "https://org@dev.azure.com/org/My%20Project/_git/app",
            "defaultBranch": "refs/heads/main",
        },
    },
}
GENERIC = {"url": "git@git.example:team/app.git", "ref": "refs/heads/main", "paths": ["web/x.yaml"]}
MESSAGES: dict[Provider, Any] = {
    Provider.GITHUB: HUB,
    Provider.GITEA: HUB,
    Provider.GITLAB: LAB,
    Provider.BITBUCKET_CLOUD: CLOUD,
    Provider.BITBUCKET_SERVER: SERVER,
    Provider.AZURE_DEVOPS: AZURE,
    Provider.GENERIC: GENERIC,
}
HERE = Place("git.example", "team/app")
PUSH = Change(
    places=(HERE,), ref="refs/heads/main", paths=PATHS, before=OLD, after=NEW, default_branch="main"
)
MEANT = {
    Provider.GITHUB: (PUSH,),
    Provider.GITEA: (PUSH,),
    Provider.GITLAB: (PUSH,),
    Provider.BITBUCKET_CLOUD: (
        Change(places=(Place("bitbucket.org", "team/app"),), ref="refs/heads/main", before=OLD, after=NEW),
        Change(places=(Place("bitbucket.org", "team/app"),), ref="refs/heads/gone", before=OLD),
        Change(places=(Place("bitbucket.org", "team/app"),), ref="refs/tags/v1", after=NEW),
    ),
    Provider.BITBUCKET_SERVER: (
        Change(
            places=(HERE, Place("git.example", "scm/team/app")), ref="refs/heads/main", before=OLD, after=NEW
        ),
    ),
    Provider.AZURE_DEVOPS: (
        Change(
            places=(
                Place("dev.azure.com", "org/my project/_git/app"),
                Place("ssh.dev.azure.com", "v3/org/my project/app"),
            ),
            ref="refs/heads/main",
            before=OLD,
            after=NEW,
            default_branch="main",
        ),
    ),
    Provider.GENERIC: (Change(places=(HERE,), ref="refs/heads/main", paths=("web/x.yaml",)),),
}


@pytest.mark.parametrize("provider", Provider)
def test_a_push_is_understood(provider: Provider) -> None:
    found = heard(provider, MESSAGES[provider])
    assert (found.provider, found.changes) == (provider, MEANT[provider])


@pytest.mark.parametrize("provider", Provider)
def test_nothing_is_read_without_the_right_signature(provider: Provider) -> None:
    body = msgspec.json.encode(MESSAGES[provider])
    good = signed(provider, body)
    for name in good:
        if name in {"X-GitHub-Event", "X-Gitea-Event", "X-Gitlab-Event", "X-Event-Key", "X-Hook-UUID"}:
            continue
        for wrong in ("", "sha256=", "x", "é", good[name][:-1], f"{good[name]}0", f"sha1={good[name]}"):
            with pytest.raises((WebhookRefused, InvalidSpec)):
                heard_in(Delivery(headers={**good, name: wrong}, body=body), SECRETS)
    if provider not in {Provider.GITLAB, Provider.AZURE_DEVOPS}:  # theirs is a password, not a signature
        with pytest.raises(WebhookRefused):
            heard_in(Delivery(headers=good, body=body + b" "), SECRETS)


@pytest.mark.parametrize("provider", Provider)
def test_without_an_agreed_secret_nobody_is_believed(provider: Provider) -> None:
    body = msgspec.json.encode(MESSAGES[provider])
    for none in ({}, {provider: ()}, {provider: (Secret(""),)}):
        with pytest.raises(WebhookRefused):
            heard_in(Delivery(headers=signed(provider, body), body=body), none)


def test_an_empty_secret_opens_nothing_though_it_would_match() -> None:
    body = msgspec.json.encode(LAB)
    delivery = Delivery(headers={"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": ""}, body=body)
    with pytest.raises(WebhookRefused):
        heard_in(delivery, {Provider.GITLAB: (Secret(""),)})


def test_a_secret_can_be_replaced_while_both_are_in_use() -> None:
    body = msgspec.json.encode(HUB)
    both = {Provider.GITHUB: (Secret("new"), Secret(SECRET))}
    assert heard_in(Delivery(headers=signed(Provider.GITHUB, body), body=body), both).changes == (PUSH,)


def test_a_refusal_does_not_tell_the_secret() -> None:
    with pytest.raises(WebhookRefused) as caught:
        heard_in(Delivery(headers={"X-Gitlab-Event": "Push Hook"}, body=b"{}"), SECRETS)
    assert "c4n4ry" not in f"{caught.value} {caught.value!r}"


@pytest.mark.parametrize(
    ("provider", "headers"),
    [
        (Provider.GITHUB, {"X-GitHub-Event": "ping"}),
        (Provider.GITHUB, {"X-GitHub-Event": "issues"}),
        (Provider.GITEA, {"X-Gitea-Event": "release"}),
        (Provider.GITLAB, {"X-Gitlab-Event": "Note Hook"}),
        (Provider.BITBUCKET_CLOUD, {"X-Event-Key": "issue:created"}),
        (Provider.BITBUCKET_SERVER, {"X-Event-Key": "diagnostics:ping"}),
    ],
)
def test_other_events_change_nothing(provider: Provider, headers: dict[str, str]) -> None:
    body = b'{"anything": true}'
    found = heard_in(Delivery(headers={**signed(provider, body), **headers}, body=body), SECRETS)
    assert found.changes == ()


def test_a_form_is_read_like_json() -> None:
    body = urlencode({"payload": msgspec.json.encode(HUB).decode()}).encode()
    found = heard(Provider.GITHUB, body, **{"Content-Type": "application/x-www-form-urlencoded"})
    assert found.changes == (PUSH,)


@pytest.mark.parametrize(
    "more",
    [
        {"forced": True},
        {"before": NONE},
        {"after": NONE},
        {"commits": []},
        {"commits": None},
        {"total_commits": 30},
        {"commits": [{}] * 2048},
    ],
)
def test_paths_are_unknown_where_a_message_cannot_list_them_all(more: dict[str, Any]) -> None:
    [change] = heard(Provider.GITHUB, {**HUB, **more}).changes
    assert change.paths is None


def test_gitlab_lists_twenty_commits_at_most_and_says_how_many_there_were() -> None:
    [change] = heard(Provider.GITLAB, {**LAB, "total_commits_count": 21}).changes
    assert change.paths is None


def test_a_deleted_default_branch_may_be_null() -> None:
    [change] = heard(Provider.GITLAB, {**LAB, "project": {**LAB["project"], "default_branch": None}}).changes
    assert change.default_branch == ""


def test_more_refs_than_anybody_reads_stand_for_anything() -> None:
    many = {**CLOUD, "push": {"changes": CLOUD["push"]["changes"] * 50}}
    anything = Change(places=(Place("bitbucket.org", "team/app"),))
    assert heard(Provider.BITBUCKET_CLOUD, many).changes == (anything,)


def test_a_large_message_is_refused_unread() -> None:
    body = b"x" * 2000
    with pytest.raises(WebhookTooLarge):
        heard_in(Delivery(headers=signed(Provider.GITHUB, body), body=body), SECRETS, largest=1000)


def test_an_unknown_sender_is_told() -> None:
    with pytest.raises(InvalidSpec, match="nobody is known"):
        heard_in(Delivery(headers={}, body=b"{}"), SECRETS)


BOMBS = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b'"x"',
    b"{" * 100_000,
    b"[" * 100_000,
    b'{"repository":' * 50_000,
    b'{"repository": null}',
    b'{"repository": {"clone_url": 5}}',
    b'{"push": {"changes": null}, "repository": {}}',
    b'{"push": {"changes": [null]}, "repository": {}}',
    b'{"changes": [{}], "repository": {"links": {"clone": [{}]}}}',
    b'{"resource": {"refUpdates": [null]}, "eventType": "git.push"}',
    b'{"object_kind": "push", "project": {"git_http_url": "ext::id"}, "commits": [{"added": ["\\u0000"]}]}',
    b'{"url": "--upload-pack=id"}',
    b'{"repository": {"clone_url": "\xff"}}',
    b'{"repository": {}, "ref": ' + b"1" * 10_000 + b"}",
    b'{"repository": {}, "total_commits": 1e999}',
]


@pytest.mark.parametrize("provider", Provider)
def test_bad_messages_are_refused_one_by_one_and_break_nothing(provider: Provider) -> None:
    for bomb in BOMBS:
        try:
            found = heard(provider, bomb)
        except TrimtabError:
            continue
        assert all(isinstance(change, Change) for change in found.changes)


def _mutations(message: Any) -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.none(), max_size=2)
    if isinstance(message, dict):
        fields = {name: _mutations(each) for name, each in message.items()}
        return st.fixed_dictionaries({}, optional=fields) | leaves
    return st.just(message) | leaves


def _bent(provider: Provider) -> st.SearchStrategy[tuple[Provider, Any]]:
    return st.tuples(st.just(provider), _mutations(MESSAGES[provider]))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(Provider)).flatmap(_bent))
def test_a_message_bent_anywhere_is_understood_or_refused(case: tuple[Provider, Any]) -> None:
    provider, message = case
    try:
        heard(provider, message)
    except TrimtabError:
        return


def test_random_bytes_are_refused(fuzz_seconds: float) -> None:
    chance, end = random.Random(6), time.monotonic() + fuzz_seconds / 10
    bodies = {provider: msgspec.json.encode(message) for provider, message in MESSAGES.items()}
    while time.monotonic() < end:
        provider = chance.choice(list(Provider))
        body = bytearray(bodies[provider])
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(body))
            body[at : at + chance.randint(0, 9)] = chance.randbytes(chance.randint(0, 9))
        try:
            heard(provider, bytes(body))
        except TrimtabError:
            continue
