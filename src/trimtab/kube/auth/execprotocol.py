"""The words spoken with a credential plugin: client.authentication.k8s.io/v1 and v1beta1.

Pure: what is asked, and what an answer means. `trimtab.kube.auth.plugin` runs the program.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.errors import InvalidSpec, UserError
from trimtab.kube.auth.certificates import ClientPair, client_pair, validity_problem
from trimtab.kube.auth.impersonation import is_sendable
from trimtab.kube.auth.kubeconfig import EXEC_EXTENSION, ClusterEntry, Named, PluginEntry
from trimtab.kube.auth.redaction import Secret
from trimtab.shapes import Shape

GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
_KIND: Final = "ExecCredential"
#: credentials are renewed this long before they expire, or a tenth of their life if that is shorter
_MARGIN: Final = timedelta(seconds=30)
_MOMENT: Final = Shape(datetime)


class Credential(Struct, frozen=True, kw_only=True):
    """What a plugin gave: a token, a client certificate or both, and when to ask again (never, if None)."""

    token: Secret | None = None
    pair: ClientPair | None = None
    renew_at: datetime | None = None


class _Status(Struct, frozen=True, kw_only=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


_ANSWER: Final = msgspec.json.Decoder(_Answer)


def entry_problem(entry: PluginEntry) -> tuple[str, str] | None:
    """What keeps this plugin from being run, and the remedy."""
    if entry.api_version not in VERSIONS:
        said = "no apiVersion" if not entry.api_version else "an apiVersion that is not supported"
        return f"its exec plugin has {said}", f"Set exec.apiVersion to {VERSIONS[0]}"
    if not entry.command:
        return "its exec plugin has no command", "Set exec.command"
    if any("\0" in text for text in (entry.command, *(arg.reveal() for arg in entry.args))):
        return "its exec plugin has a NUL character in command or args", "Remove it"
    for variable in entry.env:
        if not variable.name or "=" in variable.name or "\0" in variable.name + variable.value.reveal():
            return "its exec plugin has an env entry without a usable name or value", "Correct exec.env"
    return _mode_problem(entry)


def _mode_problem(entry: PluginEntry) -> tuple[str, str] | None:
    match entry.interactive_mode:
        case "Never" | "IfAvailable":
            return None
        case "" if entry.api_version != VERSIONS[0]:  # only v1 made it obligatory
            return None
        case "Always":
            return (
                "its exec plugin wants a terminal (interactiveMode: Always), and there is none",
                "Use a plugin that can log in by itself and set exec.interactiveMode to Never",
            )
        case _:
            return (
                "its exec plugin has no valid interactiveMode",
                "Set exec.interactiveMode to Never or IfAvailable",
            )


def exec_info(entry: PluginEntry, cluster: Named[ClusterEntry], authority: str | None) -> str:
    """The value of KUBERNETES_EXEC_INFO; `authority` is the cluster's CA bundle in base64."""
    spec: dict[str, object] = {"interactive": False}
    if entry.provide_cluster_info:
        spec["cluster"] = _cluster_info(cluster.entry, authority)
    asked = {"apiVersion": entry.api_version, "kind": _KIND, "spec": spec}
    try:
        return msgspec.json.encode(asked).decode()
    except (TypeError, ValueError):
        raise InvalidSpec(
            cluster.subject, f"its extension {EXEC_EXTENSION} cannot be written as JSON", "Correct it"
        ) from None


def _cluster_info(cluster: ClusterEntry, authority: str | None) -> dict[str, object]:
    configs: list[Any] = [it.extension for it in cluster.extensions if it.name == EXEC_EXTENSION]
    told: dict[str, object] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": authority,
        "proxy-url": cluster.proxy_url.reveal(),
        "config": configs[0] if configs else None,
    }
    return {name: value for name, value in told.items() if value or name == "server"}


def credential(stdout: bytes, *, entry: PluginEntry, subject: str, plugin: str, now: datetime) -> Credential:
    """The credential that the plugin printed, after everything about it was found to be in order."""
    status = _status(stdout, entry, subject, plugin)
    if not (status.token or status.client_certificate_data or status.client_key_data):
        raise _refused(
            subject, plugin, "gave neither a token nor a client certificate", "Log in with it again"
        )
    if status.token and not is_sendable(status.token):
        raise _refused(subject, plugin, "gave a token that holds line breaks or control characters")
    expires = _time(status.expiration_timestamp, subject, plugin)
    pair = _pair(status, subject, plugin, now)
    if pair:
        expires = min(expires or pair.not_after, pair.not_after)
    if expires and now >= expires:
        raise _refused(
            subject,
            plugin,
            f"gave a credential that had already expired at {expires:%Y-%m-%d %H:%M:%S} UTC",
            "Log in with it again, and check this machine's clock",
        )
    return Credential(
        token=Secret(status.token) if status.token else None, pair=pair, renew_at=renewal(now, expires)
    )


def renewal(obtained: datetime, expires: datetime | None) -> datetime | None:
    """When to ask again for something that expires: shortly before."""
    return expires - min(_MARGIN, (expires - obtained) / 10) if expires else None


def _status(stdout: bytes, entry: PluginEntry, subject: str, plugin: str) -> _Status:
    try:
        answer = _ANSWER.decode(stdout)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # What it printed may hold secrets, so the cause is not chained.
        raise _refused(subject, plugin, "did not print an ExecCredential in JSON") from None
    if answer.kind != _KIND or not answer.api_version.startswith(f"{GROUP}/"):
        raise _refused(subject, plugin, "did not print an ExecCredential in JSON")
    if answer.api_version != entry.api_version:
        raise _refused(
            subject,
            plugin,
            f"answered in another version than the {entry.api_version} that exec.apiVersion asks for",
            "Set exec.apiVersion to the version that the plugin speaks",
        )
    if answer.status is None:
        raise _refused(subject, plugin, "gave no status, hence no credential", "Log in with it again")
    return answer.status


def _time(text: str | None, subject: str, plugin: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = _MOMENT.of(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (msgspec.ValidationError, OverflowError):
        raise _refused(subject, plugin, "gave an expirationTimestamp that is not a time") from None


def _pair(status: _Status, subject: str, plugin: str, now: datetime) -> ClientPair | None:
    certificate, key = status.client_certificate_data, status.client_key_data
    if not certificate and not key:
        return None
    if not certificate or not key:
        raise _refused(subject, plugin, "gave a client certificate or a key, but not both")
    pair = client_pair(
        certificate.encode(),
        key.encode(),
        subject=f"{subject}, exec plugin {plugin}",
        names=("status.clientCertificateData", "status.clientKeyData"),
    )
    if problem := validity_problem(pair, now):
        raise _refused(subject, plugin, f"gave a credential whose {problem}", "Log in with it again")
    return pair


def _refused(subject: str, plugin: str, what: str, remedy: str = "") -> UserError:
    reason = f"its exec plugin {plugin} {what}"
    return InvalidSpec(subject, reason, remedy or "Check that exec.command is a credential plugin")
