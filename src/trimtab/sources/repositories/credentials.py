"""What proves who we are to a Git server, and which of several credentials an address gets. Pure.

A credential belongs to an address or to everything below one. Belonging is judged by scheme, host, port and
whole names of the path: `https://git.example/team` covers `/team/app`, and neither `/teams` nor
`git.example.evil`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import Secret, quoted
from trimtab.sources.repositories.addresses import Address, Scheme, address_of

_NOTHING: Final = Secret("")


class Basic(Struct, frozen=True, kw_only=True):
    """A user's name and password, or a token that is given as one."""

    username: str
    password: Secret


class Bearer(Struct, frozen=True, kw_only=True):
    """A token that is sent as `Authorization: Bearer`."""

    token: Secret


class SshKey(Struct, frozen=True, kw_only=True):
    """A private key in OpenSSH or PEM form, without a passphrase."""

    key: Secret


Login: TypeAlias = Basic | Bearer | SshKey


class Trust(Struct, frozen=True, kw_only=True):
    """Whom we take a server for; whatever is not set is as the operator has it."""

    #: certificates, in PEM, of those who may vouch for an HTTPS server; instead of the machine's own
    ca: str = ""
    #: host keys in the form of known_hosts; instead of the operator's
    known_hosts: str = ""
    #: take any HTTPS certificate and any SSH host key: only where the operator allows it
    insecure: bool = False
    #: an HTTP proxy, such as http://proxy.example:3128; its address may hold a password
    proxy: Secret = _NOTHING
    #: hosts that are reached without the proxy, with commas between them, as in NO_PROXY
    no_proxy: str = ""


class ClientCertificate(Struct, frozen=True, kw_only=True):
    """A certificate, with its key, that an HTTPS server may ask for; both in PEM."""

    certificate: str
    key: Secret


class Credential(Struct, frozen=True, kw_only=True):
    """Everything that one consumer brings to a server."""

    login: Login | None = None
    certificate: ClientCertificate | None = None
    trust: Trust = Trust()


#: for a repository that everybody may read
ANONYMOUS: Final = Credential()


class Belonging(Struct, frozen=True, kw_only=True):
    """A credential and the address, or the beginning of addresses, that it is for."""

    url: str
    credential: Credential
    #: whether it is for everything below the address, too
    below: bool = False
    #: how messages call it, so that its owner finds it; holds no secrets
    name: str = ""


def belonging_for(address: Address, known: Iterable[Belonging]) -> Belonging | None:
    """The one for exactly this address, else the one for the longest beginning of it, else none."""
    best, best_rank = None, 0
    for belonging in known:
        rank = _rank(address, belonging)
        if rank > best_rank:
            best, best_rank = belonging, rank
    return best


def credential_for(address: Address, known: Iterable[Belonging]) -> Credential:
    """The credential that is shown at this address; nobody's if none is for it."""
    belonging = belonging_for(address, known)
    return belonging.credential if belonging else ANONYMOUS


def _rank(address: Address, belonging: Belonging) -> int:
    """How well a credential fits: 0 not at all; an exact address beats every beginning."""
    origin, path = scope_of(belonging)
    if origin != address.origin:
        return 0
    names, wanted = path, _names(address.path)
    if not belonging.below:
        return 1 << 20 if names == wanted else 0
    return 1 + len(names) if wanted[: len(names)] == names else 0


def scope_of(belonging: Belonging) -> tuple[tuple[Scheme, str, int], tuple[str, ...]]:
    """Whom a credential is for: scheme, host and port, and the names of the path; these may be none."""
    host_alone = belonging.below and belonging.url.rstrip("/").count("/") == 2 and "://" in belonging.url
    address = address_of(f"{belonging.url.rstrip('/')}/any" if host_alone else belonging.url)
    return address.origin, () if host_alone else _names(address.path)


def _names(path: str) -> tuple[str, ...]:
    return tuple(path.strip("/").removesuffix(".git").split("/"))


def fingerprint(credential: Credential, key: bytes) -> str:
    """Equal for equal credentials under one key; says nothing about them without it."""
    certificate = credential.certificate
    words = _words(credential.login)
    words += [certificate.certificate, certificate.key.reveal()] if certificate else ["", ""]
    words += [trust_digest(credential.trust)]
    hashed = hashlib.blake2b(key=key, digest_size=16)
    for word in words:
        raw = word.encode("utf-8", "surrogatepass")
        hashed.update(len(raw).to_bytes(8, "big") + raw)
    return hashed.hexdigest()


def _words(login: Login | None) -> list[str]:
    match login:
        case Basic():
            return ["basic", login.username, login.password.reveal()]
        case Bearer():
            return ["bearer", login.token.reveal(), ""]
        case SshKey():
            return ["ssh", login.key.reveal(), ""]
        case None:
            return ["none", "", ""]


def trust_digest(trust: Trust) -> str:
    """Differs when two might be answered by different servers under one address; empty for the usual trust.

    Whoever brings an authority, host keys or a proxy of his own could answer in the server's name. What he is
    told is his alone: it is never mixed with what others are told.
    """
    if trust == Trust():
        return ""
    words = (trust.ca, trust.known_hosts, str(trust.insecure), trust.proxy.reveal(), trust.no_proxy)
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def secrets_of(credential: Credential) -> tuple[str, ...]:
    """Every text that no message may hold."""
    found: list[str] = []
    match credential.login:
        case Basic() as login:
            pair = f"{login.username}:{login.password.reveal()}"
            found += [login.password.reveal(), base64.b64encode(pair.encode()).decode()]
        case Bearer() as login:
            found += [login.token.reveal()]
        case SshKey() as login:
            found += [login.key.reveal(), *login.key.reveal().splitlines()]
        case None:
            pass
    if credential.certificate:
        found += [credential.certificate.key.reveal(), *credential.certificate.key.reveal().splitlines()]
    proxy = credential.trust.proxy.reveal()
    found += [proxy, proxy.rpartition("@")[0].rpartition("//")[2].partition(":")[2]]
    return tuple(text for text in found if text)


def check(credential: Credential, address: Address, *, allow_insecure: bool) -> None:
    """Refuse a credential that cannot work, or that says what it may not."""
    subject = f"the credential for {address}"
    for words in _objections(credential, address, allow_insecure=allow_insecure):
        reason, remedy = words
        raise InvalidSpec(subject, reason, remedy)


def _objections(
    credential: Credential, address: Address, *, allow_insecure: bool
) -> Iterable[tuple[str, str]]:
    login, trust = credential.login, credential.trust
    if trust.insecure and not allow_insecure:
        yield "it trusts any server, which is not allowed", "Give the certificate authority or the host keys"
    match login:
        case Basic(username=username, password=password):
            if ":" in username or not f"{username}{password.reveal()}".isprintable():
                yield "its name or password holds characters that cannot be sent", "Mend them"
        case Bearer(token=token):
            if not token.reveal().isprintable() or " " in token.reveal():
                yield "its token holds characters that cannot be sent", "Remove spaces and line ends"
        case SshKey(key=key):
            yield from _key_objections(key.reveal())
        case None:
            pass
    is_web = address.scheme in {Scheme.HTTPS, Scheme.HTTP}
    if (isinstance(login, SshKey) and is_web) or (isinstance(login, Basic | Bearer) and not is_web):
        yield f"it is of no use for {address.scheme.value}", "Use another credential, or another address"


def _key_objections(key: str) -> Iterable[tuple[str, str]]:
    if "PRIVATE KEY-----" not in key:
        yield "it is no private SSH key", "Give the file that ssh-keygen writes without .pub"
    elif "ENCRYPTED" in key or _is_locked(key):
        yield "its SSH key needs a passphrase", "Remove the passphrase: ssh-keygen -p -N ''"


def _is_locked(key: str) -> bool:
    """Whether an OpenSSH key is encrypted: its cipher has a name other than none."""
    lines = [line.strip() for line in key.splitlines() if line.strip() and not line.startswith("-----")]
    try:
        raw = base64.b64decode("".join(lines), validate=True)
    except (binascii.Error, ValueError):
        return False
    magic = b"openssh-key-v1\0"
    return raw.startswith(magic) and not raw[len(magic) :].startswith(b"\0\0\0\x04none")


def uses_proxy(address: Address, trust: Trust) -> bool:
    """Whether this address is to be reached through the proxy."""
    if not trust.proxy or address.scheme not in {Scheme.HTTPS, Scheme.HTTP}:
        return False
    exempt = [
        entry.strip().lower().removeprefix(".").removeprefix("*.") for entry in trust.no_proxy.split(",")
    ]
    return not any(
        entry in {"*", address.host} or address.host.endswith(f".{entry}") for entry in exempt if entry
    )


def proxy_address(trust: Trust) -> tuple[str, int]:
    """The host and port of the proxy; `InvalidSpec` if it cannot be one."""
    scheme, _, rest = trust.proxy.reveal().partition("://")
    host, _, port = rest.rpartition("@")[2].rstrip("/").rpartition(":")
    if (
        scheme not in {"http", "https", "socks5", "socks5h"}
        or not host
        or not port.isdecimal()
        or "/" in host
    ):
        raise InvalidSpec("the proxy", "its address cannot be one", "Write it like http://proxy.example:3128")
    if not trust.proxy.reveal().isprintable() or " " in trust.proxy.reveal():
        raise InvalidSpec("the proxy", f"its address {quoted(host)} holds strange characters", "Mend it")
    return host.lower().strip("[]"), int(port)
