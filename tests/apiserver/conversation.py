"""The same requests to two API servers, and their answers with masks over what must differ."""

from __future__ import annotations

import io
import json
import re
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from msgspec import Struct

JSON, YAML = "application/json", "application/yaml"
MERGE, PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
MASKS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "<token volume>"),
    (re.compile(r"10\.96\.\d+\.\d+"), "<address>"),
    (re.compile(r"record \(\d+\)"), "record (<version>)"),
    (re.compile(r"current: \d+"), "current: <version>"),
)
GIVEN = frozenset({"resourceVersion", "continue", "nodePort", "healthCheckNodePort"})


class Step(Struct, frozen=True):
    """One request; `{ns}` in its path stands for the namespace of the scene."""

    method: str
    path: str
    body: Any = None
    media: str = JSON
    accept: str = JSON


class Reply(Struct, frozen=True):
    """What a server said, masked."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()


class Speaker:
    """One API server, spoken to in plain HTTP."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    @classmethod
    @asynccontextmanager
    async def to(cls, url: str, token: str, tls: ssl.SSLContext) -> AsyncIterator[Speaker]:
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "tests/1"}
        connector = aiohttp.TCPConnector(ssl=tls)
        async with aiohttp.ClientSession(url, connector=connector, headers=headers) as session:
            yield cls(session)

    async def say(self, step: Step, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a request and read its answer."""
        body = step.body if isinstance(step.body, str | bytes | None) else json.dumps(step.body)
        sent = {"Accept": step.accept, **({"Content-Type": step.media} if body is not None else {})}
        content = body.encode() if isinstance(body, str) else body
        async with self._session.request(
            step.method, step.path, data=content and io.BytesIO(content), headers={**sent, **(headers or {})}
        ) as response:
            text = await response.text()
            warnings = tuple(response.headers.getall("Warning", []))
        return Reply(response.status, masked(_read(text)), warnings)

    async def version(self, path: str) -> str:
        """The version of a collection."""
        async with self._session.get(path) as response:
            listed = await response.json()
        return str(listed["metadata"]["resourceVersion"])

    async def watch(self, path: str) -> AsyncIterator[Any]:
        """The events of a watch, until the server ends it."""
        async with self._session.get(path) as response:
            async for line in response.content:
                yield masked(json.loads(line))


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def masked(value: Any) -> Any:
    """A value without what no two servers share."""
    match value:
        case dict():
            return {name: _masked_field(name, each) for name, each in value.items()}
        case list():
            return [masked(each) for each in value]
        case str():
            for pattern, mask in MASKS:
                value = pattern.sub(mask, value)
            return value
        case _:
            return value


def _masked_field(name: str, value: Any) -> Any:
    if name in GIVEN and value:
        return f"<{name}>"
    if name == "managedFields":  # in the order of times, which are masked
        return sorted(masked(value), key=lambda line: json.dumps(line, sort_keys=True))
    return masked(value)


def differences(real: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Where two masked values differ, one line each."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for name in sorted({*real, *ours}):
            yield from differences(real.get(name, "<absent>"), ours.get(name, "<absent>"), f"{path}.{name}")
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for number, (left, right) in enumerate(zip(real, ours, strict=True)):
            yield from differences(left, right, f"{path}[{number}]")
    elif real != ours:
        yield f"{path}: the real one says {json.dumps(real)[:500]}, ours {json.dumps(ours)[:500]}"
