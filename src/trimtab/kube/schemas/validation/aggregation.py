"""What is wrong with servers beside the server, and with requests for certificates."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    each_invalid,
    entries,
    invalid,
    not_supported,
    part,
    quoted,
    required,
    too_long,
)
from trimtab.kube.schemas.validation.names import (
    NameRule,
    dns_1035_label,
    dns_label,
    dns_subdomain,
    port_number,
)

Json = Mapping[str, Any]
MOST_IN_GROUP, MOST_OF_VERSION = 20000, 1000
SHORTEST = 600
USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def api_service(manifest: Json) -> Causes:
    """What is wrong with an APIService."""
    spec = part(manifest, "spec")
    group, version, name = (
        spec.get("group", ""),
        spec.get("version", ""),
        part(manifest, "metadata").get("name", ""),
    )
    wanted = f"{version}.{group}"
    if name != wanted:
        told = f'must be `spec.version+"."+spec.group`: {quoted(wanted)}'
        yield invalid("metadata.name", name, told)
    if group:
        yield from each_invalid("spec.group", group, dns_subdomain(group))
    yield from each_invalid("spec.version", version, dns_1035_label(version))
    for field, most in (("groupPriorityMinimum", MOST_IN_GROUP), ("versionPriority", MOST_OF_VERSION)):
        number = spec.get(field, 0)
        if not 0 < number <= most:
            yield invalid(f"spec.{field}", number, f"must be positive and less than {most}")
    yield from _server(spec)


def _server(spec: Json) -> Causes:
    """Where the other server is, unless this one is meant."""
    service, careless = spec.get("service"), bool(spec.get("insecureSkipTLSVerify"))
    if service is None:
        if spec.get("caBundle"):
            yield invalid(
                "spec.caBundle", f"{len(spec['caBundle'])} bytes", "local APIServices may not have a caBundle"
            )
        if careless:
            told = "local APIServices may not have insecureSkipTLSVerify"
            yield invalid("spec.insecureSkipTLSVerify", careless, told)
        return
    for name in ("namespace", "name"):
        if not service.get(name):
            yield required(f"spec.service.{name}")
    port = service.get("port", 443)
    told_of_port = tuple(f"port is not valid: {each}" for each in port_number(port))
    yield from each_invalid("spec.service.port", port, told_of_port)
    if careless and spec.get("caBundle"):
        yield invalid("spec.insecureSkipTLSVerify", careless, "may not be true if caBundle is present")


# -- certificates -----------------------------------------------------------------------------------------


def signing_request(manifest: Json) -> Causes:
    """What is wrong with a CertificateSigningRequest; what its request says inside is not looked at."""
    spec = part(manifest, "spec")
    request = spec.get("request", "")
    if not _is_request(request):
        yield invalid("spec.request", request, "PEM block type must be CERTIFICATE REQUEST")
    usages = spec.get("usages") or []
    if not usages:
        yield required("spec.usages")
    for number, usage in entries(usages):
        if usage not in USAGES:
            yield not_supported(f"spec.usages[{number}]", usage, USAGES)
        if usage in usages[:number]:
            yield duplicate(f"spec.usages[{number}]", usage)
    yield from signer_name(spec.get("signerName", ""), "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SHORTEST:
        told = f"may not specify a duration less than {SHORTEST} seconds ({SHORTEST // 60} minutes)"
        yield invalid("spec.expirationSeconds", seconds, told)


def _is_request(encoded: str) -> bool:
    try:
        text = base64.b64decode(encoded)
    except binascii.Error:
        return False
    return b"-----BEGIN CERTIFICATE REQUEST-----" in text


LONGEST_SUBDOMAIN, LONGEST_SIGNER = 253, 253 + 253 + 63 + 1 + 1


def signer_name(name: str, path: str) -> Causes:
    """Who signs certificates: a domain with a dot, and a path below it."""
    if not name:
        yield required(path)
        return
    domain, *names = name.split("/")
    if len(names) != 1:
        told = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid(path, name, told)
        return
    labels = domain.split(".")
    if len(domain) > LONGEST_SUBDOMAIN:
        yield too_long(path, LONGEST_SUBDOMAIN)
    yield from _first_wrong(domain, labels, dns_label, path)
    if len(labels) < 2:
        yield invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _first_wrong(names[0], names[0].split("."), dns_subdomain, path)
    if len(name) > LONGEST_SIGNER:
        yield too_long(path, LONGEST_SIGNER)


def _first_wrong(whole: str, labels: list[str], rule: NameRule, path: str) -> Causes:
    """What is wrong with the first wrong label of a name."""
    for label in labels:
        problems = rule(label)
        if problems:
            told = tuple(f"validating label {quoted(label)}: {each}" for each in problems)
            yield from each_invalid(path, whole, told)
            return
