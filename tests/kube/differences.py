"""Known differences from the real server, each one a question that both servers are asked.

A declaration says in words what is different, and in requests how to see it. What the real server answered is
recorded (all its answers, where it draws lots), and so is what the embedded one answers: a test fails when
either of them moves, or when they become the same. The tables of the documentation are made from this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from tests.kube.servers import PLAIN, Server

RECORDED = Path(__file__).parent / "recorded"
OFTEN = 60  # how many times a recording asks where the real server draws lots
Answer: TypeAlias = Any


class Request(Struct, frozen=True):
    """One request; a text is sent as it is, everything else as JSON."""

    verb: str
    path: str
    body: Any = None
    media: str = PLAIN


def told(code: int, answer: Any) -> Answer:
    """Why a request is refused; of an accepted one the code alone."""
    if code < 300:
        return {"code": code}
    causes = (answer.get("details") or {}).get("causes", [])
    return {"code": code, "reason": answer.get("reason", ""), "message": answer["message"], "causes": causes}


class Difference(Struct, frozen=True, kw_only=True):
    """Something that the embedded cluster does otherwise."""

    what: str
    real: str
    here: str
    asked: Request
    given: Sequence[Request] = ()  # must succeed, and is undone afterwards
    served: str = ""  # what must be listed before the question makes sense: a kind that was just defined
    seen: Callable[[int, Any], Answer] = told
    by_lot: bool = False  # whether the real server answers as it happens


def answered(server: Server, difference: Difference) -> Answer:
    """What a server says; what was made for the question is taken away again."""
    for request in difference.given:
        code, answer = server.send(request.verb, request.path, request.body, request.media)
        assert code < 300, answer
    _wait_for(server, difference.served)
    asked = difference.asked
    try:
        return difference.seen(*server.send(asked.verb, asked.path, asked.body, asked.media))
    finally:
        for path in dict.fromkeys(_object(request) for request in reversed(difference.given)):
            server.send("DELETE", path)


def _wait_for(server: Server, path: str) -> None:
    for _ in range(2000 if path else 0):
        if server.send("GET", path)[0] == 200:
            return
    assert not path, f"{path} is not served"


def _object(request: Request) -> str:
    """Where the object is that a request of the preparation made."""
    path = request.path.partition("?")[0]
    return f"{path}/{request.body['metadata']['name']}" if request.verb == "POST" else path


def answers(server: Server, difference: Difference, times: int = 1) -> list[Answer]:
    """All that a server says if it is asked this often."""
    found: list[Answer] = []
    for _ in range(times if difference.by_lot else 1):
        answer = answered(server, difference)
        if answer not in found:
            found.append(answer)
    return sorted(found, key=json.dumps)


def table(differences: Sequence[Difference]) -> str:
    """The rows of the documentation."""
    rows = [f"| {each.what} | {each.real} | {each.here} |" for each in differences]
    return "\n".join(["| what | the real server | here |", "|---|---|---|", *rows])


def recorded(page: str) -> dict[str, Any]:
    """What both servers were seen to answer to the differences of a page."""
    found: dict[str, Any] = json.loads((RECORDED / f"differing_{page}.json").read_text(encoding="utf-8"))
    return found


def written(page: str, found: dict[str, Any]) -> None:
    """Keep what both servers answer."""
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (RECORDED / f"differing_{page}.json").write_text(f"{text}\n", encoding="utf-8")
