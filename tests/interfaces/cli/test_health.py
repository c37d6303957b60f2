"""`trimtab health`: one answer per document, in order, without a cluster."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from trimtab.interfaces.cli.entry import run
from trimtab.interfaces.cli.verbs import trimtab

LIVE = """
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: shop}
status: {conditions: [{type: Failed, status: "True", message: it broke}]}
---
just words
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: ClusterIP}}
"""
ANSWERS = [("migrate", "Degraded"), ("", "Unknown"), ("settings", None), ("web", "Healthy")]


def test_every_document_is_answered_for_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "live.yaml").write_text(LIVE)
    assert run(["health", "-f", str(tmp_path / "live.yaml"), "-o", "json"], {}) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["health"]) for each in told] == ANSWERS
    assert told[0]["message"] == "it broke"
    assert run(["health", "-f", str(tmp_path / "live.yaml"), "-o", "name"], {}) == 0
    assert capsys.readouterr().out.splitlines() == ["job.batch/migrate", "configmap/settings", "service/web"]


def test_stdin_is_a_file_too_and_people_get_a_table() -> None:
    done = CliRunner().invoke(trimtab, ["health", "-f", "-"], obj={}, input=io.BytesIO(LIVE.encode()))
    assert done.exit_code == 0
    assert [line.split()[:4] for line in done.output.splitlines()][:2] == [
        ["KIND", "NAMESPACE", "NAME", "HEALTH"],
        ["Job", "shop", "migrate", "Degraded"],
    ]


def test_a_wide_table_tells_of_versions() -> None:
    done = CliRunner().invoke(trimtab, ["health", "-f", "-", "-o", "wide"], obj={}, input=LIVE)
    job = done.output.splitlines()[1].split()
    assert job[:5] == ["Job", "shop", "migrate", "Degraded", "batch/v1"]


def test_there_is_only_one_stdin() -> None:
    done = CliRunner().invoke(trimtab, ["health", "-f", "-", "-f", "-"], obj={}, input=LIVE)
    assert (done.exit_code, "Only one file can be stdin." in done.output) == (2, True)


def test_that_there_is_nothing_is_said_to_people(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("---\n")
    assert run(["health", "-f", str(tmp_path / "none.yaml")], {}) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "There is no object to judge.\n")


def test_nothing_is_answered_with_nothing() -> None:
    done = CliRunner().invoke(trimtab, ["health", "-f", "-", "-o", "json"], obj={}, input="---\n")
    assert (done.exit_code, done.output) == (0, "[]\n")


TORN = """# nothing yet
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: ClusterIP}}
---
kind: [
---
# nothing
---
a: 1
a: 2
--- kind: Pod
more: words
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
status: {conditions: [{type: Failed, status: "True", message: it broke}]}
"""


def test_a_document_that_cannot_be_read_is_answered_for_and_told_in_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "live.yaml"
    file.write_text(TORN)
    assert run(["health", "-f", str(file), "-f", str(file), "-o", "json"], {}) == 2
    told = capsys.readouterr()
    answers = json.loads(told.out)
    once = [
        ("web", "Healthy", 1),
        ("", "Unknown", 2),
        ("", "Unknown", 3),
        ("", "Unknown", 4),
        ("migrate", "Degraded", 5),
    ]
    assert [(each["name"], each["health"], each["document"]) for each in answers] == [*once, *once]
    assert [each["line"] for each in answers[:5]] == [3, 5, 9, 12, 14]
    whys = [each["message"] for each in answers[1:4]]
    assert [
        words in why for words, why in zip(("line 6", "'a' is set twice", "follows `---`"), whys, strict=True)
    ] == [True] * 3
    assert told.err.startswith(f"Error: {file}, line 6, column 1: ")
    assert "(5 other documents cannot be read either)" in told.err


def test_a_file_that_is_no_text_is_one_document_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "live.yaml").write_bytes(b"kind: \xff\n")
    (tmp_path / "more.yaml").write_text(LIVE)
    files = ("-f", str(tmp_path / "live.yaml"), "-f", str(tmp_path / "more.yaml"))
    assert run(["health", *files, "-o", "json"], {}) == 2
    told = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["health"]) for each in told] == [("", "Unknown"), *ANSWERS]
