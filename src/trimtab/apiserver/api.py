"""The API of one cluster in memory: every verb, as a synchronous function on the store and the catalogue.

Requests come as values (`requests`), answers go as JSON; refusals are raised in the server's words. Nothing
here waits. Those who serve it over HTTP or in process, and behaviours, stand on this.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from trimtab.apiserver import acts, admission, budgets, definitions, questions, scales
from trimtab.apiserver.behaviours.timing import simulation_warnings
from trimtab.apiserver.catalog import Catalog, Served
from trimtab.apiserver.checking import as_judged, creation_causes, update_causes
from trimtab.apiserver.decoding import (
    Body,
    Known,
    check_twins,
    converted,
    declaration_in,
    each_owner_once,
    known,
    manifest_in,
    placed,
    twice_given,
    value_of,
)
from trimtab.apiserver.deleting import Ended, Marked, Removed, Untouched, deleted, may_go
from trimtab.apiserver.depths import check_readable
from trimtab.apiserver.negotiation import partial
from trimtab.apiserver.nodeports import Taken
from trimtab.apiserver.patching import APPLY_PATCH, check_media, patched
from trimtab.apiserver.reading import Listed, listed
from trimtab.apiserver.refusing import (
    TooLarge,
    already_exists,
    invalid,
    method_not_allowed,
    no_such_path,
    not_found,
)
from trimtab.apiserver.requests import (
    Address,
    DeleteOptions,
    ListOptions,
    WatchOptions,
    WriteOptions,
)
from trimtab.apiserver.store import Entry, Store
from trimtab.apiserver.strategies import strategy_of, target_of
from trimtab.apiserver.suffixes import suffix
from trimtab.apiserver.upkeep import keep_definitions
from trimtab.apiserver.versions import (
    as_kept,
    in_version,
    is_kept_as,
    is_told_in_annotations,
    manifest_of,
    shown,
    shown_in_list,
    to_store,
)
from trimtab.apiserver.watching import Watch, watched_number
from trimtab.apiserver.writing import (
    changed_object,
    check_preconditions,
    check_uid,
    check_unborn,
    counted,
    new_object,
)
from trimtab.kube import trees
from trimtab.kube.gojson import BadJson
from trimtab.kube.merging.apply import applied, created, settled, updated
from trimtab.kube.refusals import Refused, bad_request
from trimtab.kube.schemas.defaults import defaulted
from trimtab.kube.schemas.validation.causes import part
from trimtab.kube.schemas.warnings import creation_warnings, update_warnings
from trimtab.tasks.clock import Clock, SystemClock

Json = dict[str, Any]
LONGEST_PREFIX = 58


class Answer(Struct, frozen=True):
    """What a request brought: a code, an object as JSON, and warnings."""

    code: int
    body: bytes
    warnings: tuple[str, ...] = ()


class Api:
    """One Kubernetes API in memory."""

    def __init__(self, *, clock: Clock | None = None, store: Store | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.store = store or Store()
        self.catalog = Catalog()
        keep_definitions(self)

    # -- reading ------------------------------------------------------------------------------------------

    def get(self, address: Address, version: str = "") -> Answer:
        """One object, or a part of it; not older than a version, if one is given."""
        asked = watched_number(version)
        if asked > self.store.revision:
            raise TooLarge(asked, self.store.revision)
        with warned(self._deprecation(address)):
            entry = self._entry(address)
        if address.subresource == "scale":
            return Answer(200, _encoded(scales.scale_of(manifest_of(entry, address.served), address.served)))
        return Answer(200, shown(entry, address.served), self._deprecation(address))

    def check_within(self, address: Address) -> None:
        """Refuse parts of an object that are not served here, once it is there."""
        if address.subresource in acts.BEYOND:
            self._entry(address)
            raise acts.beyond(address)

    def list(self, address: Address, options: ListOptions) -> Listed:
        """One page of a collection."""
        return listed(self.store, address, options)

    def watch(self, address: Address, options: WatchOptions) -> Watch:
        """Changes of a collection from now, or from an earlier version, on."""
        return Watch(self.store, address, options)

    def _entry(self, address: Address) -> Entry:
        entry = self.store.get(address.served.collection, address.key)
        if entry is None:
            raise not_found(address.served.group, address.served.plural, address.name)
        return entry

    def _live(self, address: Address) -> Json | None:
        entry = self.store.get(address.served.collection, address.key)
        return manifest_of(entry, address.served) if entry is not None else None

    def _deprecation(self, address: Address) -> tuple[str, ...]:
        return (address.served.deprecation,) if address.served.deprecation else ()

    # -- creating -----------------------------------------------------------------------------------------

    def create(self, address: Address, body: Body, options: WriteOptions) -> Answer:
        """Make a new object, or do something to one through a part of it."""
        if (address.served.group, address.served.kind) == ("", "Binding"):
            name = str(part(_object_in(body), "metadata").get("name", ""))
            pods = self.served("v1", "pods")
            address = Address(served=pods, namespace=address.namespace, name=name, subresource="binding")
        if address.subresource:
            return self._act(address, body, options)
        with warned(self._deprecation(address)):
            read = self._read(body, address, options, named=False)
        if "get" not in address.served.verbs:
            return Answer(201, _encoded(self._question(read.manifest, address, options)))
        named = self._named(read.manifest)
        with warned(read.warnings):
            return self._create(named, address, options, read.warnings, manager=options.manager, plain=True)

    def _read(self, body: Body, address: Address, options: WriteOptions, *, named: bool) -> Known:
        """The object in a body, as its kind knows it, and what to warn of."""
        twice = () if options.validation == "Ignore" else twice_given(body)
        read = known(manifest_in(body, address), address.served, options.validation, twice)
        owned = each_owner_once(placed(read.manifest, address, named=named))
        warnings = (*self._deprecation(address), *read.warnings, *owned.warnings)
        return Known(owned.manifest, warnings)

    def _act(self, address: Address, body: Body, options: WriteOptions) -> Answer:
        """Bind a Pod to a node, or evict it."""
        if address.subresource == "eviction":
            self._evict(address, body, options)
        elif address.subresource == "binding":
            given = _object_in(body)
            acts.check_name(given, address)
            live = manifest_of(self._entry(address), address.served)
            new = acts.bound(live, given, address, self.clock.now())
            self.replace(new, live, address, options, ())
        else:
            raise method_not_allowed()
        return Answer(201, _encoded(acts.SUCCESS))

    def _evict(self, address: Address, body: Body, options: WriteOptions) -> None:
        """Note on a Pod that it is evicted, unless a version of it is named, and delete it."""
        own = msgspec.structs.replace(address, served=acts.eviction_kind())
        read = self._read(body, own, options, named=False)
        how = acts.eviction_options(read.manifest, address, dry_run=options.dry_run)
        live, now = manifest_of(self._entry(address), address.served), self.clock.now()
        self._spend_budget(live, how)
        if not how.dry_run and how.version is None:
            deleted(live, address, how, now)  # refuses, if need be, before anything is noted
            self.replace(acts.to_be_evicted(live, now), live, address, options, ())
            live = manifest_of(self._entry(address), address.served)
        self._delete(live, address, how)

    def _spend_budget(self, pod: Json, how: DeleteOptions) -> None:
        """Ask the Pod's disruption budget, if it has one, and note there that the Pod goes."""
        served, namespace = (
            self.catalog.find("policy", "v1", "poddisruptionbudgets"),
            pod["metadata"]["namespace"],
        )
        assert served is not None  # noqa: S101 - a built-in kind
        kept = self.store.entries(served.collection, f"{namespace}/")
        budget = budgets.asked_for(pod, [manifest_of(each, served) for each in kept])
        if budget is None:
            return
        new = budgets.spent(budget, pod["metadata"]["name"], self.clock.now())
        own = Address(
            served=served, namespace=namespace, name=budget["metadata"]["name"], subresource="status"
        )
        writer = WriteOptions(manager=budgets.SPENDER, dry_run=how.dry_run)
        self.change(new, budget, own, writer, (), manager=budgets.SPENDER)

    def _question(self, manifest: Json, address: Address, options: WriteOptions) -> Json:
        """A question with its answer; it is kept nowhere."""
        served, now = address.served, self.clock.now()
        questions.check(manifest, address)
        target = target_of(served, "", self.catalog.versions(served.group))
        owned = created(defaulted(manifest, served.schema), target, manager=options.manager, now=now)
        return questions.answered(owned, now)

    def _named(self, manifest: Json) -> Json:
        metadata = manifest["metadata"]
        prefix = metadata.get("generateName")
        if metadata.get("name") or not prefix:
            return manifest
        return {**manifest, "metadata": {**metadata, "name": f"{prefix[:LONGEST_PREFIX]}{suffix()}"}}

    def _create(
        self,
        manifest: Json,
        address: Address,
        options: WriteOptions,
        warnings: tuple[str, ...],
        *,
        manager: str | None,
        plain: bool = False,
    ) -> Answer:
        """Make a new object; a plain creation, unlike one by an apply or an update, may name no version."""
        served, name = address.served, manifest["metadata"].get("name") or ""
        admission.check_namespace(self.store, address, name)
        admission.check_definition(address, name)
        new = new_object(
            manifest,
            address,
            manager=manager,
            versions=self.catalog.versions(served.group),
            uid=str(uuid.uuid4()),
            now=self.clock.now(),
        )
        if served.kind == definitions.KIND and served.group == definitions.GROUP:
            new = definitions.first_status(new)
        asked = admission.warnings(new, served)
        new = admission.forgotten(self._admitted(new, address, name, options), served)
        judged = self._kept(served)
        if causes := creation_causes(as_judged(new, manifest, served), judged):
            raise invalid(served.group, served.kind, name, causes)
        if plain and manifest["metadata"].get("resourceVersion"):
            raise Refused(500, "", "resourceVersion should not be set on objects to be created")
        new["metadata"].pop("resourceVersion", None)
        more = (*asked, *creation_warnings(new, judged.schema), *simulation_warnings(new))
        with warned(more):
            return self._add(new, address, options, (*warnings, *more))

    def _admitted(
        self, new: Json, address: Address, name: str, options: WriteOptions, live: Json | None = None
    ) -> Json:
        served, part = address.served, bool(address.subresource)
        try:
            return admission.admitted(
                new, served, self.store, live, through_status=part, dry_run=options.dry_run
            )
        except Taken as taken:
            raise invalid(served.group, served.kind, name, taken.causes) from taken

    def _add(self, new: Json, address: Address, options: WriteOptions, warnings: tuple[str, ...]) -> Answer:
        served, name = address.served, new["metadata"]["name"]
        key = f"{address.namespace}/{name}"
        if (taken := self.store.get(served.collection, key)) is not None:
            ending = "deletionTimestamp" in taken.decoded()["metadata"]
            raise already_exists(served.group, served.plural, name, ending=ending)
        if options.dry_run:
            return Answer(201, _encoded(as_kept(new, served)), warnings)
        return Answer(201, shown(self._put(new, served, key, new=True), served), warnings)

    def _kept(self, served: Served) -> Served:
        """The kind in the version by which it is judged: one with fields for all that is kept of it."""
        if not is_told_in_annotations(served):
            return served
        version = served.stored_as.rpartition("/")[2]
        return self.catalog.find(served.group, version, served.plural) or served

    def _put(self, manifest: Json, served: Served, key: str, *, new: bool = False) -> Entry:
        kept = to_store(manifest, served, new=new)
        return self.store.put(served.collection, key, kept.manifest, kept.written)

    # -- changing -----------------------------------------------------------------------------------------

    def update(self, address: Address, body: Body, options: WriteOptions) -> Answer:
        """Replace an object, or a part of it."""
        if address.subresource == "scale":
            return self._scale(address, body, options)
        with warned(self._deprecation(address)):
            read = self._read(body, address, options, named=True)
        with warned(read.warnings):
            return self._update(address, read, options)

    def _update(self, address: Address, read: Known, options: WriteOptions) -> Answer:
        live = self._live(address)
        if live is None:
            if strategy_of(address.served).creates_on_update and address.subresource in ("", "status"):
                return self._create(read.manifest, address, options, read.warnings, manager=options.manager)
            raise not_found(address.served.group, address.served.plural, address.name)
        check_preconditions(read.manifest, live, address)
        return self.change(read.manifest, live, address, options, read.warnings, manager=options.manager)

    def patch(self, address: Address, body: Body, options: WriteOptions) -> Answer:
        """Change parts of an object."""
        check_media(body.media, address.served)
        if address.subresource == "scale":
            return self._patch_scale(address, body, options)
        if body.media == APPLY_PATCH:
            return self._apply(address, body, options)
        with warned(self._deprecation(address)):
            live = manifest_of(self._entry(address), address.served)
            read = patched(live, body, address.served, options.validation)
        warnings = (*self._deprecation(address), *read.warnings)
        with warned(warnings):
            owned = each_owner_once(placed(read.manifest, address, named=True), late=True)
        manifest, warnings = owned.manifest, (*warnings, *owned.warnings)
        with warned(warnings):
            check_preconditions(manifest, live, address, patch=True)
            return self.change(manifest, live, address, options, warnings, manager=options.manager)

    def _apply(self, address: Address, body: Body, options: WriteOptions) -> Answer:
        deprecation = self._deprecation(address)
        with warned(deprecation):
            declared = declaration_in(body)
        live = self._live(address)
        if live is None and address.subresource and not strategy_of(address.served).creates_on_update:
            raise not_found(address.served.group, address.served.plural, address.name)
        target = target_of(address.served, address.subresource, self.catalog.versions(address.served.group))
        now = self.clock.now()
        with warned(deprecation):
            new = applied(
                live, declared.config, target, manager=options.manager, force=options.force, now=now
            )
        warnings = (*deprecation, *check_twins(declared, options.validation))
        if not address.served.custom:
            new = converted(new, declared.config, address.served)
        if live is None:
            check_unborn(new, address)
        with warned(warnings):
            new = placed(new, address, named=True)
            if live is None:
                return self._create(new, address, options, warnings, manager=None)
            check_preconditions(new, live, address, patch=True)
            return self.change(new, live, address, options, warnings, manager=None)

    def change(
        self,
        manifest: Json,
        live: Json,
        address: Address,
        options: WriteOptions,
        warnings: tuple[str, ...],
        *,
        manager: str | None,
    ) -> Answer:
        """Carry out an update that has passed its conditions."""
        served = address.served
        versions = self.catalog.versions(served.group)
        judged = self._kept(served)
        whole = live if judged is served else manifest_of(self._entry(address), judged)
        new = changed_object(
            manifest, live, address, whole=whole, manager=manager, versions=versions, now=self.clock.now()
        )
        if not address.subresource:
            new = self._admitted(new, address, address.name, options, whole)
        if address.subresource != "status":
            new = admission.forgotten(counted(new, whole, served), served)
        if causes := update_causes(as_judged(new, manifest, served), whole, judged, address.subresource):
            raise invalid(served.group, served.kind, address.name, causes)
        more = update_warnings(new, whole, judged.schema, subresource=address.subresource)
        asked = simulation_warnings(new)
        if asked != simulation_warnings(whole):
            more = (*more, *asked)
        return self.replace(new, whole, address, options, (*warnings, *more))

    def replace(
        self, new: Json, live: Json, address: Address, options: WriteOptions, warnings: tuple[str, ...]
    ) -> Answer:
        """Keep a changed object, unless nothing has changed or nothing keeps it any more."""
        served = address.served
        new = settled(live, new)
        if trees.equal(new, live) and is_kept_as(self._entry(address), live, served):
            return Answer(200, _encoded(in_version(live, served)), warnings)
        if options.dry_run:
            return Answer(200, _encoded(as_kept(new, served)), warnings)
        if may_go(new):
            self.store.remove(served.collection, address.key, to_store(live, served).manifest)
            return Answer(200, _encoded(in_version(new, served)), warnings)
        return Answer(200, shown(self._put(new, served, address.key), served), warnings)

    # -- scaling ------------------------------------------------------------------------------------------

    def _scale(self, address: Address, body: Body, options: WriteOptions) -> Answer:
        """Replace the scale of an object."""
        read, headed = self._scale_in(body, address, options)
        scale = placed(read.manifest, address, named=True)
        with warned(read.warnings):
            live = manifest_of(self._entry(address), address.served)
            check_uid(scale, live, address)
            if headed:
                before = defaulted(scales.scale_to_change(live, address.served), scales.kind().schema)
                after = defaulted(scale, scales.kind().schema)
                now = self.clock.now()
                scale = updated(before, after, scales.target(), manager=options.manager, now=now)
            return self._rescale(scale, live, address, options, read.warnings)

    def _scale_in(self, body: Body, address: Address, options: WriteOptions) -> tuple[Known, bool]:
        """The Scale in a body, and whether it says that it is one."""
        own = msgspec.structs.replace(address, served=scales.kind())
        try:
            twice = () if options.validation == "Ignore" else twice_given(body)
            read = known(manifest_in(body, own), own.served, options.validation, twice)
        except Refused as refused:
            raise scales.unreadable() if address.served.custom else refused from refused
        value = value_of(body)
        headed = not address.served.custom or bool(value.get("kind") and value.get("apiVersion"))
        return read, headed

    def _patch_scale(self, address: Address, body: Body, options: WriteOptions) -> Answer:
        live = manifest_of(self._entry(address), address.served)
        if body.media == APPLY_PATCH:
            return self._apply_scale(address, declaration_in(body).config, live, options)
        kind = scales.kind()
        before = scales.scale_to_change(live, address.served)
        read = patched(before, body, kind, options.validation)
        scale = placed(read.manifest, address, named=True)
        before, scale = (defaulted(each, kind.schema) for each in (before, scale))
        now = self.clock.now()
        with warned(read.warnings):
            scale = updated(before, scale, scales.target(), manager=options.manager, now=now)
            return self._rescale(scale, live, address, options, read.warnings)

    def _apply_scale(self, address: Address, config: Json, live: Json, options: WriteOptions) -> Answer:
        served, kind, now = address.served, scales.kind(), self.clock.now()
        before = defaulted(scales.scale_to_change(live, served), kind.schema)
        if served.custom:
            scales.check_applicable(before, config)
        new = applied(before, config, scales.target(), manager=options.manager, force=options.force, now=now)
        if served.custom:
            scales.check_unchanged(before, new, config)
        scale = placed(converted(new, config, kind), address, named=True)
        return self._rescale(defaulted(scale, kind.schema), live, address, options, ())

    def _rescale(
        self, scale: Json, live: Json, address: Address, options: WriteOptions, warnings: tuple[str, ...]
    ) -> Answer:
        """Carry a changed Scale over to its object; the answer is the Scale again."""
        new = scales.scaled(live, scale, address.served)
        check_preconditions(new, live, address, patch=True, through_part=True)
        answer = self.change(new, live, address, options, warnings, manager=None)
        shown = scales.scale_of(trees.decoded(answer.body), address.served)
        return Answer(200, _encoded(shown), answer.warnings)

    # -- deleting -----------------------------------------------------------------------------------------

    def delete(self, address: Address, options: DeleteOptions) -> Answer:
        """Delete an object, or begin to."""
        warnings = (*self._deprecation(address), *_left_behind(address.served, options))
        with warned(warnings):
            admission.check_deletion(address)
            live = manifest_of(self._entry(address), address.served)
            gone, left = self._delete(live, address, options)
        if gone and not strategy_of(address.served).returns_deleted:
            return Answer(200, _encoded(_success(address, live)), warnings)
        return Answer(202 if not gone and options.orphan is False else 200, left, warnings)

    def _delete(self, live: Json, address: Address, options: DeleteOptions) -> tuple[bool, bytes]:
        """Whether the object is gone, and how it is now or was last."""
        served = address.served
        result = deleted(live, address, options, self.clock.now())
        match result:
            case Removed():
                if options.dry_run:
                    return True, _encoded(result.object)
                last = to_store(live, served).manifest
                return True, shown(self.store.remove(served.collection, address.key, last), served)
            case Ended():
                if options.dry_run:
                    return True, _encoded(result.object)
                last = to_store(result.object, served).manifest
                self.store.put(served.collection, address.key, last)
                return True, shown(self.store.remove(served.collection, address.key, last), served)
            case Marked():
                if options.dry_run:
                    return False, _encoded(result.object)
                return False, shown(self._put(result.object, served, address.key), served)
            case Untouched():
                return False, _encoded(result.object)

    def delete_collection(self, address: Address, selection: ListOptions, options: DeleteOptions) -> Listed:
        """Delete what is selected of a collection; what it was is the answer."""
        found = self.list(address, selection)
        for entry in found.entries:
            namespace, _, name = entry.key.partition("/")
            each = Address(served=address.served, namespace=namespace, name=name)
            live = self._live(each)
            if live is not None:
                admission.check_deletion(each)
                self._delete(live, each, options)
        return msgspec.structs.replace(found, warnings=_left_behind(address.served, options))

    # -- for behaviours -----------------------------------------------------------------------------------

    def served(self, api_version: str, plural: str) -> Served:
        """The kind at this address; refused if there is none."""
        group, _, version = api_version.rpartition("/")
        found = self.catalog.find(group, version, plural)
        if found is None:
            raise no_such_path()
        return found


def _left_behind(served: Served, options: DeleteOptions) -> tuple[str, ...]:
    """What is to be said of a deletion that does not say what becomes of what is owned."""
    told = strategy_of(served).deletion_warning
    return (told,) if told and not options.policy and options.orphan is None else ()


@contextmanager
def warned(warnings: Iterable[str]) -> Iterator[None]:
    """Give a refusal the warnings that come with it, as its notes."""
    try:
        yield
    except Refused as refused:
        for text in warnings:
            refused.add_note(text)
        raise


# -- bodies and answers -----------------------------------------------------------------------------------


def _encoded(manifest: Mapping[str, Any]) -> bytes:
    encoded = trees.encoded(manifest)
    check_readable(encoded)
    return encoded


def _success(address: Address, live: Json) -> Json:
    served = address.served
    details = {
        "name": address.name,
        "group": served.group,
        "kind": served.plural,
        "uid": live["metadata"]["uid"],
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {name: text for name, text in details.items() if text},
    }


def _object_in(body: Body) -> Json:
    try:
        value = value_of(body)
    except BadJson as exc:
        raise bad_request(f"couldn't get version/kind; json parse error: {exc}") from exc
    if not isinstance(value, dict):
        raise bad_request("the body is no object")
    return value


def list_body(found: Listed, served: Served) -> bytes:
    """A page of a list as JSON."""
    metadata = _list_metadata(found)
    if served.custom:
        metadata.setdefault("continue", "")
    head = f'{{"kind":"{served.list_kind}","apiVersion":"{served.api_version}","metadata":'.encode()
    items = b",".join(shown_in_list(entry, served) for entry in found.entries)
    return b"".join((head, msgspec.json.encode(metadata), b',"items":[', items, b"]}\n"))


def partial_list(found: Listed, served: Served, version: str = "v1") -> bytes:
    """A page of a list as JSON, of metadata alone."""
    head = f'{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/{version}","metadata":'.encode()
    items = b",".join(partial(shown_in_list(entry, served), version) for entry in found.entries)
    return b"".join((head, msgspec.json.encode(_list_metadata(found)), b',"items":[', items, b"]}\n"))


def _list_metadata(found: Listed) -> Json:
    metadata: Json = {"resourceVersion": str(found.revision)}
    if found.continue_token:
        metadata["continue"] = found.continue_token
    if found.remaining is not None:
        metadata["remainingItemCount"] = found.remaining
    return metadata
