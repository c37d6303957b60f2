"""`trimtab diff` of files: no cluster is asked, and the exit code says whether anything differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab.interfaces.cli.entry import run

WANTED = """
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
data: {colour: blue}
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "desired.yaml").write_text(WANTED)
    (tmp_path / "live.yaml").write_text(WANTED.replace("blue", "red"))
    return [str(tmp_path / "desired.yaml"), str(tmp_path / "live.yaml")]


def test_what_is_the_same_is_silence_and_zero(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "-f", files[0], "--live", files[0]], {}) == 0
    assert run(["diff", "-f", files[0], "--live", files[0], "-o", "json"], {}) == 0
    assert capsys.readouterr() == ("[]\n", "")


def test_what_differs_is_told_and_one(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "-f", files[0], "--live", files[1]], {}) == 1
    assert capsys.readouterr().out.splitlines() == [
        "--- live     ConfigMap shop/web",
        "+++ desired  ConfigMap shop/web",
        "@@ /data/colour (changed) @@",
        "-colour: red",
        "+colour: blue",
    ]
    assert run(["diff", "-f", files[0], "--live", files[1], "-o", "json"], {}) == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert [each["path"] for each in told["fields"]] == ["/data/colour"]


def test_errors_are_more_than_one(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.yaml").write_text("kind: [")
    mistakes = {
        ("-f", files[0]): "Name a SOURCE, or give -f and --live",
        ("shop", "-f", files[0], "--live", files[1]): "Name a SOURCE, or give -f and --live",
        ("-f", "-", "--live", "-"): "Only one file can be stdin",
        (): "Name a SOURCE, or give -f and --live",
        ("-f", "/no/such/file", "--live", files[1]): "file /no/such/file: it does not exist",
        ("-f", str(tmp_path), "--live", files[1]): "it cannot be read: Is a directory",
        ("-f", str(tmp_path / "broken.yaml"), "--live", files[1]): "broken.yaml, line 2",
    }
    for arguments, sentence in mistakes.items():
        assert run(["diff", *arguments], {}) > 1, arguments
        told = capsys.readouterr()
        assert (told.out, sentence in told.err) == ("", True), told.err
