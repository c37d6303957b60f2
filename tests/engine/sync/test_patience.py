"""How long an operation bears with a server that does not answer."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest

from tests.engine.sync.leaping import Leaping
from trimtab.engine.sync.patience import Patience
from trimtab.errors import Conflict, Unavailable

AWAY = Unavailable("a", "no answer")
NO = Conflict("a", "no")


class Server:
    """Answers in order, the last answer for ever."""

    def __init__(self, *answers: Exception | str) -> None:
        self._answers, self.asked = list(answers), 0

    async def answer(self) -> str:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def patience(clock: Leaping) -> Patience:
    return Patience(clock, timedelta(seconds=30), chance=lambda: 0.5)


async def test_a_server_that_comes_back_in_time_answers() -> None:
    server = Server(AWAY, AWAY, "yes")
    assert await patience(Leaping()).ask(server.answer) == "yes"
    assert server.asked == 3


async def test_a_refusal_is_an_answer() -> None:
    server = Server(NO)
    with pytest.raises(Conflict):
        await patience(Leaping()).ask(server.answer)
    assert server.asked == 1


async def test_patience_ends() -> None:
    clock, server = Leaping(), Server(AWAY)
    begun = clock.monotonic()
    with pytest.raises(Unavailable):
        await patience(clock).ask(server.answer)
    assert 20 < clock.monotonic() - begun < 30


async def test_all_requests_of_an_operation_wait_once_together() -> None:
    clock, server, last = Leaping(), Server(AWAY), Server(AWAY)
    shared = patience(clock)
    with pytest.raises(Unavailable):
        await shared.ask(server.answer)
    await clock.advance(30)
    with pytest.raises(Unavailable):
        await shared.ask(last.answer)
    assert last.asked == 1


@pytest.mark.parametrize("late", ["yes", NO])
async def test_an_answer_after_a_failure_gives_patience_back(late: Exception | str) -> None:
    clock, last = Leaping(), Server(AWAY, "yes")
    shared = patience(clock)
    for _ in range(10):
        with contextlib.suppress(Conflict):
            await shared.ask(Server(AWAY, AWAY, AWAY, AWAY, AWAY, late).answer)
    assert clock.monotonic() > 30
    assert await shared.ask(last.answer) == "yes"
