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
    assert capsys.readouterr().out.splitlines()[2:] == ["configmap/settings", "service/web"]


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
