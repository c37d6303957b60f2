"""What a runner serves at /metrics: exactly what its page says, and the loop only reads."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.engine.test_metrics import WEB, Given
from trimtab.app.running.events import ShardTaken
from trimtab.app.running.figures import RunnerFigures
from trimtab.app.running.following import TimedManifests
from trimtab.engine.metrics import Metrics
from trimtab.engine.readings import UnitLabels
from trimtab.engine.units import Generated, SyncUnit
from trimtab.errors import RenderFailed
from trimtab.kube.transport import Exchange
from trimtab.sources.repositories.revisions import GitRequest
from trimtab.tasks import ManualClock

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def value(figures: RunnerFigures, sample: str, /, **labels: str) -> float | None:
    return figures.registry.get_sample_value(sample, labels)


def busy() -> RunnerFigures:
    """The figures of a runner to which everything has happened once."""
    figures = RunnerFigures()
    figures.exchanged("prod")(Exchange(method="PATCH", code="409", seconds=0.2))
    figures.git(GitRequest(type="fetch", seconds=3.0, failed=True))
    figures.rendered(0.7, failed=False)
    figures.tell(ShardTaken(at=NOW, shard="0 of 1"))
    return figures


def test_what_happens_beside_the_engines_is_counted_and_timed() -> None:
    found = busy()
    assert value(found, "trimtab_kube_requests_total", server="prod", method="PATCH", code="409") == 1
    assert value(found, "trimtab_kube_request_duration_seconds_sum", server="prod", method="PATCH") == 0.2
    assert value(found, "trimtab_git_requests_total", request_type="fetch", outcome="failed") == 1
    assert value(found, "trimtab_git_request_duration_seconds_sum", request_type="fetch") == 3.0
    assert value(found, "trimtab_renders_total", outcome="done") == 1
    assert value(found, "trimtab_render_duration_seconds_sum") == 0.7
    assert value(found, "trimtab_runner_events_total", event="ShardTaken") == 1


def test_the_page_names_exactly_what_is_served_with_its_type_and_labels() -> None:
    engine = Metrics(Given(WEB))
    engine.know(WEB)
    text = busy().reading({"0": engine})().decode()
    served = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| .*? \| (.*?) \| .*\|$", PAGE.read_text(), re.MULTILINE)
    assert {name: kind for name, kind, _ in rows} == served
    labels = {name: set(re.findall(r"`(\w+)`", words)) for name, _, words in rows}
    for name, found in _labels_in(text):
        family = re.sub(r"_(bucket|sum|count)$", "", name)
        assert found - {"le"} == labels[family if family in labels else name], name


def _labels_in(text: str) -> list[tuple[str, set[str]]]:
    samples = re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.MULTILINE)
    return [(name, set(re.findall(r'(\w+)="', words))) for name, words in samples]


async def test_the_loop_reads_and_a_thread_makes_text_of_it() -> None:
    threads = list[int]()

    def labels_of(unit: SyncUnit) -> UnitLabels:
        threads.append(threading.get_ident())
        return UnitLabels("", unit.id)

    units = [replace(WEB, id=f"unit-{number}") for number in range(5000)]
    words = RunnerFigures().reading({"0": Metrics(Given(*units), labels_of=labels_of)})
    assert threads == [], "nothing is made of a single unit while the loop waits"
    text = await asyncio.to_thread(words)
    assert text.count(b"\nargocd_app_info{") == len(threads) == 5000
    assert threading.get_ident() not in threads


class Slow:
    """Takes its time, and sometimes has no answer."""

    def __init__(self, clock: ManualClock, answer: Callable[[], Generated]) -> None:
        self._clock, self._answer = clock, answer

    async def generate(self, _unit: SyncUnit, _revision: str, *, no_cache: bool = False) -> Generated:
        del no_cache
        await self._clock.advance(1.5)
        return self._answer()


def _fails() -> Generated:
    raise RenderFailed("app web", "it is broken", "Mend it")


async def test_renders_are_timed_whether_they_succeed_or_not() -> None:
    clock, told = ManualClock(), list[tuple[float, bool]]()

    def note(seconds: float, *, failed: bool) -> None:
        told.append((seconds, failed))

    made = Generated(manifests=(), revision="1", digest="")
    assert await TimedManifests(Slow(clock, lambda: made), note, clock).generate(WEB, "") is made
    with pytest.raises(RenderFailed):
        await TimedManifests(Slow(clock, _fails), note, clock).generate(WEB, "")
    assert told == [(1.5, False), (1.5, True)]
