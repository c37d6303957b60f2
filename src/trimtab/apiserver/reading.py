"""Which objects a request selects, and pages of lists: all pages of one list show one version. Pure.

The token that continues a list names the version and the key after which the next page begins; whoever sends
a token for a version that is gone is told so, and how to go on without that promise.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.apiserver.catalog import Served, field
from trimtab.apiserver.gojson import BadJson, decoded
from trimtab.apiserver.refusing import expired, version_too_large
from trimtab.apiserver.requests import Address, ListOptions, unreadable_version
from trimtab.apiserver.store import Entry, Gone, Scan, Store
from trimtab.apiserver.versions import manifest_of
from trimtab.kube.gotext import quoted
from trimtab.kube.integers import INT64, UINT64, whole
from trimtab.kube.refusals import Refused, bad_request
from trimtab.kube.selectors import FieldSelector, LabelSelector, fields_matching, labels_matching
from trimtab.shapes import Shape

#: fields that built-in kinds may be selected by, besides name and namespace
FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    ("", "Node"): ("spec.unschedulable",),
    ("", "Namespace"): ("status.phase",),
    ("", "Secret"): ("type",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("", "ReplicationController"): ("status.replicas",),
    ("", "Event"): (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
        "reason", "reportingComponent", "source", "type",
    ),
    ("events.k8s.io", "Event"): (
        "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
        "regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type",
    ),
    ("apps", "ReplicaSet"): ("status.replicas",),
    ("batch", "Job"): ("status.successful",),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("spec.signerName",),
    ("resource.k8s.io", "ResourceSlice"): ("spec.nodeName", "spec.driver"),
}  # fmt: skip
RENAMED = {"status.successful": "status.succeeded", "source": "source.component"}
#: what a field says where the object does not
SILENT = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
    "status.successful": "0",
}


class Selected(Struct, frozen=True):
    """A selection, read."""

    labels: LabelSelector
    fields: FieldSelector
    served: Served

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.labels.requirements and not self.fields.terms

    def matches(self, entry: Entry) -> bool:
        """Whether an object is selected."""
        if not self.labels.matches(entry.labels or {}):
            return False
        return not self.fields.terms or self.fields.matches(self._fields(entry))

    def _fields(self, entry: Entry) -> dict[str, str]:
        namespace, _, name = entry.key.partition("/")
        found = {"metadata.name": name, "metadata.namespace": namespace}
        wanted = {term.field for term in self.fields.terms} - found.keys()
        if wanted:
            manifest = manifest_of(entry, self.served)
            found |= {each: _spelled(manifest, each) for each in wanted}
        return found


def _spelled(manifest: Mapping[str, Any], name: str) -> str:
    value = field(manifest, RENAMED.get(name, name))
    if value is None:
        return SILENT.get(name, "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def selected(served: Served, labels: str, fields: str) -> Selected:
    """Read selectors as requests carry them."""
    return Selected(labels_matching(labels), fields_matching(fields, _supported(served)), served)


def _supported(served: Served) -> tuple[str, ...] | None:
    every = ("metadata.name", "metadata.namespace")
    if served.custom:
        return (*every, *(path.strip(".") for path in served.selectable))
    own = FIELDS.get((served.group, served.kind))
    return None if own is None else (*every, *own)


# -- pages ------------------------------------------------------------------------------------------------


class Listed(Struct, frozen=True, kw_only=True):
    """One page of a list."""

    entries: list[Entry]
    revision: int
    continue_token: str = ""
    remaining: int | None = None
    warnings: tuple[str, ...] = ()  # what is to be said of a deletion of all this


WRITTEN_AS = "meta.k8s.io/v1"


class _Token(Struct, frozen=True):
    """Where a list goes on: the version (-1: the newest), and the key before the next one."""

    v: str = ""
    rv: int = 0
    start: str = ""


_TOKEN: Final = Shape(_Token)


def listed(store: Store, address: Address, options: ListOptions) -> Listed:
    """One page of a collection."""
    chosen = selected(address.served, options.labels, options.fields)
    token = _read_token(options) if options.continue_token else None
    revision = _revision(options, store.revision, token)
    after = _key_of(token.start, address.prefix) if token else ""
    if options.version == "0" and token is None:  # whatever is at hand, and all of it
        options = msgspec.structs.replace(options, limit=0)
    try:
        found = store.scan(address.served.collection, address.prefix, after=after, revision=revision)
    except Gone as gone:
        raise _gone(token) from gone
    shown = store.revision if revision is None else revision
    return _page(found, chosen, options, shown, prefix=address.prefix)


def _revision(options: ListOptions, current: int, token: _Token | None) -> int | None:
    """The version to list at; None for the newest."""
    if token is not None:
        return token.rv if token.rv > 0 else None
    if not options.version or options.version == "0":
        return None
    asked = version_number(options.version)
    if asked > current:
        raise version_too_large(asked, current)
    exact = options.match == "Exact" or (options.limit and not options.match)
    return asked if exact else None


def version_number(text: str) -> int:
    """A resource version, read."""
    if told := unreadable_version(text):
        raise bad_request(f"invalid resource version: resourceVersion: Invalid value: {quoted(text)}: {told}")
    return whole(text, UINT64) or 0


def _page(found: Scan, chosen: Selected, options: ListOptions, revision: int, *, prefix: str) -> Listed:
    """As many as are asked for of what is selected, and whether there are more."""
    matching = found.entries if chosen.is_everything else filter(chosen.matches, found.entries)
    if not options.limit:
        return Listed(entries=list(matching), revision=revision)
    page = list(islice(matching, options.limit))
    if chosen.is_everything:
        left = found.count - len(page)
        return _cut(page, revision, prefix, left) if left else Listed(entries=page, revision=revision)
    more = next(matching, None) is not None
    return _cut(page, revision, prefix, None) if more else Listed(entries=page, revision=revision)


def _cut(page: list[Entry], revision: int, prefix: str, remaining: int | None) -> Listed:
    token = _written_token(_Token(WRITTEN_AS, revision, f"{_start(page[-1].key, prefix)}\0"))
    return Listed(entries=page, revision=revision, continue_token=token, remaining=remaining)


def _start(key: str, prefix: str) -> str:
    """A key as tokens name it: from the root of what is listed."""
    return f"/{key.removeprefix(prefix).removeprefix('/')}"


def _key_of(start: str, prefix: str) -> str:
    """The key that a token names."""
    name = start.rstrip("\0")
    return f"{prefix}{name[1:]}" if prefix or name.count("/") > 1 else name


def _written_token(token: _Token) -> str:
    encoded = msgspec.json.encode(token).replace(b"\x00", b"\\u0000")
    return base64.urlsafe_b64encode(encoded).decode().rstrip("=")


def _read_token(options: ListOptions) -> _Token:
    token = _token_in(options.continue_token)
    if options.version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    return token


def _token_in(text: str) -> _Token:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as exc:
        raise _bad_token("illegal base64 data at input byte 0") from exc
    try:
        token = _TOKEN.of(decoded(raw))
    except BadJson as exc:
        raise _bad_token(str(exc)) from exc
    except msgspec.ValidationError as exc:
        raise bad_request(
            "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
        ) from exc
    if not INT64[0] <= token.rv <= INT64[1]:
        told = f"number {token.rv} into Go struct field continueToken.rv of type int64"
        raise _bad_token(f"json: cannot unmarshal {told}")
    if token.v != WRITTEN_AS:
        raise _bad_token(f"server does not recognize this encoded version {token.v}")
    if not token.start.startswith("/"):
        raise bad_request("continue key is not valid: " + quoted(token.start))
    return token


def _bad_token(why: str) -> Refused:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def _gone(token: _Token | None) -> Refused:
    if token is None:
        return expired("The resourceVersion for the provided list is too old.")
    again = _written_token(_Token(token.v, -1, token.start))
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can start a new "
        "list without the continue parameter, or use the continue token in this response to retrieve the "
        "remainder of the results. Continuing with the provided token results in an inconsistent list - "
        "objects that were created, modified, or deleted between the time the first chunk was returned and "
        "now may show up in the list."
    )
    return Expired(message, again)


class Expired(Refused):
    """A version that is gone, with a token that goes on from the newest one."""

    def __init__(self, message: str, token: str) -> None:
        super().__init__(410, "Expired", message)
        self.token = token

    def status(self) -> dict[str, Any]:
        """The `Status` object of the answer."""
        return {**super().status(), "metadata": {"continue": self.token}}
