"""The answers of the real server, kept in files so that the suite also runs where it cannot be built.

One file per table, one line per observation: a change of an answer is a change of a line.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.contract.cluster.stage import Observation

FOLDER = Path(__file__).parent / "recorded"
EMBEDDED = FOLDER / "embedded"  # the embedded cluster's own answers, where it knowingly differs


@functools.cache
def recorded(table: str, folder: Path = FOLDER) -> Mapping[str, Sequence[Observation]]:
    """The answers recorded for the cases of a table, as they were when the run first asked for them."""
    return read(table, folder)


def read(table: str, folder: Path) -> Mapping[str, Sequence[Observation]]:
    """The answers recorded for the cases of a table, as they are now."""
    path = folder / f"{table}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def written(answers: Mapping[str, Sequence[Observation]]) -> str:
    """The text of a file of recordings."""
    cases = ",\n".join(
        f"{json.dumps(name)}: [\n" + ",\n".join(map(_line, answers[name])) + "\n]" for name in sorted(answers)
    )
    return f"{{\n{cases}\n}}\n"


def _line(observation: Any) -> str:
    return json.dumps(observation, sort_keys=True, ensure_ascii=False, separators=(", ", ": "))


def record(
    table: str,
    new: Mapping[str, Sequence[Observation]],
    known: Sequence[str],
    folder: Path = FOLDER,
) -> None:
    """Write new answers among the old ones; answers of cases that are no more are dropped."""
    answers = {name: seen for name, seen in {**read(table, folder), **new}.items() if name in known}
    path = folder / f"{table}.json"
    if not answers:
        path.unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(written(answers), encoding="utf-8")
