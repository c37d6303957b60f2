"""Requests for objects, answered: what every way in shares, be it HTTP or a call in this process.

Whoever asks has bytes and a query; whoever is answered gets an object, a page, or a refusal in the server's
words. In which form that travels is the business of the ways in.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from trimtab.apiserver.api import Answer, Api
from trimtab.apiserver.decoding import JSON, Body, deletion_in
from trimtab.apiserver.depths import check_weight
from trimtab.apiserver.patching import APPLY_PATCH
from trimtab.apiserver.reading import Listed, selected
from trimtab.apiserver.refusing import too_large
from trimtab.apiserver.requests import (
    Address,
    WatchOptions,
    delete_options,
    list_options,
    selected_for_deletion,
    watch_options,
    write_options,
)
from trimtab.apiserver.routes import Route
from trimtab.apiserver.stacks import on_large_stack
from trimtab.apiserver.watching import Watch
from trimtab.kube.merging.managers import manager_name
from trimtab.kube.refusals import bad_request

LARGEST_BODY = 3 * 1024 * 1024
OPTION_KINDS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


class Asked(Struct, frozen=True, kw_only=True):
    """One request: where it leads, with which options, and what it brings."""

    route: Route
    query: Mapping[str, str]
    content: bytes = b""
    media: str = JSON
    agent: str = ""  # the program that asks, which owns fields where no manager is named


def answer(api: Api, asked: Asked) -> Answer | Listed:
    """The answer to a request that is no watch: about one object, or a page of a list."""
    before = api.store.revision
    try:
        return _answer(api, asked)
    except RecursionError:
        if api.store.revision != before:  # something is done already, which must not be done twice
            raise
    check_weight(asked.content, _changed(api, asked.route))
    return on_large_stack(lambda: _answer(api, asked))


def _changed(api: Api, route: Route) -> bytes:
    """The object that a request changes, as it is kept; none is needed to make one, nor to be rid of it."""
    if route.verb not in ("update", "patch"):
        return b""
    entry = api.store.get(route.address.served.collection, route.address.key)
    return entry.body if entry is not None else b""


def _answer(api: Api, asked: Asked) -> Answer | Listed:
    address, query = asked.route.address, asked.query
    check_size(len(asked.content))
    api.check_within(address)
    match asked.route.verb:
        case "get":
            return api.get(address, query.get("resourceVersion", ""))
        case "list":
            return api.list(address, list_options(query))
        case "delete":
            return api.delete(address, delete_options(query, deletion_in(asked.content, asked.media)))
        case "deletecollection":
            options = delete_options(query, deletion_in(asked.content, asked.media))
            return api.delete_collection(address, selected_for_deletion(query), options)
        case verb:
            return _write(api, asked, verb)


def _write(api: Api, asked: Asked, verb: str) -> Answer:
    manager = manager_name(asked.query.get("fieldManager", ""), asked.agent)
    apply = verb == "patch" and asked.media == APPLY_PATCH
    options = write_options(OPTION_KINDS[verb], asked.query, manager, apply=apply)
    write = {"create": api.create, "update": api.update, "patch": api.patch}[verb]
    return write(asked.route.address, Body(asked.content, asked.media), options)


def check_size(size: int) -> None:
    """Refuse a body that is larger than the server takes."""
    if size > LARGEST_BODY:
        raise too_large(LARGEST_BODY)


def watched(api: Api, address: Address, query: Mapping[str, str]) -> tuple[Watch, WatchOptions]:
    """The watch that a request asks for, with its options; of one object if one is addressed."""
    options = watch_options(query)
    if address.name:
        fields = selected(address.served, options.labels, options.fields).fields
        if fields.terms and fields.required("metadata.name") != address.name:
            raise bad_request("fieldSelector metadata.name doesn't match requested name")
        if not fields.terms:
            options = msgspec.structs.replace(options, fields=f"metadata.name={address.name}")
    return api.watch(address, options), options
