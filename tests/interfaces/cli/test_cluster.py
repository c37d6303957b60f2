"""`trimtab cluster`: what the verbs print, and how they leave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab.interfaces.cli.entry import run


def test_a_cluster_is_brought_up_shown_and_taken_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    try:
        assert run(["cluster", "up"], environment) == 0
        config = tmp_path / "trimtab" / "cluster" / "kubeconfig"
        assert f"export KUBECONFIG={config}" in capsys.readouterr().out
        assert run(["cluster", "up"], environment) == 0
        assert "up already" in capsys.readouterr().out
        other = tmp_path / "other"
        assert run(["cluster", "up", "--kubeconfig", str(other), "--port", "1"], environment) == 2
        told = capsys.readouterr().err
        assert "up already at https://127.0.0.1:" in told
        assert f"and not with --port 1 --kubeconfig {other}. Stop it first" in told
        assert run(["cluster", "up", "--kubeconfig", str(config)], environment) == 0
        capsys.readouterr()
        assert run(["cluster", "status", "-o", "json"], environment) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["kubeconfig"] == str(config)
        assert run(["cluster", "status"], environment) == 0
        assert facts["server"] in capsys.readouterr().out
        assert run(["cluster", "status", "-o", "name"], environment) == 0
        assert capsys.readouterr().out == "cluster/trimtab\n"
        assert run(["cluster", "status", "-o", "wide"], environment) == 0
        heading, row = capsys.readouterr().out.splitlines()
        assert heading.split() == ["SERVER", "KUBECONFIG", "SINCE", "PID"]
        assert row.split() == [facts[word] for word in ("server", "kubeconfig", "since", "pid")]
    finally:
        left = run(["cluster", "down"], environment)
    assert (left, config.exists()) == (0, False)


@pytest.mark.parametrize("verb", ["status", "down"])
def test_without_a_cluster_the_verbs_say_how_to_get_one(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cluster", verb], {"XDG_STATE_HOME": str(tmp_path)}) == 3
    assert "trimtab cluster up" in capsys.readouterr().err


def test_the_cluster_that_runs_is_used_where_nothing_leads_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    homes = {f"XDG_{name}_HOME": str(tmp_path) for name in ("CACHE", "CONFIG", "STATE")}
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **homes}
    elsewhere = tmp_path / "elsewhere"
    no_apps = "No apps yet. Make one with: trimtab sync SOURCE\n"
    try:
        assert run(["cluster", "up"], {**environment, "KUBECONFIG": str(elsewhere)}) == 0
        assert "  use it:   export KUBECONFIG=" in capsys.readouterr().out
        assert run(["cluster", "up"], environment) == 0
        up = capsys.readouterr().out
        assert "  use it:   trimtab sync SOURCE; for kubectl: export KUBECONFIG=" in up
        url = up.splitlines()[0].rpartition(" ")[2]
        used = f"No kubeconfig is named: this is the cluster in memory at {url}\n"
        assert run(["status"], environment) == 0
        assert capsys.readouterr().err == used + no_apps
        assert run(["why", "cm/settings"], environment) == 3
        assert capsys.readouterr().err.count(used) == 1, "it is told once"
        assert run(["doctor"], environment) in {0, 1}
        told = capsys.readouterr()
        assert (told.err, f"access: the context leads to {url}" in told.out) == (used, True)

        assert run(["status"], {**environment, "KUBECONFIG": str(elsewhere)}) == 3
        assert run(["status", "--kubeconfig", str(elsewhere)], environment) == 3
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube" / "config").write_text("{}")
        assert run(["status"], environment) != 0
        assert "in memory" not in capsys.readouterr().err.replace("have a cluster in memory", "")
    finally:
        assert run(["cluster", "down"], environment) == 0
    (tmp_path / ".kube" / "config").unlink()
    assert run(["status"], environment) == 3
