"""How to reach an API server and prove who we are: from kubeconfigs, from inside a pod, from a tenant.

Everything that can be judged without asking anybody is judged when an `Access` is made; credential plugins
run when a credential is first needed. Requests are made elsewhere. As with kubectl, nothing that proves who
we are is sent over plain http, and a token, token file or password in an entry goes before its exec plugin.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from multidict import CIMultiDict

from trimtab.errors import InvalidSpec, Missing
from trimtab.files import read_file
from trimtab.kube.auth import kubeconfig, tenancy
from trimtab.kube.auth.certificates import ClientPair, decoded_base64
from trimtab.kube.auth.files import LARGEST_CREDENTIAL, Content, FixedContent, WatchedFile
from trimtab.kube.auth.identity import Authorities, Client, Identity, Token
from trimtab.kube.auth.impersonation import Impersonation, impersonation_headers, impersonation_problem
from trimtab.kube.auth.kubeconfig import ClusterEntry, Kubeconfig, Named, Selected, UserEntry
from trimtab.kube.auth.plugin import Plugin, PluginCall, RunPlugin, run_plugin
from trimtab.kube.auth.redaction import Secret, printable
from trimtab.kube.auth.tls import tls_context
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import Clock

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Access(Protocol):
    """How to reach one API server and prove who we are."""

    @property
    def server(self) -> str:
        """The base URL without a trailing slash."""

    @property
    def proxy(self) -> str | None:
        """The URL of the HTTP proxy to go through, if any; it may hold a password."""

    @property
    def tls_server_name(self) -> str | None:
        """The name to check the server's certificate against, if it is not the host."""

    @property
    def compression(self) -> bool:
        """Whether the server may compress its answers."""

    @property
    def namespace(self) -> str:
        """The namespace to work in when none is named."""

    async def tls(self) -> ssl.SSLContext | None:
        """The TLS context, None for http; another object only when a certificate changed."""

    async def headers(self) -> CIMultiDict[str]:
        """Authorization and Impersonate-* headers; a name may occur more than once."""

    async def rejected(self, sent: Mapping[str, str] | None = None) -> bool:
        """The server said 401 to these headers: is another try with fresh credentials worth it?"""


class _Target(Struct, frozen=True, kw_only=True):
    """What is fixed about an access."""

    subject: str
    server: str
    namespace: str
    proxy: Secret | None = None
    tls_server_name: str | None = None
    insecure: bool = False
    compression: bool = True
    impersonation: tuple[tuple[str, str], ...] = ()

    def is_https(self) -> bool:
        return self.server.lower().startswith("https:")


class ServerAccess:
    """An `Access` made of what a kubeconfig or a service account says."""

    def __init__(self, target: _Target, identity: Identity, trusted: Authorities | None) -> None:
        self._target = target
        self._identity = identity
        self._trusted = trusted
        self._made_for: tuple[str | None, ClientPair | None] | None = None
        self._context: ssl.SSLContext | None = None
        if target.is_https():
            self._made(identity.client.current() if identity.client else None)

    def __repr__(self) -> str:
        return f"ServerAccess({self._target.subject!r}, {self.server!r})"

    @property
    def server(self) -> str:
        """The base URL without a trailing slash."""
        return self._target.server

    @property
    def proxy(self) -> str | None:
        """The URL of the HTTP proxy to go through, if any; it may hold a password."""
        return self._target.proxy.reveal() if self._target.proxy else None

    @property
    def tls_server_name(self) -> str | None:
        """The name to check the server's certificate against, if it is not the host."""
        return self._target.tls_server_name

    @property
    def compression(self) -> bool:
        """Whether the server may compress its answers."""
        return self._target.compression

    @property
    def namespace(self) -> str:
        """The namespace to work in when none is named."""
        return self._target.namespace

    async def tls(self) -> ssl.SSLContext | None:
        """The TLS context, None for http; another object only when a certificate changed."""
        if not self._target.is_https():
            return None
        given = await self._identity.plugin.current() if self._identity.plugin else None
        if given and given.pair:
            return self._made(given.pair)
        return self._made(self._identity.client.current() if self._identity.client else None)

    async def headers(self) -> CIMultiDict[str]:
        """Authorization and Impersonate-* headers; a name may occur more than once."""
        if self._identity.plugin and self._target.is_https():
            await self._identity.plugin.current()
        headers = CIMultiDict(self._target.impersonation)
        if authorization := self._authorization():
            headers["Authorization"] = authorization.reveal()
        return headers

    async def rejected(self, sent: Mapping[str, str] | None = None) -> bool:
        """The server said 401 to these headers: is another try with fresh credentials worth it?

        Give `sent` where it is known: then a 401 to an older credential, told late, does not discard the
        one that replaced it meanwhile.
        """
        if not self._target.is_https():
            return False
        now = self._authorization()
        if sent is not None and now and sent.get("Authorization") != now.reveal():
            return True
        identity = self._identity
        changed = [part.reread() for part in (identity.token, identity.client) if part]
        if identity.plugin:
            identity.plugin.forget()
        return identity.plugin is not None or any(changed)

    def _authorization(self) -> Secret | None:
        """The value of the Authorization header as far as it is known without asking a plugin."""
        identity = self._identity
        if not self._target.is_https():
            return None
        if identity.basic:
            return identity.basic
        given = identity.plugin.known() if identity.plugin else None
        token = identity.token.current() if identity.token else given.token if given else None
        return Secret(f"Bearer {token.reveal()}") if token else None

    def _made(self, pair: ClientPair | None) -> ssl.SSLContext:
        """The context for this pair and the authorities of now: the one at hand if it was made for them."""
        wanted = (self._trusted.current() if self._trusted else None, pair)
        if self._context is None or wanted != self._made_for:
            self._context = tls_context(
                authorities=wanted[0],
                pair=pair,
                insecure=self._target.insecure,
                subject=self._target.subject,
            )
            self._made_for = wanted
        return self._context


def from_kubeconfig(
    paths: Sequence[Path],
    *,
    context: str | None = None,
    cluster: str | None = None,
    user: str | None = None,
    impersonate: Impersonation | None = None,
    settings: ClusterSettings,
    clock: Clock,
    environment: Mapping[str, str],
    run: RunPlugin = run_plugin,
) -> Access:
    """Access by kubeconfig files, merged as kubectl does; of several files some may be missing.

    `environment` is what credential plugins are given, `run` what runs them.
    """
    config = _read_all(paths)
    chosen = kubeconfig.selected(config, context=context, cluster=cluster, user=user)

    def plugin(trusted: Authorities | None) -> Plugin | None:
        if not chosen.user.entry.exec:
            return None
        call = PluginCall(
            subject=chosen.user.subject,
            entry=chosen.user.entry.exec,
            cluster=chosen.cluster,
            environment=environment,
            timeout=settings.plugin_timeout,
        )
        return Plugin(call, run=run, clock=clock, authority=trusted.base64 if trusted else lambda: None)

    return _access(chosen, impersonate, clock, plugin)


def from_tenant_kubeconfig(
    text: bytes,
    *,
    subject: str,
    context: str | None = None,
    cluster: str | None = None,
    user: str | None = None,
    impersonate: Impersonation | None = None,
    allow_insecure: bool = False,
    allow_proxy: bool = False,
    clock: Clock,
) -> Access:
    """Access by a kubeconfig that somebody else wrote: it can neither run programs nor name files here.

    `subject` names where it came from. Unverified TLS, plain http and proxies need the caller's consent.
    """
    tenancy.check_size(text, subject=subject)
    config = kubeconfig.parse(text, subject=subject, folder=None)
    tenancy.check(config, allow_insecure=allow_insecure, allow_proxy=allow_proxy)
    chosen = kubeconfig.selected(config, context=context, cluster=cluster, user=user)
    return _access(chosen, impersonate, clock, lambda _: None)


def in_cluster(
    *,
    clock: Clock,
    environment: Mapping[str, str],
    folder: Path = SERVICE_ACCOUNT,
    impersonate: Impersonation | None = None,
) -> Access:
    """Access by the service account of the pod that this process runs in, as its token rotates."""
    subject = f"service account in {folder}"
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        reason = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is not a pod"
        raise Missing(subject, reason, "Run inside a pod, or give a kubeconfig")
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    token = WatchedFile(folder / "token", subject=subject, field="token", clock=clock)
    trusted = WatchedFile(folder / "ca.crt", subject=subject, field="ca.crt", clock=clock)
    target = _Target(
        subject=subject,
        server=kubeconfig.server_url(Named(subject=subject, entry=ClusterEntry(server=address))),
        namespace=_pod_namespace(folder / "namespace", subject),
        impersonation=_impersonation(impersonate or Impersonation(), subject),
    )
    identity = Identity(token=Token(token, subject=subject, field="token"))
    return ServerAccess(target, identity, Authorities(trusted, subject=subject, field="ca.crt"))


def _pod_namespace(path: Path, subject: str) -> str:
    try:
        which = f"its namespace ({path})"
        content = read_file(path, subject=subject, which=which, limit=LARGEST_CREDENTIAL)
    except Missing:
        return "default"
    return content.decode(errors="replace").strip() or "default"


def _read_all(paths: Sequence[Path]) -> Kubeconfig:
    """All kubeconfigs that exist, as one; at least one must."""
    configs = []
    missing: Missing | None = None
    for path in paths:
        where = path.absolute()
        subject = f"kubeconfig {printable(str(where))}"
        try:
            content = read_file(where, subject=subject, limit=kubeconfig.LIMITS.size)
        except Missing as exc:
            missing = missing or exc
            continue
        configs.append(kubeconfig.parse(content, subject=subject, folder=where.parent))
    if not configs:
        raise missing or Missing("kubeconfig", "no file is named", "Name a kubeconfig, or run inside a pod")
    return kubeconfig.merged(configs)


def _access(
    chosen: Selected,
    impersonate: Impersonation | None,
    clock: Clock,
    plugin: Callable[[Authorities | None], Plugin | None],
) -> Access:
    """The access that a chosen context comes down to."""
    cluster, user = chosen.cluster, chosen.user
    proxy = kubeconfig.proxy_url(cluster)
    target = _Target(
        subject=user.subject,
        server=kubeconfig.server_url(cluster),
        namespace=chosen.namespace,
        proxy=Secret(proxy) if proxy else None,
        tls_server_name=kubeconfig.tls_server_name(cluster),
        insecure=cluster.entry.insecure_skip_tls_verify,
        compression=not cluster.entry.disable_compression,
        impersonation=_impersonation(impersonate or _acting_as(user.entry), user.subject),
    )
    trusted = _trusted(cluster, clock)
    # As with kubectl, who somebody is does not matter, and is not looked at, where nobody may hear it.
    identity = _identity(user, clock, lambda: plugin(trusted)) if target.is_https() else Identity()
    return ServerAccess(target, identity, trusted)


def _trusted(cluster: Named[ClusterEntry], clock: Clock) -> Authorities | None:
    entry, subject = cluster.entry, cluster.subject
    if not entry.certificate_authority_data and not entry.certificate_authority:
        return None
    if entry.insecure_skip_tls_verify:
        raise InvalidSpec(
            subject,
            "it has a certificate authority and insecure-skip-tls-verify, which contradict each other",
            "Remove insecure-skip-tls-verify",
        )
    field = "certificate-authority"
    content = _content(entry.certificate_authority_data, entry.certificate_authority, subject, field, clock)
    return Authorities(content, subject=subject, field=field)


def _identity(user: Named[UserEntry], clock: Clock, plugin: Callable[[], Plugin | None]) -> Identity:
    entry, subject = user.entry, user.subject
    if entry.auth_provider:
        raise InvalidSpec(
            subject,
            "its auth-provider is a legacy kind of login, which is not supported",
            "Replace auth-provider with the exec plugin of the same provider",
        )
    basic = (
        Secret(f"{entry.username}:{entry.password.reveal()}") if entry.username or entry.password else None
    )
    has_token = bool(entry.token or entry.token_file)
    if basic and has_token:
        raise InvalidSpec(subject, "it has both a token and a username with password", "Remove one of them")
    return Identity(
        basic=Secret(f"Basic {base64.b64encode(basic.reveal().encode()).decode()}") if basic else None,
        token=_token(user, clock) if has_token else None,
        client=_client(user, clock),
        plugin=None if basic or has_token else plugin(),
    )


def _token(user: Named[UserEntry], clock: Clock) -> Token:
    """The token of an entry; of a token and a token file the file is the fresher, as with kubectl."""
    entry, subject = user.entry, user.subject
    if entry.token_file:
        file = WatchedFile(Path(entry.token_file), subject=subject, field="tokenFile", clock=clock)
        return Token(file, subject=subject, field="tokenFile")
    return Token(FixedContent(entry.token.reveal().encode()), subject=subject, field="token")


def _client(user: Named[UserEntry], clock: Clock) -> Client | None:
    entry, subject = user.entry, user.subject
    names = ("client-certificate", "client-key")
    has_certificate = bool(entry.client_certificate or entry.client_certificate_data)
    has_key = bool(entry.client_key or entry.client_key_data)
    if not has_certificate and not has_key:
        return None
    if not has_certificate or not has_key:
        have, lacks = names if has_certificate else names[::-1]
        raise InvalidSpec(subject, f"it has a {have}, but no {lacks}", f"Set {lacks} or {lacks}-data")
    certificate = _content(
        entry.client_certificate_data.reveal(), entry.client_certificate, subject, names[0], clock
    )
    key = _content(entry.client_key_data.reveal(), entry.client_key, subject, names[1], clock)
    return Client(certificate, key, subject=subject, names=names, clock=clock)


def _content(given: str, path: str, subject: str, field: str, clock: Clock) -> Content:
    """What a field says itself, else the file it names."""
    if given:
        return FixedContent(decoded_base64(given, subject=subject, field=f"{field}-data"))
    return WatchedFile(Path(path), subject=subject, field=field, clock=clock)


def _acting_as(entry: UserEntry) -> Impersonation:
    return Impersonation(
        user=entry.act_as, uid=entry.as_uid, groups=entry.as_groups, extra=entry.as_user_extra
    )


def _impersonation(who: Impersonation, subject: str) -> tuple[tuple[str, str], ...]:
    if problem := impersonation_problem(who):
        raise InvalidSpec(subject, problem, "Correct the user, uid, groups or extra values to act as")
    return impersonation_headers(who)
