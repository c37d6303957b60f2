"""Things that become due, each at most once at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trimtab.tasks.timers import Timers

things = st.sampled_from("abcde")
times = st.floats(0, 100)
moves = st.one_of(st.tuples(st.just("set"), things, times), st.tuples(st.just("forget"), things, times))


def taken(timers: Timers[str], now: float) -> list[str]:
    out = []
    while (thing := timers.take_due(now)) is not None:
        out.append(thing)
    return out


@given(st.lists(moves, max_size=60), times)
def test_exactly_what_was_last_set_for_by_now_comes_out_and_in_order(
    steps: list[tuple[str, str, float]], now: float
) -> None:
    timers: Timers[str] = Timers()
    model: dict[str, float] = {}
    for step, thing, due in steps:
        if step == "set":
            timers.set(thing, due)
            model[thing] = due
        else:
            timers.forget(thing)
            model.pop(thing, None)
    assert timers.next_due() == min(model.values(), default=None)
    out = taken(timers, now)
    assert sorted(out) == sorted(thing for thing, due in model.items() if due <= now)
    assert [model[thing] for thing in out] == sorted(model[thing] for thing in out)
    assert len(timers) == len(model) - len(out)


def test_a_thing_moved_ten_thousand_times_takes_little_room() -> None:
    timers: Timers[str] = Timers()
    for due in range(10_000, 0, -1):
        timers.set("a", due)
    assert timers.rows() <= 50
    assert timers.take_due(1) == "a"


def test_forgotten_things_take_little_room_either() -> None:
    timers: Timers[int] = Timers()
    for thing in range(10_000):
        timers.set(thing, 1.0)
    for thing in range(10_000):
        timers.forget(thing)
    assert timers.rows() <= 50
