"""Whoever has no cluster yet is told how to get one, and whoever has one is named in its records."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from trimtab.interfaces.cli.entry import run
from trimtab.interfaces.cli.reaching import names_no_file, user_of


@pytest.mark.parametrize("words", [("status",), ("sync", "."), ("why", "shop"), ("tree", "shop")])
def test_without_a_kubeconfig_the_way_to_a_cluster_is_told(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    homes = {f"XDG_{name}_HOME": str(tmp_path) for name in ("CACHE", "CONFIG", "STATE")}
    assert run(words, {"HOME": str(tmp_path), **homes}) == 3
    assert capsys.readouterr().err == (
        f"Error: kubeconfig {tmp_path}/.kube/config: it does not exist. Name one with --kubeconfig or "
        "KUBECONFIG, or have a cluster in memory: trimtab cluster up.\n"
    )


def test_a_cluster_in_memory_is_offered_only_to_whom_it_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    elsewhere = str(tmp_path / "elsewhere")
    assert run(["status", "--kubeconfig", elsewhere], environment) == 3
    assert run(["status"], {**environment, "KUBECONFIG": elsewhere}) == 3
    told = f"Error: kubeconfig {elsewhere}: it does not exist. Name one that is there.\n"
    assert capsys.readouterr().err == told * 2
    of_memory = tmp_path / "trimtab" / "cluster" / "kubeconfig"
    assert run(["status"], {**environment, "KUBECONFIG": str(of_memory)}) == 3
    assert capsys.readouterr().err.endswith("or have a cluster in memory: trimtab cluster up.\n")


def test_a_link_that_leads_nowhere_is_a_kubeconfig_and_a_list_of_none_is_not(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    assert names_no_file(environment)
    assert names_no_file({**environment, "KUBECONFIG": os.pathsep})
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").symlink_to(tmp_path / "not" / "mounted")
    assert not names_no_file(environment)


def test_whoever_calls_is_named_by_the_environment_or_by_the_account() -> None:
    assert user_of({"USER": "ann", "LOGNAME": "bob"}) == "ann"
    assert user_of({"LOGNAME": "bob"}) == "bob"
    assert user_of({}) == pwd.getpwuid(os.getuid()).pw_name
