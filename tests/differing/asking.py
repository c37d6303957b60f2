"""What the embedded cluster knowingly does not do as a real one does: how that is said, and how it is proved.

A difference is two sentences for users and some proofs. A proof is a few exchanges: what has to be there
first, and a request that the two servers answer otherwise. What either answers is recorded beside this
(`python -m scripts.record_differences`; all answers, where the real server draws lots). A test fails when one
of them moves, or when the two become the same. The tables of the documentation are made from this.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

from msgspec import Struct

from tests.apiserver.bad_requests import Client
from tests.apiserver.conversation import masked
from tests.apiserver.wire import Exchange, send, told

RECORDED = Path(__file__).parent / "recorded"
DONE = (200, 201, 409)
PATIENCE = 30.0  # seconds in which a real server notices what it was told
LONG = 100_000
OFTEN = 60  # how many times a recording asks a server that draws lots
Answer: TypeAlias = Any


class Proof(Struct, frozen=True, kw_only=True):
    """A request that the two servers answer otherwise, and what has to be there for it."""

    asked: Exchange
    given: tuple[Exchange, ...] = ()  # done first, and not compared
    after: tuple[Exchange, ...] = ()  # takes away again what others would stumble over
    settles: int = 0  # the code of a real server's answer, once it has noticed what was given
    part: tuple[str | int, ...] = ()  # which part of the answer shows it; else a refusal shows itself whole
    order: bool = False  # whether it is shown by the order of that part's fields
    long: bool = False  # whether it is shown by how long the answer is: more than `LONG` bytes, or less
    by_lot: bool = False  # whether the real server answers as it happens


class Difference(Struct, frozen=True, kw_only=True):
    """What the two servers do, in words for users, and what proves it."""

    real: str
    ours: str
    proofs: tuple[Proof, ...]


Differences: TypeAlias = Mapping[str, Difference]


def post(path: str, body: Any, *headers: str) -> Exchange:
    return send("POST", path, json.dumps(body), *headers)


def patch(path: str, body: Any, media: str) -> Exchange:
    return send("PATCH", path, json.dumps(body), media=media)


def proofs(differences: Differences) -> dict[str, Proof]:
    """All proofs, each by a name of its own."""
    return {
        what if len(each.proofs) == 1 else f"{what} ({number})": proof
        for what, each in differences.items()
        for number, proof in enumerate(each.proofs, 1)
    }


def table(differences: Differences) -> str:
    """The rows of the documentation."""
    rows = [f"| {what} | {each.real} | {each.ours} |" for what, each in differences.items()]
    return "\n".join(["| what | the real server | this one |", "|---|---|---|", *rows])


def recorded(page: str) -> dict[str, Any]:
    """What both servers were seen to answer to the proofs of a page."""
    found: dict[str, Any] = json.loads((RECORDED / f"{page}.json").read_text(encoding="utf-8"))
    return found


def written(page: str, found: Mapping[str, Any]) -> None:
    """Keep what both servers answer."""
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (RECORDED / f"{page}.json").write_text(f"{text}\n", encoding="utf-8")


# -- asking -----------------------------------------------------------------------------------------------


def all_shown(client: Client, proof: Proof, times: int) -> list[Answer]:
    """All that a real server makes of a proof if it is asked this often; once, if it draws no lots."""
    found: list[Answer] = []
    for _ in range(times if proof.by_lot else 1):
        answer = shown(client, proof, patiently=True)
        if answer not in found:
            found.append(answer)
    return sorted(found, key=json.dumps)


def shown(client: Client, proof: Proof, *, patiently: bool = False) -> Answer:
    """What a server makes of a proof; `patiently` waits until it has noticed what was given."""
    with _given(client, proof, patiently=patiently):
        answer, end = _asked(client, proof), monotonic() + PATIENCE
        while patiently and proof.settles and answer["code"] != proof.settles and monotonic() < end:
            answer = _asked(client, proof)
    return _part(answer, proof)


def _asked(client: Client, proof: Proof) -> Answer:
    [answer] = told(client, proof.asked, whole=bool(proof.part or proof.long))
    return masked(answer)


@contextmanager
def _given(client: Client, proof: Proof, *, patiently: bool) -> Iterator[None]:
    for each in proof.given:
        _done(client, each, patiently=patiently)
    try:
        yield
    finally:
        for each in proof.after:
            _done(client, each, 404, patiently=patiently)


def _done(client: Client, exchange: Exchange, *more: int, patiently: bool) -> None:
    """Do what others build upon, as soon as the server has noticed what this builds upon itself."""
    end = monotonic() + PATIENCE
    while told(client, exchange)[0]["code"] not in (*DONE, *more) and patiently and monotonic() < end:
        pass


def _part(answer: Answer, proof: Proof) -> Answer:
    if isinstance(answer, str):  # how the connection ended, instead of an answer
        return answer
    if proof.long:
        return {"code": answer["code"], "long": int(answer["headers"]["content-length"][0]) > LONG}
    if not proof.part:
        return {"code": answer["code"]} if answer["code"] < 300 else answer
    found = answer["said"] if proof.part[0] not in answer["headers"] else answer["headers"]
    for step in proof.part:
        found = _step(found, step)
    return {"code": answer["code"], "part": [*found] if proof.order else found}


def _step(value: Any, step: str | int) -> Any:
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    return value.get(step) if isinstance(value, dict) else None
