"""How helm is told to fetch a chart: which commands, and which files hold what is secret. Pure.

A password never stands on a command line: a registry's goes into a file as `helm registry login` writes it, a
chart repository's into one as `helm repo add` does, and helm is shown where they are.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from trimtab.errors import InvalidSpec, NotAllowed, TrimtabError, Unavailable
from trimtab.sources.rendering.cleaning import cleaned
from trimtab.sources.rendering.jobs import Fetch
from trimtab.sources.repositories.addresses import WHERE, Address, address_of
from trimtab.sources.repositories.credentials import (
    ANONYMOUS,
    Basic,
    Belonging,
    Credential,
    belonging_for,
    fingerprint,
    scope_of,
    secrets_of,
    uses_proxy,
)

OCI: Final = "oci://"
_REGISTRY, _REPOSITORIES = "registry.json", "repositories.yaml"
_CA, _CERTIFICATE, _KEY = "ca.pem", "client.pem", "client.key"
#: how our one chart repository is called in helm's own list
_NAME: Final = "remote"
_REFUSED: Final = re.compile(r"\b40[13]\b|unauthorized|denied|authentication required", re.IGNORECASE)


class Pull(Struct, frozen=True, kw_only=True):
    """What it takes to fetch one chart."""

    #: run one after the other
    commands: tuple[tuple[str, ...], ...]
    #: files of a folder that only we can open, by name
    files: Mapping[str, str]
    environment: Mapping[str, str]


def access_to(known: Iterable[Belonging], remotes: Iterable[str], key: bytes) -> tuple[str, ...]:
    """Names the credentials that could open an allowed address, without saying anything about them.

    Whoever has others may be given another chart, so they are part of what a render follows from.
    """
    origins = {address.origin for remote in remotes if (address := _address(remote)) is not None}
    useful = (each for each in known if scope_of(each)[0] in origins)
    return tuple(sorted(f"{each.url} {fingerprint(each.credential, key)}" for each in useful))


def shown_for(fetch: Fetch, known: Iterable[Belonging]) -> Belonging | None:
    """The credential that is shown where a chart is fetched."""
    address = _address(f"{fetch.repository.rstrip('/')}/{fetch.name}")
    return None if address is None else belonging_for(address, known)


def pull_of(fetch: Fetch, shown: Belonging | None, *, folder: str) -> Pull:
    """How a chart is fetched with a credential; the folder will hold the files."""
    credential = shown.credential if shown else ANONYMOUS
    _check(fetch, credential)
    files, options = _trusted(credential, folder)
    login = credential.login if isinstance(credential.login, Basic) else None
    version = (f"--version={fetch.version}", f"--destination={fetch.destination}")
    if fetch.repository.startswith(OCI):
        if login is not None:
            files[_REGISTRY] = _registry(fetch, login)
            options = (*options, f"--registry-config={folder}/{_REGISTRY}")
        reference = f"{fetch.repository.rstrip('/')}/{fetch.name}"
        commands: tuple[tuple[str, ...], ...] = (("pull", reference, *version, *options),)
    elif login is not None:
        files[_REPOSITORIES] = _repositories(fetch, login, credential, folder)
        listed = f"--repository-config={folder}/{_REPOSITORIES}"
        commands = (
            ("repo", "update", _NAME, listed),
            ("pull", f"{_NAME}/{fetch.name}", *version, listed),
        )
    else:
        commands = (("pull", fetch.name, f"--repo={fetch.repository}", *version, *options),)
    return Pull(commands=commands, files=files, environment=_environment(fetch, credential))


def error_of(
    fetch: Fetch, subject: str, stderr: str, shown: Belonging | None, private: Iterable[str]
) -> TrimtabError:
    """Why a chart could not be fetched; unlike a chart that cannot be rendered, that may pass."""
    secrets = secrets_of(shown.credential) if shown else ()
    words = cleaned(stderr, secrets, private) or "helm gave no reason"
    reason = f"its dependency {fetch.name!r} could not be fetched:\n{words}"
    if not _REFUSED.search(stderr):
        return Unavailable(subject, reason, "Look at the chart repository and the network")
    if shown is None:
        reason = f"{reason}\nNo credential was found for its address"
        return NotAllowed(subject, reason, f"Put one into {WHERE}")
    name = shown.name or f"the credential for {shown.url}"
    return NotAllowed(subject, f"{reason}\nShown was {name}", "Give a credential that may read it")


def _address(url: str) -> Address | None:
    try:
        return address_of(f"https://{url.removeprefix(OCI)}" if url.startswith(OCI) else url)
    except InvalidSpec:
        # An allowed address may be a host alone, which is no repository.
        return None if url.endswith("/any") else _address(f"{url.rstrip('/')}/any")


def _check(fetch: Fetch, credential: Credential) -> None:
    subject = f"the credential for {fetch.repository}"
    if credential.login is not None and not isinstance(credential.login, Basic):
        raise InvalidSpec(subject, "helm fetches charts with a username and a password", "Give these")
    if credential.trust.insecure:
        remedy = "Give the certificate authority"
        raise InvalidSpec(subject, "it trusts any server, and no chart is fetched that way", remedy)
    if "@" in credential.trust.proxy.reveal():
        # Programs are told of a proxy by their environment, which others can read.
        raise InvalidSpec(subject, "helm cannot be told the password of its proxy", "Use one without")


def _trusted(credential: Credential, folder: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The files and options by which both sides prove who they are."""
    files: dict[str, str] = {}
    options: tuple[str, ...] = ()
    if credential.trust.ca:
        files[_CA] = credential.trust.ca
        options += (f"--ca-file={folder}/{_CA}",)
    if credential.certificate:
        files[_CERTIFICATE] = credential.certificate.certificate
        files[_KEY] = credential.certificate.key.reveal()
        options += (f"--cert-file={folder}/{_CERTIFICATE}", f"--key-file={folder}/{_KEY}")
    return files, options


def _registry(fetch: Fetch, login: Basic) -> str:
    host = fetch.repository.removeprefix(OCI).partition("/")[0]
    pair = base64.b64encode(f"{login.username}:{login.password.reveal()}".encode()).decode()
    return msgspec.json.encode({"auths": {host: {"auth": pair}}}).decode()


def _repositories(fetch: Fetch, login: Basic, credential: Credential, folder: str) -> str:
    """Helm's own list of chart repositories, with one in it; JSON is YAML, too."""
    entry = {
        "name": _NAME,
        "url": fetch.repository,
        "username": login.username,
        "password": login.password.reveal(),
        "caFile": f"{folder}/{_CA}" if credential.trust.ca else "",
        "certFile": f"{folder}/{_CERTIFICATE}" if credential.certificate else "",
        "keyFile": f"{folder}/{_KEY}" if credential.certificate else "",
        "pass_credentials_all": fetch.pass_credentials,
    }
    return msgspec.json.encode({"apiVersion": "v1", "repositories": [entry]}).decode()


def _environment(fetch: Fetch, credential: Credential) -> dict[str, str]:
    address = _address(fetch.repository)
    if address is None or not uses_proxy(address, credential.trust):
        return {}
    proxy = credential.trust.proxy.reveal()
    return {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": credential.trust.no_proxy}
