"""What `plan` and `apply` refuse before any cluster is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.committing import git
from trimtab.interfaces.cli.entry import run


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["plan", "shop", "--head", "fix"], 2, "--head needs --base"),
        (["plan", "shop", "--base", "main", "--out", "x"], 2, "it goes without --base"),
        (["plan", "shop", "payments", "--app", "one"], 2, "--app names one app"),
        (["plan", ".", "--base", "main"], 2, "it is no Git checkout, so it has no revisions"),
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


def test_the_files_of_a_checkout_are_planned_on_a_revision_of_it_without_any_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "deploy"
    folder.mkdir()
    settings = folder / "settings.yaml"
    settings.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: old}}")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "first")):
        git(tmp_path, *words)
    settings.write_text(settings.read_text().replace("old", "new"))
    monkeypatch.chdir(tmp_path)
    environment = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CACHE", "CONFIG", "STATE")}
    assert run(["plan", "deploy", "--base", "main"], environment) == 0
    assert "/data/a: old -> new" in capsys.readouterr().out, "what is not committed yet counts"
    assert run(["plan", "deploy", "--base", "main", "-o", "name"], environment) == 0
    assert capsys.readouterr().out == "configmap/settings\n"
    assert run(["plan", "deploy", "--base", "main", "-o", "wide"], environment) == 0
    assert "API VERSION" in capsys.readouterr().out
    assert run(["plan", "deploy", "--base", "main", "--head", "HEAD"], environment) == 0
    assert "/data/a" not in capsys.readouterr().out
    assert run(["plan", "deploy", "--base", "main", "--head", "HEAD", "-o", "name"], environment) == 0
    assert capsys.readouterr().out == ""
