"""What git and ssh are told before they reach for a server: configuration files and environment. Pure.

Everything secret goes into files of a folder that only we can open; command lines and environments, which
others can read in /proc, hold only the paths. git sees no other configuration than this one, so neither the
machine's nor a user's nor a repository's own settings have a say.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.sources.repositories.addresses import Address, Scheme
from trimtab.sources.repositories.credentials import (
    Basic,
    Bearer,
    Credential,
    SshKey,
    proxy_address,
    uses_proxy,
)

CONFIG, SSH_CONFIG, KEY, KNOWN_HOSTS = "config", "ssh_config", "key", "known_hosts"
CA, CERTIFICATE, CERTIFICATE_KEY, TRACE = "ca.pem", "client.pem", "client.key", "trace"

#: old repositories are full of these, and they harm nobody who checks nothing out
_HARMLESS: Final = (
    *("badTimezone", "missingSpaceBeforeDate", "zeroPaddedFilemode", "missingTaggerEntry", "badEmail"),
    *("missingEmail", "missingNameBeforeEmail", "zeroPaddedDate", "badFilemode", "gitmodulesParse"),
    *("missingSpaceBeforeEmail", "badName", "nullSha1", "gitignoreSymlink", "gitattributesSymlink"),
)


class Reach(Struct, frozen=True, kw_only=True):
    """How one repository is reached by one consumer."""

    address: Address
    credential: Credential
    #: the addresses that the host, or the proxy, was found to have, and that were judged; empty for a file
    pins: tuple[str, ...] = ()
    #: host keys that the operator knows
    known_hosts: str = ""
    #: certificates, in PEM, that the operator trusts instead of the machine's own
    ca: str = ""
    stall: timedelta = timedelta(seconds=30)


def files_of(reach: Reach, *, folder: str) -> Mapping[str, str]:
    """The files of the private folder, by name."""
    files = {CONFIG: _config(_settings(reach, folder))}
    trust, certificate = reach.credential.trust, reach.credential.certificate
    if trust.ca or reach.ca:
        files[CA] = trust.ca or reach.ca
    if certificate:
        files |= {CERTIFICATE: certificate.certificate, CERTIFICATE_KEY: certificate.key.reveal()}
    if reach.address.scheme is Scheme.SSH:
        files |= {SSH_CONFIG: _ssh_config(reach, folder)}
        files |= {KNOWN_HOSTS: _ended(trust.known_hosts or reach.known_hosts)}
        if isinstance(reach.credential.login, SshKey):
            files |= {KEY: _ended(reach.credential.login.key.reveal())}
    return files


def local_files() -> Mapping[str, str]:
    """The files of a private folder for work that reaches no server."""
    return {CONFIG: _config(_everywhere())}


def environment_of(*, folder: str, path: str, scheme: Scheme | None = None) -> dict[str, str]:
    """All that git sees of the world; without a scheme it can reach no server whatever it is asked."""
    return {
        "PATH": path,
        "HOME": folder,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": f"{folder}/{CONFIG}",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_SSH_COMMAND": f"ssh -F {shlex.quote(f'{folder}/{SSH_CONFIG}')}",
        "GIT_SSH_VARIANT": "ssh",
        "GIT_ALLOW_PROTOCOL": scheme.value if scheme else "none",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_FLUSH": "0",
    }


def traced(environment: Mapping[str, str], *, folder: str) -> dict[str, str]:
    """The same, with the headers of HTTP answers written to a private file; git leaves secrets out of it."""
    return {**environment, "GIT_TRACE_CURL": f"{folder}/{TRACE}", "GIT_TRACE_CURL_NO_DATA": "1"}


def location_in(trace: str) -> str:
    """Where an HTTP answer sent git to, by the last such header; empty if nowhere."""
    found = ""
    for line in trace.splitlines():
        name, _, value = line.partition("<= Recv header: ")[2].partition(":")
        if name.strip().lower() == "location":
            found = value.strip()
    return found


def _everywhere() -> list[tuple[str, str, str]]:
    """What holds for every run of git: section, key, value."""
    fixed = {
        "core.hooksPath": "/dev/null",
        "core.fsmonitor": "false",
        "core.attributesFile": "/dev/null",
        "core.bigFileThreshold": "16m",
        "credential.helper": "",
        "protocol.version": "2",
        "fetch.fsckObjects": "true",
        "fetch.unpackLimit": "1",
        "fetch.recurseSubmodules": "false",
        "fetch.writeCommitGraph": "false",
        "fetch.showForcedUpdates": "false",
        "transfer.bundleURI": "false",
        "submodule.recurse": "false",
        "gc.auto": "0",
        "gc.packRefs": "false",
        "maintenance.auto": "false",
        "pack.threads": "2",
        "http.followRedirects": "false",
    }
    settings = [(*_split(name), value) for name, value in fixed.items()]
    return settings + [('fetch "fsck"', name, "ignore") for name in _HARMLESS]


def _settings(reach: Reach, folder: str) -> list[tuple[str, str, str]]:
    settings = _everywhere()
    if reach.address.scheme is Scheme.FILE:
        settings.append(("safe", "directory", reach.address.path))
    if reach.address.scheme in {Scheme.HTTPS, Scheme.HTTP}:
        settings += [("http", name, value) for name, value in _http(reach, folder)]
        if header := _header(reach.credential):
            settings.append((f"http {_quoted(_origin(reach.address))}", "extraHeader", header))
    return settings


def _http(reach: Reach, folder: str) -> Iterable[tuple[str, str]]:
    trust, address = reach.credential.trust, reach.address
    yield "sslVerify", "false" if trust.insecure else "true"
    yield "lowSpeedLimit", "100"
    yield "lowSpeedTime", str(max(1, round(reach.stall.total_seconds())))
    if trust.ca or reach.ca:
        yield "sslCAInfo", f"{folder}/{CA}"
    if reach.credential.certificate:
        yield "sslCert", f"{folder}/{CERTIFICATE}"
        yield "sslKey", f"{folder}/{CERTIFICATE_KEY}"
    host, port = address.host, address.port
    if uses_proxy(address, trust):
        host, port = proxy_address(trust)
        yield "proxy", trust.proxy.reveal()
    else:
        yield "proxy", ""
    if reach.pins and ":" not in host:
        yield "curloptResolve", f"{host}:{port}:{','.join(reach.pins)}"


def _header(credential: Credential) -> str:
    match credential.login:
        case Basic(username=username, password=password):
            pair = f"{username}:{password.reveal()}".encode()
            return f"Authorization: Basic {base64.b64encode(pair).decode()}"
        case Bearer(token=token):
            return f"Authorization: Bearer {token.reveal()}"
        case _:
            return ""


def _ssh_config(reach: Reach, folder: str) -> str:
    address, trust = reach.address, reach.credential.trust
    alias = address.host if address.port == 22 else f"[{address.host}]:{address.port}"
    lines = {
        "HostKeyAlias": alias,
        "IdentityFile": f'"{folder}/{KEY}"',
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "UserKnownHostsFile": f'"{folder}/{KNOWN_HOSTS}"',
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "no" if trust.insecure else "yes",
        "CheckHostIP": "no",
        "UpdateHostKeys": "no",
        "VerifyHostKeyDNS": "no",
        "BatchMode": "yes",
        "PreferredAuthentications": "publickey",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "PermitLocalCommand": "no",
        "ProxyCommand": "none",
        "ControlMaster": "no",
        "ControlPath": "none",
        "CanonicalizeHostname": "no",
        "RequestTTY": "no",
        "ConnectTimeout": str(max(1, round(reach.stall.total_seconds()))),
        "ServerAliveInterval": "10",
        "ServerAliveCountMax": str(max(1, round(reach.stall.total_seconds() / 10))),
        "LogLevel": "ERROR",
    }
    if reach.pins:
        lines["HostName"] = reach.pins[0]
    return "Host *\n" + "".join(f"  {name} {value}\n" for name, value in lines.items())


def _origin(address: Address) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{address.scheme.value}://{host}:{address.port}/"


def _split(name: str) -> tuple[str, str]:
    section, _, key = name.partition(".")
    return section, key


def _config(settings: Iterable[tuple[str, str, str]]) -> str:
    return "".join(f"[{section}]\n\t{key} = {_quoted(value)}\n" for section, key, value in settings)


def _quoted(value: str) -> str:
    if not value.isprintable():
        raise InvalidSpec("the credential", "it holds characters that cannot be sent", "Mend it")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _ended(text: str) -> str:
    """The text with a line end, without which ssh reads no key."""
    return text if text.endswith("\n") else f"{text}\n"
