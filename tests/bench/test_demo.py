"""The bench of the demo: a newcomer has nothing of this machine, and is judged by a minute."""

from __future__ import annotations

from pathlib import Path

from bench.chapters import ROOT
from bench.demo import SIZES, Taken, figures, newcomer
from bench.peers import Run


def test_a_newcomer_has_the_way_to_the_network_and_nothing_else_of_this_machine(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "helm").touch()
    environment = {
        "PATH": f"{ROOT}/.venv/bin:{tools}:/usr/bin",
        "HOME": "/home/somebody",
        "https_proxy": "http://proxy.example",
        "XDG_CACHE_HOME": "/cache",
        "UV_CACHE_DIR": "/cache/uv",
        "VIRTUAL_ENV": "/venv",
        "MAKEFLAGS": "w",
        "MAKELEVEL": "1",
        "TRIMTAB_CONFIG": "/settings",
    }
    home = tmp_path / "home"
    assert newcomer(environment, home) == {
        "PATH": "/usr/bin",
        "HOME": str(home),
        "https_proxy": "http://proxy.example",
    }


def test_the_demo_is_judged_by_a_minute_once_it_is_set_up() -> None:
    first, again = Run(seconds=80.0, cpu=20.0), Run(seconds=30.0, cpu=12.0)
    taken = Taken(set_up=50.0, first=first, again=again)
    shown = [(each.shown, each.met) for each in figures([taken], SIZES["full"])]
    assert shown == [("50.0", None), ("80.0", None), ("30.0", True), ("12.0", None)]
    slow = Taken(set_up=50.0, first=first, again=first)
    assert [each.met for each in figures([slow], SIZES["full"])] == [None, None, False, None]
