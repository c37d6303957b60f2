"""Keeps the catalogue in step with the definitions of custom resources, and what they report true.

It hears of every change of a definition and brings it one step further: names judged, kinds served; at its
end the objects deleted, then the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trimtab.apiserver import definitions
from trimtab.apiserver.requests import Address, DeleteOptions, ListOptions, WriteOptions
from trimtab.apiserver.store import Collection, Entry
from trimtab.apiserver.versions import manifest_of

if TYPE_CHECKING:
    from trimtab.apiserver.api import Api
    from trimtab.apiserver.catalog import Served

Json = dict[str, Any]


def keep_definitions(api: Api) -> None:
    """Look after the definitions of an API from now on."""
    keeper = _Keeper(api)
    api.store.subscribe(lambda change: keeper.heard(change.collection, change.entry))


class _Keeper:
    """Looks after the definitions of one API."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._schemas: dict[
            str, tuple[list[Any], int]
        ] = {}  # by definition: how objects are read, since when
        self._waiting: dict[Collection, str] = {}  # definitions that end once nothing of theirs is left

    @property
    def _served(self) -> Served:
        return self._api.served(f"{definitions.GROUP}/v1", definitions.PLURAL)

    def heard(self, collection: Collection, entry: Entry) -> None:
        """Bring a definition that changed a step further, or one whose last object has gone."""
        if collection != (definitions.GROUP, definitions.PLURAL):
            if collection in self._waiting and not self._api.store.count(collection):
                self._end_at_last(self._waiting.pop(collection))
            return
        name = entry.key.partition("/")[2]
        live = self._api.store.get(collection, entry.key)
        if live is None:
            self._api.catalog.forget(name)
            self._schemas.pop(name, None)
        elif live.revision == entry.revision:
            self._follow(name, manifest_of(live, self._served))

    def _follow(self, name: str, definition: Json) -> None:
        """Bring one definition a step further."""
        now = self._api.clock.now()
        if definitions.is_established(definition):
            self._api.catalog.define(name, definitions.kinds_of(definition, self._since(name, definition)))
        if "deletionTimestamp" in definition["metadata"]:
            self._end(name, definition)
            return
        judged = definitions.accepted(definition, self._others(definition), now)
        if judged["status"] != definition["status"]:
            self._write_status(name, definition, judged)
        elif not definitions.is_established(definition) and _accepts_names(definition):
            self._write_status(name, definition, definitions.established(definition, now))

    def _since(self, name: str, definition: Json) -> int:
        """The revision since which objects are read by the schemas of this definition."""
        schemas = definitions.schemas_of(definition)
        known = self._schemas.get(name)
        if known is None or known[0] != schemas:
            known = self._schemas[name] = (schemas, self._api.store.revision)
        return known[1]

    def _others(self, definition: Json) -> list[Json]:
        entries = self._api.store.entries((definitions.GROUP, definitions.PLURAL))
        every = (manifest_of(entry, self._served) for entry in entries)
        group, own = definition["spec"]["group"], definition["metadata"]["uid"]
        return [each for each in every if each["spec"]["group"] == group and each["metadata"]["uid"] != own]

    def _write_status(self, name: str, live: Json, new: Json) -> None:
        address = Address(served=self._served, name=name, subresource="status")
        options = WriteOptions(manager="kube-apiserver")
        self._api.change(new, live, address, options, (), manager=options.manager)

    def _end(self, name: str, definition: Json) -> None:
        """Delete the objects of a definition that is to go, and then itself."""
        if definitions.CLEANUP not in (definition["metadata"].get("finalizers") or ()):
            return
        now, address = self._api.clock.now(), Address(served=self._served, name=name)
        api = self._api
        progress = definitions.emptying(definition, now)
        if progress["status"] != definition["status"]:
            self._write_status(name, definition, progress)
            return
        kind = next(definitions.kinds_of(definition), None)
        if kind is not None:
            api.delete_collection(Address(served=kind), ListOptions(), DeleteOptions())
        if kind is None or not api.store.count(kind.collection):
            options = WriteOptions(manager="kube-apiserver")
            api.replace(definitions.emptied(definition), definition, address, options, ())
        else:
            self._waiting[kind.collection] = name

    def _end_at_last(self, name: str) -> None:
        """Go on with the end of a definition of which nothing is left now."""
        live = self._api.store.get((definitions.GROUP, definitions.PLURAL), f"/{name}")
        if live is not None:
            self._follow(name, manifest_of(live, self._served))


def _accepts_names(definition: Json) -> bool:
    conditions = definition["status"].get("conditions") or ()
    return any(each["type"] == definitions.ACCEPTED and each["status"] == "True" for each in conditions)
