"""Random bad requests, the same for the same seed: bodies, paths, options and headers gone wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from scripts.learning import manifests, path_of
from tests.apiserver.bad_requests import (
    APPLY,
    COLOURS,
    JSON,
    JSON_PATCH,
    LARGEST,
    MAPS,
    MERGE,
    PROTOBUF,
    REQUESTS,
    STRATEGIC,
    WEB,
    YAML,
    Request,
)
from trimtab.kube.schemas.kinds import built_in

MANIFESTS = Path(__file__).parents[1] / "kube" / "manifests"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "LINK")
MEDIA = (JSON, YAML, PROTOBUF, JSON_PATCH, MERGE, STRATEGIC, APPLY, "text/plain", "", ";;", "a/b; c=d; e")
JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**63, -(2**70), 1e308, "", "x", "\x00", "\ud7ff", "💡" * 40, "a/b", "../..", [],
    {}, [[]], {"": {}}, {"a": None}, [None], ["x"] * 50, {"$patch": "delete"}, {"$retainKeys": ["a"]},
    {"$setElementOrder/containers": [1]}, {"metadata": {"name": 3}}, "10Gi", "-5m", "1e3", "9" * 400,
)  # fmt: skip
QUERIES = (
    "labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "watch",
    "timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation",
    "force", "propagationPolicy", "gracePeriodSeconds", "orphanDependents", "pretty", "unknown",
)  # fmt: skip
VALUES = (
    "", "0", "-1", "1", "true", "false", "All", "Exact", "NotOlderThan", "9999999999999999999999", "a=b",
    "a in (b,c),!d", "a in (", "metadata.name=x", "spec.nodeName!=", "%", "\x00", "é", "Foreground",
    "x" * 200, "Strict", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIvYVx1MDAwMCJ9",
)  # fmt: skip
PIECES = (
    "api", "apis", "v1", "apps", "namespaces", "default", "configmaps", "status", "scale", "watch", "..", "",
    "%00", "%2e%2e", "é", "x" * 300, "customresourcedefinitions", "openapi", "v2", "v3", "healthz",
)  # fmt: skip
HEADERS = (
    "Accept",
    "Content-Type",
    "User-Agent",
    "Authorization",
    "Content-Encoding",
    "Expect",
    "X-Anything",
)


def seeds() -> tuple[Request, ...]:
    """Requests to begin with: all bad ones of the table, and good ones of many kinds."""
    creations = [
        Request(method="POST", path=path_of(built_in(), each), body=json.dumps(each).encode(), media=JSON)
        for each in manifests(MANIFESTS)
    ]
    applies = [
        replace(each, method="PATCH", path=f"{each.path}/x?fieldManager=m&force=true", media=APPLY)
        for each in creations
    ]
    whole = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "colours"}}).encode()
    changes = [
        Request(method="PATCH", path=WEB, body=b'{"spec":{"replicas":3}}', media=media)
        for media in (MERGE, STRATEGIC)
    ]
    small = [each for each in REQUESTS.values() if len(each.body) < LARGEST]
    return (
        *small,
        *creations,
        *applies,
        *changes,
        Request(method="PUT", path=COLOURS, body=whole, media=JSON),
    )


class Fuzzer:
    """Requests without end; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._seeds = seeds()
        self._changes: tuple[Callable[[Request], Request], ...] = (
            self._bytes, self._value, self._value, self._value, self._path, self._query, self._query,
            self._method, self._media, self._header,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Request]:
        while True:
            request = self._random.choice(self._seeds)
            for _ in range(self._random.randint(1, 3)):
                request = self._random.choice(self._changes)(request)
            yield request

    def _bytes(self, request: Request) -> Request:
        body = bytearray(request.body)
        for _ in range(self._random.randint(1, 8)):
            at = self._random.randrange(len(body) + 1)
            change = self._random.randrange(3)
            if change == 0:
                body[at:at] = self._random.randbytes(self._random.randint(1, 6))
            elif change == 1:
                del body[at : at + self._random.randint(1, 20)]
            else:
                body[at:at] = body[: self._random.randint(0, 30)]
        return replace(request, body=bytes(body))

    def _value(self, request: Request) -> Request:
        """Put junk somewhere into a body that is JSON."""
        try:
            value = json.loads(request.body)
        except (ValueError, RecursionError):
            return self._bytes(request)
        changed = self._with_junk(value)
        return replace(request, body=json.dumps(changed).encode())

    def _with_junk(self, value: Any) -> Any:
        if self._random.random() < 0.15 or not isinstance(value, dict | list) or not value:
            return self._random.choice(JUNK)
        if isinstance(value, list):
            at = self._random.randrange(len(value))
            return [*value[:at], self._with_junk(value[at]), *value[at + 1 :]]
        return self._object_with_junk(value)

    def _object_with_junk(self, value: Mapping[str, Any]) -> dict[str, Any]:
        name = self._random.choice(list(value))
        if self._random.random() < 0.1:
            return {**value, self._random.choice(("", "x", "$patch", "metadata")): self._random.choice(JUNK)}
        return {**value, name: self._with_junk(value[name])}

    def _path(self, request: Request) -> Request:
        parts = request.path.split("/")
        at = self._random.randrange(len(parts))
        parts[at : at + self._random.randint(0, 1)] = [self._random.choice(PIECES)]
        return replace(request, path=quote("/" + "/".join(parts).lstrip("/"), safe="/?&=%+"))

    def _query(self, request: Request) -> Request:
        pair = f"{self._random.choice(QUERIES)}={quote(self._random.choice(VALUES))}"
        return replace(request, path=f"{request.path}{'&' if '?' in request.path else '?'}{pair}")

    def _method(self, request: Request) -> Request:
        return replace(request, method=self._random.choice(METHODS))

    def _media(self, request: Request) -> Request:
        return replace(request, media=self._random.choice(MEDIA))

    def _header(self, request: Request) -> Request:
        letters = "".join(chr(self._random.randint(32, 126)) for _ in range(self._random.randint(0, 60)))
        header = (self._random.choice(HEADERS), letters.strip())
        return replace(request, headers=(*request.headers, header))


def list_paths() -> tuple[str, ...]:
    """Where the objects lie that creations leave behind."""
    paths = {path_of(built_in(), each) for each in manifests(MANIFESTS)} | {MAPS}
    return tuple(sorted(paths - {"/api/v1/namespaces"}))
