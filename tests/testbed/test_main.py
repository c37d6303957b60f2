"""The command line: what `up` starts, `status` shows and `down` stops."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from testbed.__main__ import main
from testbed.fixtures import ControlPlanes

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "testbed")


def said_by(*args: str) -> str:
    return CliRunner().invoke(main, args, catch_exceptions=False).output


@pytest.fixture
def up() -> Iterator[subprocess.Popen[str]]:
    options = ("up", "--no-controllers", "--postgres", "--git")
    with subprocess.Popen([*COMMAND, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True) as started:
        yield started
        started.kill()


def lines_until_running(started: subprocess.Popen[str]) -> dict[str, str]:
    assert started.stdout is not None
    offers: dict[str, str] = {}
    for line in started.stdout:
        if line == "running until Ctrl-C\n":
            break
        name, _, value = line.strip().partition(": ")
        offers[name] = value
    return offers


def test_up_offers_all_it_was_asked_for_until_down(
    control_planes: ControlPlanes, up: subprocess.Popen[str]
) -> None:
    offers = lines_until_running(up)
    assert Path(offers["kubeconfig"]).is_file()
    assert offers["postgres"].startswith("postgresql://test_")
    assert offers["git http"].startswith("http://somebody:")
    assert f"process {up.pid}\nkubeconfig: {offers['kubeconfig']}\n" in said_by("status")

    assert said_by("down", str(up.pid)) == f"process {up.pid}: stopped\n"
    assert up.wait() == 0
    assert not Path(offers["logs"]).exists()
    assert f"process {up.pid}\n" not in said_by("status")
    assert said_by("down", str(up.pid)) == f"process {up.pid} runs no testbed\n"


def test_a_testbed_whose_owner_was_killed_is_not_listed(tmp_path: Path) -> None:
    record = tmp_path / "trimtab" / "testbed" / "running" / "1.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"pid": 1, "offers": {}}')
    done = CliRunner(env={"XDG_CACHE_HOME": str(tmp_path)}).invoke(main, ["status"])
    assert done.output == "nothing is running\n"
    assert not record.exists()


def test_versions_names_every_part(tmp_path: Path) -> None:
    done = CliRunner(env={"XDG_CACHE_HOME": str(tmp_path)}).invoke(main, ["versions"])
    assert done.output.splitlines()[0] == "kube-apiserver v1.36.3 (not built yet)"
    assert done.output.splitlines()[-1] == "postgresql 18 (from its wheel)"


def test_a_missing_compiler_is_one_sentence_with_the_remedy(tmp_path: Path) -> None:
    environment = {"PATH": "", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [*COMMAND, "build", "etcd"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith("then run `python -m testbed build`.")


@pytest.mark.parametrize("verb", ["build", "up", "status", "down", "versions"])
def test_every_verb_has_help(verb: str) -> None:
    done = CliRunner().invoke(main, [verb, "--help"])
    assert (done.exit_code, done.output.startswith("Usage:")) == (0, True)
