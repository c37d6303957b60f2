"""Beside others: what is shown of kubectl and the Go engine, and what is judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bench import cli, engine
from bench.measures import Sample
from bench.peers import Peers, Run, marked, ran, written
from bench.units import Report, Took

TOOK = Took(seconds=0.5, cpu=0.001, requests=0, writes=0)
OURS = Report(
    objects=10,
    raw=TOOK,
    first=TOOK,
    no_op=TOOK,
    changed=TOOK,
    drifted=TOOK,
    units_first=TOOK,
    units_no_op=TOOK,
    costs=(),
)
GO = Sample(items=10, seconds=2.0, cpu_seconds=1.0, peak_bytes=0)
PEERS = Peers(kubectl=Run(seconds=1.0, cpu=0.1), go_best=GO, go_best_again=GO)


def test_ratios_are_of_the_same_rounds_and_what_was_run_once_counts_once() -> None:
    with_default = replace(PEERS, go_default=replace(GO, seconds=50.0))
    rounds = [engine.Round(ours=OURS, peers=with_default), engine.Round(ours=OURS, peers=PEERS)]
    lines = engine.besides(rounds, engine.SIZES["full"]).splitlines()[2:]
    assert [line.split(" | ")[1:] for line in lines] == [
        ["1.000", "0.500", "0.500", "≤ 0.4", "**no** |"],
        ["2.000", "0.500", "0.250", "≤ 0.35", "yes |"],
        ["50.000", "0.500", "0.010", "≤ 0.02", "yes |"],
        ["1.000", "0.001", "0.001", "≤ 0.02", "yes |"],
    ]


def test_whole_commands_are_judged_at_full_size_alone() -> None:
    run = Run(seconds=0.2, cpu=0.1)
    taken = cli.Taken(**dict.fromkeys(cli.Taken.__struct_fields__, run))
    judged = {each.what: each.met for each in cli.figures([taken], cli.SIZES["full"]) if each.aim}
    assert list(judged.values()) == [False, False, False]
    assert all(each.met is None for each in cli.figures([taken], cli.SIZES["small"]))


def test_objects_are_written_as_each_program_reads_them(tmp_path: Path) -> None:
    objects = marked(2)
    assert objects[1]["metadata"]["annotations"]["trimtab.dev/bench"] == "bench"
    assert len(written(tmp_path / "all.jsonl", objects).read_text().splitlines()) == 2
    assert written(tmp_path / "all.yaml", objects).read_text().count("\n---\n") == 1


def test_a_program_that_fails_ends_the_benchmark_with_its_words() -> None:
    said, taken = ran(("/bin/sh", "-c", "echo hello"), environment={})
    assert (said, taken.seconds > 0) == (b"hello\n", True)
    with pytest.raises(SystemExit, match="no luck"):
        ran(("/bin/sh", "-c", "echo no luck >&2; exit 3"), environment={})
