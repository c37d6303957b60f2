"""Texts that must follow a rule: names, label keys and values, ports, paths, addresses.

Each function returns what is wrong with a text in the server's words; an empty tuple means nothing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

from trimtab.kube.schemas.validation.causes import Causes, each_invalid, invalid, required, too_long
from trimtab.resources.names import LABEL, LONGEST_LABEL

Problems = tuple[str, ...]
NameRule = Callable[[str], Problems]

SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
WILDCARD = rf"\*\.{SUBDOMAIN}"
REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_VALUE = f"({QUALIFIED})?"
CONFIG_KEY = "[-._a-zA-Z0-9]+"
HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
ANNOTATIONS_LIMIT = 256 << 10


def follows(pattern: str, text: str) -> bool:
    """Whether all of a text follows a pattern."""
    return re.fullmatch(pattern, text, re.ASCII) is not None


def _unlike(rule: str, pattern: str, *examples: str) -> str:
    """A sentence that names the rule, examples, and the pattern."""
    told = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {told}regex used for validation is '{pattern}')"


def _longer_than(text: str, limit: int, unit: str = "characters") -> Problems:
    return (f"must be no more than {limit} {unit}",) if len(text.encode()) > limit else ()


def _starts_and_ends(subject: str) -> str:
    return f"{subject}, and must start and end with an alphanumeric character"


def dns_label(text: str) -> Problems:
    """A DNS label: the name of a namespace or container."""
    wrong = _longer_than(text, LONGEST_LABEL)
    if follows(LABEL, text):
        return wrong
    if follows(SUBDOMAIN, text):
        return (*wrong, "must not contain dots")
    rule = _starts_and_ends(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"
    )
    return (*wrong, _unlike(rule, LABEL, "my-name", "123-abc"))


def dns_subdomain(text: str) -> Problems:
    """A DNS subdomain: the name of most objects."""
    wrong = _longer_than(text, 253)
    if follows(SUBDOMAIN, text):
        return wrong
    subject = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
    return (*wrong, _unlike(_starts_and_ends(subject), SUBDOMAIN, "example.com"))


def dns_1035_label(text: str) -> Problems:
    """A DNS label that starts with a letter."""
    rule = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character"
    )
    bad = () if follows(LABEL_1035, text) else (_unlike(rule, LABEL_1035, "my-name", "abc-123"),)
    return (*_longer_than(text, 63), *bad)


def wildcard_subdomain(text: str) -> Problems:
    """A DNS subdomain whose first label is a star."""
    rule = (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
        "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
    )
    bad = () if follows(WILDCARD, text) else (_unlike(rule, WILDCARD, "*.example.com"),)
    return (*_longer_than(text, 253), *bad)


def path_segment(text: str) -> Problems:
    """A name that may hold anything which does not break a URL: those of RBAC objects."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{sign}'" for sign in "/%" if sign in text)


def condition_reason(text: str) -> Problems:
    """Why a condition is as it is, in one word or a few."""
    if follows(REASON, text):
        return ()
    rule = (
        "a condition reason must start with alphabetic character, optionally followed by a string of"
        " alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
    )
    examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
    return (_unlike(rule, REASON, *examples),)


#: what is said of every name that is none, and so not put together again for every name that is one
_UNQUALIFIED = _unlike(
    _starts_and_ends("must consist of alphanumeric characters, '-', '_' or '.'"),
    QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)


def qualified_name(text: str) -> Problems:
    """A label key, annotation key or finalizer: a name with an optional domain before it."""
    parts = text.split("/")
    if len(parts) > 2:
        prefixed = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_UNQUALIFIED} {prefixed}",)
    prefix: Problems = ()
    if len(parts) == 2:
        empty = () if parts[0] else ("must be non-empty",)
        prefix = tuple(f"prefix part {each}" for each in (empty or dns_subdomain(parts[0])))
    name = parts[-1]
    wrong = (
        *(("must be non-empty",) if not name else _longer_than(name, 63, "bytes")),
        *(() if follows(QUALIFIED, name) else (_UNQUALIFIED,)),
    )
    return (*prefix, *(f"name part {each}" for each in wrong))


def label_value(text: str) -> Problems:
    """The value of a label."""
    subject = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"
    told = _unlike(_starts_and_ends(subject), LABEL_VALUE, "MyValue", "my_value", "12345")
    return (*_longer_than(text, 63, "bytes"), *(() if follows(LABEL_VALUE, text) else (told,)))


def config_key(text: str) -> Problems:
    """A key of a ConfigMap or Secret."""
    rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    told = _unlike(rule, CONFIG_KEY, "key.name", "KEY_NAME", "key-name")
    dots: Problems = ()
    if text in (".", ".."):
        dots = (f"must not be '{text}'",)
    elif text.startswith(".."):
        dots = ("must not start with '..'",)
    return (*_longer_than(text, 253), *(() if follows(CONFIG_KEY, text) else (told,)), *dots)


def port_name(text: str) -> Problems:
    """The name of a port: short, lower case, with a letter in it."""
    checks = (
        (len(text) > 15, "must be no more than 15 characters"),
        (
            not follows("[-a-z0-9]+", text),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (not re.search("[a-z]", text), "must contain at least one letter (a-z)"),
        ("--" in text, "must not contain consecutive hyphens"),
        (text.startswith("-") or text.endswith("-"), "must not begin or end with a hyphen"),
    )
    return tuple(told for wrong, told in checks if wrong)


def in_range(number: int, low: int, high: int) -> Problems:
    """A number between two others, both allowed."""
    return () if low <= number <= high else (f"must be between {low} and {high}, inclusive",)


def port_number(number: int) -> Problems:
    """A port."""
    return in_range(number, 1, 65535)


def environment_name(text: str) -> Problems:
    """The name of an environment variable."""
    if not text:
        return ("environment variable name must be non-empty",)
    printable = all(" " <= character <= "~" and character != "=" for character in text)
    told = "a valid environment variable name must consist only of printable ASCII characters other than '='"
    return () if printable else (told,)


def percent(text: str) -> Problems:
    """A percentage."""
    rule = "a valid percent string must be a numeric string followed by an ending '%'"
    return () if follows("[0-9]+%", text) else (_unlike(rule, "[0-9]+%", "1%", "93%"),)


def header_name(text: str) -> Problems:
    """The name of an HTTP header."""
    rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return () if follows("[-A-Za-z0-9]+", text) else (_unlike(rule, "[-A-Za-z0-9]+", "X-Header-Name"),)


def address(text: str) -> Problems:
    """An IP address, in a form that everybody reads alike."""
    plain = _without_zeros(text)
    try:
        found = ipaddress.ip_address(plain)
    except ValueError:
        return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)
    if plain != text:
        return ("must not have leading 0s",)
    return ("must not be an IPv4-mapped IPv6 address",) if _is_mapped(found) else ()


def address_range(text: str) -> Problems:
    """A range of IP addresses, in a form that everybody reads alike."""
    host, slash, bits = text.partition("/")
    plain = _without_zeros(host), bits.lstrip("0") or bits[:1]
    try:
        found = ipaddress.ip_interface("/".join(plain) if slash and bits.isdecimal() else "")
    except ValueError:
        return ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)
    if plain != (host, bits):
        return ("must not have leading 0s in IP or prefix length",)
    if _is_mapped(found.ip):
        return ("must not have an IPv4-mapped IPv6 address",)
    beyond = found.ip != found.network.network_address
    return ("must not have bits set beyond the prefix length",) if beyond else ()


def _without_zeros(text: str) -> str:
    """An IPv4 address without zeros in front of its numbers, which some read as octal."""
    return text if ":" in text else ".".join(part.lstrip("0") or part[:1] for part in text.split("."))


def _is_mapped(found: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None


# -- maps of texts ---------------------------------------------------------------------------------------


def label_causes(given: Any, path: str) -> Causes:
    """What is wrong with labels, or with a map of them."""
    for key, value in (given or {}).items():
        yield from each_invalid(path, key, qualified_name(key))
        yield from each_invalid(path, value, label_value(value))


def annotation_causes(given: Mapping[str, str] | None, path: str) -> Causes:
    """What is wrong with annotations: keys, and how much they hold together."""
    for key in given or {}:
        yield from each_invalid(path, key, qualified_name(key.lower()))
    size = sum(len(key.encode()) + len(value.encode()) for key, value in (given or {}).items())
    if size > ANNOTATIONS_LIMIT:
        yield too_long(path, ANNOTATIONS_LIMIT)


def at_least_zero(number: int | None, path: str) -> Causes:
    """A number that must not be negative."""
    if number is not None and number < 0:
        yield invalid(path, number, "must be greater than or equal to 0")


def descending_path(text: str, path: str) -> Causes:
    """A path that stays below where it starts."""
    if text.startswith("/"):
        yield invalid(path, text, "must be a relative path")
    if ".." in text.split("/"):
        yield invalid(path, text, "must not contain '..'")


def domain_prefixed(text: str, path: str) -> Causes:
    """What is wrong with the name of a program: whose it is, and which, as in `example.com/program`."""
    host, slash, rest = text.partition("/")
    if not text:
        yield required(path)
    elif not slash or not host or not rest:
        yield invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from each_invalid(path, host, dns_subdomain(host))
        if not follows(HTTP_PATH, rest):
            yield invalid(path, rest, f"Invalid path (regex used for validation is '{HTTP_PATH}')")
