"""Webhooks: what a Git host's message says has changed, once it has proved that the host sent it. Pure.

    heard = heard_in(Delivery(headers=..., body=...), secrets)

Every provider is a row of a table: how it is recognised, how it signs, and how its messages are read.
Messages are decoded into exactly the fields that are used, so whatever else they hold is skipped and never
kept. What they say is a hint (see `changes`): nothing is fetched from an address that only a webhook named.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from trimtab.errors import InvalidSpec, NotAllowed, UserError
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.hints.changes import MOST_PATHS, Change
from trimtab.sources.repositories.addresses import Place, address_of

#: bytes of the largest message that is looked at; real pushes stay far below 1 MiB
LARGEST_BODY: Final = 5 * 1024 * 1024
#: refs of one message; more are taken for "anything"
_MOST_REFS: Final = 100
_ZEROS: Final = "0" * 40


class WebhookRefused(NotAllowed):
    """A message does not prove that it comes from the host."""

    http_status = 401


class WebhookTooLarge(UserError):
    """A message is larger than any that a host sends for a push."""

    http_status = 413


class Provider(enum.Enum):
    """Who sends webhooks."""

    GITHUB = "github"
    GITLAB = "gitlab"
    BITBUCKET_CLOUD = "bitbucket"
    BITBUCKET_SERVER = "bitbucket-server"
    GITEA = "gitea"
    AZURE_DEVOPS = "azure-devops"
    GENERIC = "generic"


class Delivery(Struct, frozen=True, kw_only=True):
    """One message as it came in."""

    headers: Mapping[str, str]
    body: bytes


class Heard(Struct, frozen=True, kw_only=True):
    """What a message says; no changes for one that is about something else."""

    provider: Provider
    event: str
    changes: tuple[Change, ...] = ()


#: the secrets that were agreed with each provider; several while one is being replaced
Secrets = Mapping[Provider, tuple[Secret, ...]]


def heard_in(delivery: Delivery, secrets: Secrets, *, largest: int = LARGEST_BODY) -> Heard:
    """What a message says, if it proves where it comes from; nothing in it is read before that."""
    if len(delivery.body) > largest:
        reason = f"it has {len(delivery.body)} bytes; at most {largest} are read"
        raise WebhookTooLarge("the webhook", reason, "Send push events only")
    headers = {name.lower(): value for name, value in delivery.headers.items()}
    said = Delivery(headers=headers, body=delivery.body)
    provider = _provider(headers)
    sender = _SENDERS[provider]
    known = secrets.get(provider, ())
    if not known:
        reason = f"no secret is agreed with {provider.value}"
        raise WebhookRefused("the webhook", reason, "Set a secret here and at the host")
    if not any(sender.is_signed(said, secret.reveal()) for secret in known if secret):
        reason = "its signature is missing or wrong"
        raise WebhookRefused("the webhook", reason, "Set the same secret on both sides")
    return sender.heard(said)


class _Sender(Struct, frozen=True):
    is_signed: Callable[[Delivery, str], bool]
    heard: Callable[[Delivery], Heard]


def _provider(headers: Mapping[str, str]) -> Provider:
    """Who sends this; Gitea pretends to be GitHub as well, so it is looked for first."""
    if headers.keys() & {"x-gitea-event", "x-forgejo-event", "x-gogs-event"}:
        return Provider.GITEA
    if "x-github-event" in headers:
        return Provider.GITHUB
    if "x-gitlab-event" in headers:
        return Provider.GITLAB
    if "x-event-key" in headers:
        cloud = "x-hook-uuid" in headers
        return Provider.BITBUCKET_CLOUD if cloud else Provider.BITBUCKET_SERVER
    if "x-trimtab-signature-256" in headers:
        return Provider.GENERIC
    if "authorization" in headers:
        return Provider.AZURE_DEVOPS
    raise InvalidSpec("the webhook", "nobody is known who sends such messages", "Send it as the manual says")


# --- signatures ------------------------------------------------------------------------------------------


def _mac(body: bytes, secret: str) -> str:
    return hmac.new(secret.encode("utf-8", "surrogatepass"), body, hashlib.sha256).hexdigest()


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode("utf-8", "replace"))


def _by_hub_256(said: Delivery, secret: str) -> bool:
    return _equal(said.headers.get("x-hub-signature-256", ""), f"sha256={_mac(said.body, secret)}")


def _by_hub(said: Delivery, secret: str) -> bool:
    return _equal(said.headers.get("x-hub-signature", ""), f"sha256={_mac(said.body, secret)}")


def _by_gitea(said: Delivery, secret: str) -> bool:
    names = ("x-gitea-signature", "x-forgejo-signature", "x-gogs-signature")
    return any(_equal(said.headers[name], _mac(said.body, secret)) for name in names if name in said.headers)


def _by_token(said: Delivery, secret: str) -> bool:
    return _equal(said.headers.get("x-gitlab-token", ""), secret)


def _by_password(said: Delivery, secret: str) -> bool:
    """Azure DevOps signs nothing but can log in: the secret is `name:password`."""
    return _equal(
        said.headers.get("authorization", ""),
        f"Basic {base64.b64encode(secret.encode('utf-8', 'replace')).decode()}",
    )


def _by_trimtab(said: Delivery, secret: str) -> bool:
    return _equal(said.headers.get("x-trimtab-signature-256", ""), f"sha256={_mac(said.body, secret)}")


# --- GitHub and Gitea ------------------------------------------------------------------------------------


class _Commit(Struct, frozen=True):
    added: list[str] | None = None
    removed: list[str] | None = None
    modified: list[str] | None = None


class _HubRepository(Struct, frozen=True):
    clone_url: str = ""
    ssh_url: str = ""
    html_url: str = ""
    default_branch: str | None = None


class _HubPush(Struct, frozen=True):
    repository: _HubRepository
    ref: str = ""
    before: str = ""
    after: str = ""
    forced: bool = False
    commits: list[_Commit] | None = None
    total_commits: int | None = None


_HUB_PUSH: Final = msgspec.json.Decoder(_HubPush)


def _from_github(said: Delivery) -> Heard:
    return _from_hub(Provider.GITHUB, said.headers["x-github-event"], _unwrapped(said))


def _from_gitea(said: Delivery) -> Heard:
    names = ("x-gitea-event", "x-forgejo-event", "x-gogs-event")
    event = next(said.headers[name] for name in names if name in said.headers)
    return _from_hub(Provider.GITEA, event, _unwrapped(said))


def _from_hub(provider: Provider, event: str, body: bytes) -> Heard:
    if event != "push":
        return Heard(provider=provider, event=event)
    push = _decoded(body, _HUB_PUSH)
    listed = push.commits or []
    whole = not push.forced and _ZEROS not in {push.before, push.after}
    whole = whole and 0 < len(listed) < 2048 and push.total_commits in {None, len(listed)}
    repository = push.repository
    change = Change(
        places=_places(repository.clone_url, repository.ssh_url, repository.html_url),
        ref=push.ref,
        paths=_paths(listed) if whole else None,
        before=push.before,
        after=push.after,
        default_branch=repository.default_branch or "",
    )
    return Heard(provider=provider, event=event, changes=(change,))


def _unwrapped(said: Delivery) -> bytes:
    """The JSON of a message that may come as a form."""
    if not said.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return said.body
    try:
        fields = parse_qs(said.body.decode(), max_num_fields=10, strict_parsing=True)
    except ValueError as exc:
        raise _unreadable("it is not the form that it says it is") from exc
    return fields.get("payload", [""])[0].encode()


# --- GitLab ----------------------------------------------------------------------------------------------


class _LabProject(Struct, frozen=True):
    git_http_url: str = ""
    git_ssh_url: str = ""
    web_url: str = ""
    default_branch: str | None = None


class _LabPush(Struct, frozen=True):
    project: _LabProject
    object_kind: str = ""
    event_name: str = ""
    ref: str = ""
    before: str = ""
    after: str = ""
    commits: list[_Commit] | None = None
    total_commits_count: int = 0


_LAB_PUSH: Final = msgspec.json.Decoder(_LabPush)


def _from_gitlab(said: Delivery) -> Heard:
    event = said.headers["x-gitlab-event"]
    if event not in {"Push Hook", "Tag Push Hook", "System Hook"}:
        return Heard(provider=Provider.GITLAB, event=event)
    kind = _decoded(said.body, _LAB_KIND)
    if not {kind.object_kind, kind.event_name} & {"push", "tag_push"}:
        return Heard(provider=Provider.GITLAB, event=event)
    push = _decoded(said.body, _LAB_PUSH)
    listed = push.commits or []
    whole = 0 < push.total_commits_count == len(listed) and _ZEROS not in {push.before, push.after}
    project = push.project
    change = Change(
        places=_places(project.git_http_url, project.git_ssh_url, project.web_url),
        ref=push.ref,
        paths=_paths(listed) if whole else None,
        before=push.before,
        after=push.after,
        default_branch=project.default_branch or "",
    )
    return Heard(provider=Provider.GITLAB, event=event, changes=(change,))


class _LabKind(Struct, frozen=True):
    object_kind: str = ""
    event_name: str = ""


_LAB_KIND: Final = msgspec.json.Decoder(_LabKind)


# --- Bitbucket -------------------------------------------------------------------------------------------


class _Link(Struct, frozen=True):
    href: str = ""


class _CloudLinks(Struct, frozen=True):
    html: _Link = _Link()


class _CloudRepository(Struct, frozen=True):
    links: _CloudLinks = _CloudLinks()
    full_name: str = ""


class _CloudTarget(Struct, frozen=True):
    hash: str = ""


class _CloudRef(Struct, frozen=True):
    type: str = ""
    name: str = ""
    target: _CloudTarget | None = None


class _CloudChange(Struct, frozen=True):
    new: _CloudRef | None = None
    old: _CloudRef | None = None


class _CloudChanges(Struct, frozen=True):
    changes: list[_CloudChange]


class _CloudPush(Struct, frozen=True):
    repository: _CloudRepository
    push: _CloudChanges


_CLOUD_PUSH: Final = msgspec.json.Decoder(_CloudPush)


def _from_bitbucket_cloud(said: Delivery) -> Heard:
    event = said.headers["x-event-key"]
    if event != "repo:push":
        return Heard(provider=Provider.BITBUCKET_CLOUD, event=event)
    push = _decoded(said.body, _CLOUD_PUSH)
    repository = push.repository
    places = _places(repository.links.html.href, f"https://bitbucket.org/{repository.full_name}")
    changes = tuple(
        Change(places=places, ref=_cloud_ref(each), before=_hash(each.old), after=_hash(each.new))
        for each in push.push.changes
    )
    return Heard(provider=Provider.BITBUCKET_CLOUD, event=event, changes=_few(changes))


def _cloud_ref(change: _CloudChange) -> str:
    ref = change.new or change.old or _CloudRef()
    folder = {"tag": "refs/tags/", "annotated_tag": "refs/tags/", "branch": "refs/heads/"}.get(ref.type)
    return f"{folder}{ref.name}" if folder and ref.name else ""


def _hash(ref: _CloudRef | None) -> str:
    return ref.target.hash if ref and ref.target else ""


class _ServerClone(Struct, frozen=True):
    href: str = ""


class _ServerLinks(Struct, frozen=True):
    clone: list[_ServerClone] | None = None


class _ServerRepository(Struct, frozen=True):
    links: _ServerLinks = _ServerLinks()


class _ServerRef(Struct, frozen=True):
    id: str = ""


class _ServerChange(Struct, frozen=True, rename="camel"):
    ref: _ServerRef = _ServerRef()
    from_hash: str = ""
    to_hash: str = ""


class _ServerPush(Struct, frozen=True):
    repository: _ServerRepository
    changes: list[_ServerChange]


_SERVER_PUSH: Final = msgspec.json.Decoder(_ServerPush)


def _from_bitbucket_server(said: Delivery) -> Heard:
    event = said.headers["x-event-key"]
    if event != "repo:refs_changed":
        return Heard(provider=Provider.BITBUCKET_SERVER, event=event)
    push = _decoded(said.body, _SERVER_PUSH)
    places = _places(*(clone.href for clone in push.repository.links.clone or ()))
    changes = tuple(
        Change(places=places, ref=each.ref.id, before=each.from_hash, after=each.to_hash)
        for each in push.changes
    )
    return Heard(provider=Provider.BITBUCKET_SERVER, event=event, changes=_few(changes))


# --- Azure DevOps ----------------------------------------------------------------------------------------


class _AzureUpdate(Struct, frozen=True, rename="camel"):
    name: str = ""
    old_object_id: str = ""
    new_object_id: str = ""


class _AzureRepository(Struct, frozen=True, rename="camel"):
    remote_url: str = ""
    ssh_url: str = ""
    default_branch: str | None = None


class _AzureResource(Struct, frozen=True, rename="camel"):
    repository: _AzureRepository = _AzureRepository()
    ref_updates: list[_AzureUpdate] | None = None


class _AzurePush(Struct, frozen=True, rename="camel"):
    event_type: str = ""
    resource: _AzureResource = _AzureResource()


_AZURE_PUSH: Final = msgspec.json.Decoder(_AzurePush)


def _from_azure(said: Delivery) -> Heard:
    push = _decoded(said.body, _AZURE_PUSH)
    if push.event_type != "git.push":
        return Heard(provider=Provider.AZURE_DEVOPS, event=push.event_type)
    repository = push.resource.repository
    places = _places(repository.remote_url, repository.ssh_url)
    default = (repository.default_branch or "").removeprefix("refs/heads/")
    changes = tuple(
        Change(
            places=(*places, *_azure_ssh(places)),
            ref=each.name,
            before=each.old_object_id,
            after=each.new_object_id,
            default_branch=default,
        )
        for each in push.resource.ref_updates or ()
    )
    return Heard(provider=Provider.AZURE_DEVOPS, event=push.event_type, changes=_few(changes))


def _azure_ssh(places: Iterable[Place]) -> tuple[Place, ...]:
    """The same repositories by SSH, where they lie at another host under another path."""
    return tuple(
        Place("ssh.dev.azure.com", f"v3/{place.path.replace('/_git/', '/')}")
        for place in places
        if place.host == "dev.azure.com" and "/_git/" in place.path
    )


# --- anybody ---------------------------------------------------------------------------------------------


class _Notice(Struct, frozen=True, forbid_unknown_fields=True):
    url: str
    ref: str = ""
    paths: list[str] | None = None


_NOTICE: Final = msgspec.json.Decoder(_Notice)


def _from_anybody(said: Delivery) -> Heard:
    notice = _decoded(said.body, _NOTICE)
    paths = tuple(notice.paths) if notice.paths is not None and len(notice.paths) <= MOST_PATHS else None
    change = Change(places=_places(notice.url), ref=notice.ref, paths=paths)
    return Heard(provider=Provider.GENERIC, event="push", changes=(change,))


_SENDERS: Final[Mapping[Provider, _Sender]] = {
    Provider.GITHUB: _Sender(_by_hub_256, _from_github),
    Provider.GITEA: _Sender(_by_gitea, _from_gitea),
    Provider.GITLAB: _Sender(_by_token, _from_gitlab),
    Provider.BITBUCKET_CLOUD: _Sender(_by_hub, _from_bitbucket_cloud),
    Provider.BITBUCKET_SERVER: _Sender(_by_hub, _from_bitbucket_server),
    Provider.AZURE_DEVOPS: _Sender(_by_password, _from_azure),
    Provider.GENERIC: _Sender(_by_trimtab, _from_anybody),
}

T = TypeVar("T")


def _decoded(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        raise _unreadable("it is not the JSON that this host sends") from exc


def _unreadable(reason: str) -> InvalidSpec:
    return InvalidSpec("the webhook", reason, "Send push events as JSON")


def _places(*urls: str) -> tuple[Place, ...]:
    """Where the addresses of a message point; those that cannot be meant are left out."""
    found: dict[Place, None] = {}
    for url in urls:
        try:
            found[address_of(url).place] = None
        except InvalidSpec:
            continue
    return tuple(found)


def _paths(commits: Iterable[_Commit]) -> tuple[str, ...] | None:
    """All files that the commits touched; None if they are too many to matter."""
    found: dict[str, None] = {}
    for commit in commits:
        for files in (commit.added, commit.removed, commit.modified):
            found.update(dict.fromkeys(files or ()))
        if len(found) > MOST_PATHS:
            return None
    return tuple(found)


def _few(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes, or one that stands for anything where they are too many."""
    return changes if len(changes) <= _MOST_REFS else (Change(places=changes[0].places),)
