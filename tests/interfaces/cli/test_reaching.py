"""Whoever has no cluster yet is told how to get one."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.interfaces.cli.entry import run


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
