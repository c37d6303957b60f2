"""Which objects a request selects, and pages of lists: all pages of one list show one version. Pure.

The token that continues a list names the version and the key after which the next page begins; whoever sends
a token for a version that is gone is told so, and how to go on without that promise.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.apiserver.catalog import Served, field
from trimtab.apiserver.refusing import TooLarge, expired
from trimtab.apiserver.requests import Address, ListOptions, unreadable_version
from trimtab.apiserver.store import Entry, Gone, Scan, Store
from trimtab.apiserver.versions import manifest_of
from trimtab.kube.gojson import BadJson, decoded
from trimtab.kube.gotext import quoted
from trimtab.kube.integers import INT64, UINT64, whole
from trimtab.kube.refusals import Refused, bad_request
from trimtab.kube.schemas.validation.names import dns_label
from trimtab.kube.selectors import (
    EVERY_KIND,
    PLAIN,
    FieldSelector,
    LabelSelector,
    Selectable,
    fields_matching,
    labels_matching,
)
from trimtab.shapes import Shape

OWN_WORDS = "field label not supported: {field}"


def _selectable(*fields: str, refusal: str = OWN_WORDS, namespaced: bool = True) -> Selectable:
    every = EVERY_KIND if namespaced else ("metadata.name",)
    return Selectable((*every, *fields), refusal)


#: built-in kinds that may be selected by more than name and namespace, or refuse in words of their own
FIELDS: Mapping[tuple[str, str], Selectable] = {
    ("", "Pod"): _selectable(
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    ("", "Node"): _selectable("spec.unschedulable", namespaced=False),
    ("", "Namespace"): _selectable("status.phase", namespaced=False),
    ("", "Secret"): _selectable("type"),
    ("", "Service"): _selectable("spec.clusterIP", "spec.type"),
    ("", "ReplicationController"): _selectable("status.replicas"),
    ("", "Event"): _selectable(
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
        "reason", "reportingComponent", "source", "type",
    ),
    ("events.k8s.io", "Event"): _selectable(
        "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
        "regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type",
    ),
    ("batch", "Job"): _selectable(
        "status.successful", refusal="field label {quoted} not supported for Job"
    ),
    ("certificates.k8s.io", "CertificateSigningRequest"): _selectable("spec.signerName", namespaced=False),
    ("resource.k8s.io", "ResourceSlice"): _selectable(
        "spec.nodeName", "spec.driver", namespaced=False,
        refusal="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}",
    ),
}  # fmt: skip
#: fields by which the server finds objects without reading all of their kind
INDEXED = {("", "Pod"): "spec.nodeName", ("resource.k8s.io", "ResourceSlice"): "spec.nodeName"}
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
    return Selected(labels_matching(labels), fields_matching(fields, _selectable_of(served)), served)


def _selectable_of(served: Served) -> Selectable:
    if served.custom:
        own = (path.strip(".") for path in served.selectable)
        return _selectable(*own, namespaced=served.namespaced)
    return FIELDS.get((served.group, served.kind), PLAIN)


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
    after = _key_of(token.start, address) if token else ""
    narrow = address if token else _narrowed(address, chosen)
    if options.version == "0":  # whatever is at hand, and all of it
        options = msgspec.structs.replace(options, limit=0)
    try:
        found = store.scan(address.served.collection, narrow.prefix, after=after, revision=revision)
    except Gone as gone:
        raise _gone(token) from gone
    if not token:
        looked_at = _looked_at(found.entries, chosen, narrow, newest=revision is None)
        found = Scan(found.count, looked_at)
    shown = store.revision if revision is None else revision
    return _page(found, chosen, options, shown, prefix=narrow.prefix)


def _narrowed(address: Address, chosen: Selected) -> Address:
    """What a first page is read from: one namespace, or one object of it, if fields ask for no other.

    Tokens tell keys from there on, although the pages after the first are read from the whole address: the
    server itself shows objects twice, or not at all, to whoever selects a namespace among all of them.
    """
    namespace = address.namespace
    if address.served.namespaced and not namespace:
        asked = chosen.fields.required("metadata.namespace") or ""
        namespace = "" if dns_label(asked) else asked
    name = chosen.fields.required("metadata.name") or ""
    known = namespace or not address.served.namespaced
    return msgspec.structs.replace(address, namespace=namespace, name=name if known else "")


def _looked_at(
    entries: Iterator[Entry], chosen: Selected, narrow: Address, *, newest: bool
) -> Iterator[Entry]:
    """The objects that the server considers: what follows the last one on a page makes for another page.

    Those are not only the selected ones, unless an index or the very name leads to them.
    """
    if narrow.name:
        return (entry for entry in entries if entry.key == narrow.key)
    index = INDEXED.get((narrow.served.group, narrow.served.kind), "")
    if not newest or chosen.fields.required(index) is None:
        return entries
    term = FieldSelector(tuple(term for term in chosen.fields.terms if term.field == index)[:1])
    return filter(Selected(LabelSelector(), term, narrow.served).matches, entries)


def _revision(options: ListOptions, current: int, token: _Token | None) -> int | None:
    """The version to list at; None for the newest."""
    if token is not None:
        return token.rv if token.rv > 0 else None
    if not options.version or options.version == "0":
        return None
    asked = version_number(options.version)
    if asked > current:
        raise TooLarge(asked, current)
    exact = options.match == "Exact" or (options.limit and not options.match)
    return asked if exact else None


def version_number(text: str) -> int:
    """A resource version, read."""
    if told := unreadable_version(text):
        raise bad_request(f"invalid resource version: resourceVersion: Invalid value: {quoted(text)}: {told}")
    return whole(text, UINT64) or 0


def _page(found: Scan, chosen: Selected, options: ListOptions, revision: int, *, prefix: str) -> Listed:
    """As many as are asked for of what is selected, and whether there may be more."""
    matching = found.entries if chosen.is_everything else filter(chosen.matches, found.entries)
    if not options.limit:
        return Listed(entries=list(matching), revision=revision)
    page = list(islice(matching, options.limit))
    if chosen.is_everything:
        left = found.count - len(page)
        return _cut(page, revision, prefix, left) if left else Listed(entries=page, revision=revision)
    more = len(page) == options.limit and next(found.entries, None) is not None
    return _cut(page, revision, prefix, None) if more else Listed(entries=page, revision=revision)


def _cut(page: list[Entry], revision: int, prefix: str, remaining: int | None) -> Listed:
    token = _written_token(_Token(WRITTEN_AS, revision, f"{_start(page[-1].key, prefix)}\0"))
    return Listed(entries=page, revision=revision, continue_token=token, remaining=remaining)


def _start(key: str, prefix: str) -> str:
    """A key as tokens name it: from the root of what is listed."""
    return f"/{key.removeprefix(prefix).removeprefix('/')}"


def _key_of(start: str, address: Address) -> str:
    """The key that a token names."""
    name = start.rstrip("\0")
    return f"{address.prefix}{name[1:]}" if address.served.namespaced else name


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
