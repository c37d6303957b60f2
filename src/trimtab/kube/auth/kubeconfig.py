"""Kubeconfig files: what they say, several read as one, and what a context picks.

Pure: bytes in, values or one error out. Nothing here opens the files that an entry names, runs a plugin or
judges a certificate; `trimtab.kube.auth` does. The rules of merging are kubectl's: files are taken in order;
the first to hold an entry of a name wins with that whole entry, the first to set current-context with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final, Generic, TypeVar
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct, field

from trimtab.errors import InvalidSpec, Missing
from trimtab.kube.auth.redaction import Secret, quoted
from trimtab.resources import yaml
from trimtab.shapes import Shape

EXEC_EXTENSION = "client.authentication.k8s.io/exec"
#: what is read in well under a second; hundreds of clusters with all their certificates have less
LIMITS = yaml.Limits(size=4 << 20, values=100_000, separators=1_000)
_NEVER_IN_A_URL = re.compile(r"[^\x21-\x7e]|[\\\"<>^`{|}]")
_TYPE = re.compile(r"`(\w+)(?: \| null)?`")
_TYPES = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "a boolean",
    "array": "a list",
    "object": "a map",
}

Entry = TypeVar("Entry")


class Extension(Struct, frozen=True, kw_only=True):
    """Something a tool left in an entry; only the one for exec plugins means anything to us."""

    name: str = ""
    extension: Any = None


class ClusterEntry(Struct, frozen=True, kw_only=True, rename="kebab"):
    """Where an API server is and how it proves itself."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    #: secret because it may hold the proxy's password
    proxy_url: Secret = Secret("")
    disable_compression: bool = False
    extensions: tuple[Extension, ...] = ()


class PluginVariable(Struct, frozen=True, kw_only=True):
    """An environment variable for a plugin."""

    name: str = ""
    value: Secret = Secret("")


class PluginEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """A program that prints credentials."""

    api_version: str = ""
    command: str = ""
    #: a client secret is often given here
    args: tuple[Secret, ...] = ()
    env: tuple[PluginVariable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProviderEntry(Struct, frozen=True, kw_only=True):
    """A login built into old clients; known only to be refused by name."""

    name: str = ""


class UserEntry(Struct, frozen=True, kw_only=True, rename="kebab"):
    """How a user proves who they are."""

    client_certificate: str = ""
    client_certificate_data: Secret = Secret("")
    client_key: str = ""
    client_key_data: Secret = Secret("")
    token: Secret = Secret("")
    token_file: str = field(name="tokenFile", default="")
    username: str = ""
    password: Secret = Secret("")
    act_as: str = field(name="as", default="")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}
    auth_provider: AuthProviderEntry | None = None
    exec: PluginEntry | None = None


class ContextEntry(Struct, frozen=True, kw_only=True):
    """Which user talks to which cluster, and in which namespace by default."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class Named(Struct, Generic[Entry], frozen=True, kw_only=True):
    """An entry and the words that name it in a message: `kubeconfig /home/a/config, user "alice"`."""

    subject: str
    entry: Entry


class Kubeconfig(Struct, frozen=True, kw_only=True):
    """One file, or several read as one."""

    subject: str
    current_context: str = ""
    clusters: dict[str, Named[ClusterEntry]]
    users: dict[str, Named[UserEntry]]
    contexts: dict[str, Named[ContextEntry]]


class Selected(Struct, frozen=True, kw_only=True):
    """What one context comes down to."""

    cluster: Named[ClusterEntry]
    user: Named[UserEntry]
    namespace: str


def parse(content: bytes, *, subject: str, folder: PurePath | None) -> Kubeconfig:
    """What a kubeconfig says; relative paths in it are resolved against `folder`, if one is given."""
    document = _without_nulls(_decoded(content, subject))
    if not isinstance(document, dict):
        raise InvalidSpec(
            subject,
            f"a kubeconfig is a map, but this is {_called(document)}",
            "Give another file",
        )
    current = document.get("current-context", "")
    if not isinstance(current, str):
        raise InvalidSpec(
            subject, f"current-context must be text, not {_called(current)}", "Put it in quotes"
        )
    clusters = _named(document, "cluster", _CLUSTER, subject)
    users = _named(document, "user", _USER, subject)
    return Kubeconfig(
        subject=subject,
        current_context=current,
        clusters={name: _cluster_in(folder, cluster) for name, cluster in clusters.items()},
        users={name: _user_in(folder, user) for name, user in users.items()},
        contexts=_named(document, "context", _CONTEXT, subject),
    )


def merged(configs: Sequence[Kubeconfig]) -> Kubeconfig:
    """Several files as one; the earlier wins."""
    backwards = configs[::-1]
    return Kubeconfig(
        subject=" and ".join(config.subject for config in configs),
        current_context=next((config.current_context for config in configs if config.current_context), ""),
        clusters={name: entry for config in backwards for name, entry in config.clusters.items()},
        users={name: entry for config in backwards for name, entry in config.users.items()},
        contexts={name: entry for config in backwards for name, entry in config.contexts.items()},
    )


def selected(
    config: Kubeconfig, *, context: str | None = None, cluster: str | None = None, user: str | None = None
) -> Selected:
    """The cluster, user and namespace of a context, each of which an argument may override."""
    chosen = _context(config, context, needed=cluster is None)
    cluster_name = chosen.entry.cluster if cluster is None else cluster
    user_name = chosen.entry.user if user is None else user
    return Selected(
        cluster=_referred(config.clusters, "cluster", cluster_name, config if cluster else chosen),
        user=_referred(config.users, "user", user_name, config if user else chosen)
        if user_name
        else Named(subject=chosen.subject, entry=UserEntry()),
        namespace=chosen.entry.namespace or "default",
    )


def _context(config: Kubeconfig, asked: str | None, *, needed: bool) -> Named[ContextEntry]:
    """The context asked for, else the current one, else an empty one where none is needed."""
    name = asked or config.current_context
    if name and name in config.contexts:
        return config.contexts[name]
    if name:
        where = "it has no context" if asked else "its current-context names a missing context"
        error = Missing if asked else InvalidSpec
        raise error(config.subject, f"{where} {quoted(name)}", _choose("context", config.contexts))
    if needed:
        raise InvalidSpec(
            config.subject,
            "it sets no current-context" if _is_filled(config) else "it is empty",
            _choose("context", config.contexts),
        )
    return Named(subject=config.subject, entry=ContextEntry())


def _referred(
    entries: Mapping[str, Named[Entry]], kind: str, name: str, by: Kubeconfig | Named[ContextEntry]
) -> Named[Entry]:
    """The entry that a context or an argument names."""
    if name in entries:
        return entries[name]
    if isinstance(by, Kubeconfig):
        raise Missing(by.subject, f"it has no {kind} {quoted(name)}", _choose(kind, entries))
    reason = f"it names a missing {kind} {quoted(name)}" if name else f"it names no {kind}"
    raise InvalidSpec(by.subject, reason, _choose(kind, entries))


def _choose(kind: str, names: Iterable[str]) -> str:
    """A remedy that lists what there is, not endlessly."""
    known = sorted(name for name in names if name)
    if not known:
        return f"Add a {kind} to it or give another kubeconfig"
    listed = ", ".join(quoted(name) for name in known[:5])
    return f"Choose one of its {kind}s: {listed}" + (f" and {len(known) - 5} more" if len(known) > 5 else "")


def _is_filled(config: Kubeconfig) -> bool:
    return bool(config.clusters or config.users or config.contexts)


# Addresses


def server_url(cluster: Named[ClusterEntry]) -> str:
    """The API server's base URL without a trailing slash."""
    text = cluster.entry.server
    if not text:
        raise InvalidSpec(cluster.subject, "it has no server", "Set server to https://host:port")
    url = _split(text)
    problem = "is not a URL with a host" if url is None or not url.hostname else ""
    if url is not None and not problem:
        if url.scheme not in {"https", "http"}:
            problem = "must begin with https:// or http://"
        elif not _is_host(url.hostname or ""):
            problem = "has a host name that cannot be one"
        elif "@" in url.netloc:
            problem = "holds a user name or password"
        elif url.query or url.fragment or text.endswith(("?", "#")):
            problem = "holds a query or fragment"
    if problem:
        raise InvalidSpec(cluster.subject, f"its server {problem}", "Set server to https://host:port")
    return text.rstrip("/")


def tls_server_name(cluster: Named[ClusterEntry]) -> str | None:
    """The name that the server's certificate is checked against, if it is not the host."""
    name = cluster.entry.tls_server_name
    if name and (_NEVER_IN_A_URL.search(name) or not _is_host(name)):
        raise InvalidSpec(cluster.subject, "its tls-server-name is not a host name", "Correct or remove it")
    return name or None


def proxy_url(cluster: Named[ClusterEntry]) -> str | None:
    """The proxy to go through, if any; it may hold a password, so no message repeats it."""
    text = cluster.entry.proxy_url.reveal()
    if not text:
        return None
    url = _split(text)
    if url is not None and url.scheme == "socks5":
        raise InvalidSpec(
            cluster.subject, "its proxy-url is a SOCKS proxy, which is not supported", "Name an HTTP proxy"
        )
    if url is None or not _is_host(url.hostname or "") or url.scheme not in {"http", "https"}:
        raise InvalidSpec(
            cluster.subject,
            "its proxy-url is not an http or https URL with a host",
            "Set proxy-url to http://host:port or remove it",
        )
    return text


def _split(text: str) -> SplitResult | None:
    """The parts of a URL, or nothing where it cannot be one."""
    if not text.isascii() or any(
        ord(char) <= 0x20 or ord(char) == 0x7F or char in '\\"<>^`{|}' for char in text
    ):
        return None
    try:
        url = urlsplit(text)
        return None if url.port == 0 or url.netloc.endswith(":") else url
    except ValueError:  # a port out of range, a broken IPv6 address
        return None


def _is_host(name: str) -> bool:
    """Can the name be looked up, or shown in a handshake?"""
    try:
        return bool(name.removesuffix(".").encode("idna"))
    except UnicodeError:
        return False


# Reading


def _decoded(content: bytes, subject: str) -> object:
    """The YAML document as plain values."""
    try:
        document: object = yaml.load(content, subject, LIMITS)
    except yaml.Excessive:
        raise
    except InvalidSpec as exc:
        # The reader's own reason may quote the file, which may hold secrets: only the place is told.
        reason, remedy = "it is not YAML as Kubernetes reads it", "Correct it or give another file"
        raise InvalidSpec(exc.subject, reason, remedy) from None
    return {} if document is None else document


def _without_nulls(value: object) -> object:
    """The value as Kubernetes sees it: null is as good as absent, and keys are text."""
    if isinstance(value, dict):
        return {str(key): _without_nulls(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return [_without_nulls(child) for child in value]
    return value


def _named(
    document: dict[Any, object], kind: str, shape: Shape[Entry], subject: str
) -> dict[str, Named[Entry]]:
    """The list of entries of a kind, by name."""
    listed = document.get(f"{kind}s", [])
    if not isinstance(listed, list):
        raise InvalidSpec(subject, f"{kind}s must be a list, not {_called(listed)}", "Correct it")
    found: dict[str, Named[Entry]] = {}
    for position, item in enumerate(listed, start=1):
        name = item.get("name", "") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(name, str):
            wrong = "must be a map" if not isinstance(item, dict) else "has a name that is not text"
            raise InvalidSpec(subject, f"number {position} of its {kind}s {wrong}", "Correct it")
        if name in found:
            raise InvalidSpec(subject, f"it has two {kind}s named {quoted(name)}", "Rename or remove one")
        whose = f"{subject}, {kind} {quoted(name)}"
        found[name] = Named(subject=whose, entry=_converted(item.get(kind, {}), shape, whose))
    return found


def _converted(value: object, shape: Shape[Entry], subject: str) -> Entry:
    """The entry as its type, or one sentence about the field that is wrong."""
    try:
        return shape.of(value)
    except msgspec.ValidationError as exc:
        raise InvalidSpec(subject, _plainly(str(exc)), "Correct the field") from None


def _plainly(complaint: str) -> str:
    """A complaint of msgspec in the words of a kubeconfig: "token must be text, not a number"."""
    reason, _, path = complaint.partition(" - at `")
    where = path.removesuffix("`").lstrip("$.") or "it"
    words = _TYPE.sub(lambda found: _TYPES.get(found[1], found[1]), reason)
    return f"{where} {words.replace('Expected', 'must be').replace(', got', ', not')}"


def _secret(wanted: type, value: object) -> Secret:
    """Texts of type Secret, as msgspec asks for them."""
    if wanted is not Secret or not isinstance(value, str):
        raise TypeError(f"Expected `str`, got {_called(value)}")
    return Secret(value)


_CLUSTER: Final = Shape(ClusterEntry, dec_hook=_secret)
_USER: Final = Shape(UserEntry, dec_hook=_secret)
_CONTEXT: Final = Shape(ContextEntry, dec_hook=_secret)


def _cluster_in(folder: PurePath | None, cluster: Named[ClusterEntry]) -> Named[ClusterEntry]:
    entry = cluster.entry
    resolved = msgspec.structs.replace(
        entry, certificate_authority=_path_in(folder, entry.certificate_authority)
    )
    return msgspec.structs.replace(cluster, entry=resolved)


def _user_in(folder: PurePath | None, user: Named[UserEntry]) -> Named[UserEntry]:
    entry = user.entry
    plugin = entry.exec
    if plugin and "/" in plugin.command:  # others are looked up on PATH
        plugin = msgspec.structs.replace(plugin, command=_path_in(folder, plugin.command))
    resolved = msgspec.structs.replace(
        entry,
        client_certificate=_path_in(folder, entry.client_certificate),
        client_key=_path_in(folder, entry.client_key),
        token_file=_path_in(folder, entry.token_file),
        exec=plugin,
    )
    return msgspec.structs.replace(user, entry=resolved)


def _path_in(folder: PurePath | None, path: str) -> str:
    """The path as seen from the folder of the file that names it."""
    return str(folder / path) if folder and path else path


def _called(value: object) -> str:
    """What people call a YAML value of this type."""
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a map"
        case _:
            return f"a {type(value).__name__}"
