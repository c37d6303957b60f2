"""What `plan` and `apply` refuse before any cluster is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.interfaces.cli.entry import run


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["plan", "shop", "--head", "fix"], 2, "--head needs --base"),
        (["plan", "shop", "--base", "main", "--out", "x"], 2, "it goes without --base"),
        (["plan", "shop", "payments", "--app", "one"], 2, "--app names one app"),
        (["plan", ".", "--base", "main"], 2, "a folder has no revisions"),
        (["apply", "nowhere.plan"], 3, "plan file nowhere.plan: it does not exist"),
        (["apply", "."], 2, "it cannot be read"),
    ],
)
def test_mistakes_are_told_before_anything_is_reached(
    arguments: list[str],
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
    assert run(arguments, environment) == code
    told = capsys.readouterr()
    assert (words in told.err, told.out) == (True, "")
