"""Doors that open when somebody comes: they offer what type checkers see, and cost nothing before."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from trimtab.doors import opened_when_asked

LAZY = (
    "trimtab.app",
    "trimtab.kube",
    "trimtab.kube.auth",
    "trimtab.sources",
    "trimtab.tasks",
    "trimtab.engine",
    "trimtab.engine.stores",
    "trimtab.apiserver",
    "trimtab.apiserver.behaviours",
)


def seen_by_type_checkers(package: str) -> dict[str, object]:
    """What the imports of a door's file bring, by name."""
    tree = ast.parse(Path(str(import_module(package).__file__)).read_text())
    return {
        alias.name: getattr(import_module(found.module), alias.name)
        for found in ast.walk(tree)
        if isinstance(found, ast.ImportFrom) and found.module and found.module.startswith(f"{package}.")
        for alias in found.names
    }


@pytest.mark.parametrize("package", LAZY)
def test_a_door_opens_to_every_name_it_offers(package: str) -> None:
    door = import_module(package)
    assert {name: getattr(door, name) for name in door.__all__} == seen_by_type_checkers(package)


def test_a_name_that_is_not_offered_is_said_to_be_missing() -> None:
    ask = opened_when_asked("trimtab.kube", {"leases": ("Lease",)})
    assert ask("Lease").__name__ == "Lease"
    with pytest.raises(AttributeError, match=r"module 'trimtab\.kube' has no attribute 'Leese'"):
        ask("Leese")


@pytest.mark.parametrize(
    ("module", "spared"),
    [
        ("trimtab.sources.rendering.work", {"aiohttp", "pygit2", "asyncio"}),
        ("trimtab.tasks.worker", {"asyncio", "ssl"}),
        ("trimtab.app.headstart", {"aiohttp", "cryptography", "yaml", "trimtab.engine", "trimtab.kube"}),
        ("trimtab.app.differing", {"aiohttp", "asyncio", "cryptography"}),
        ("trimtab.apiserver.serving", {"trimtab.apiserver.behaviours.run", "trimtab.app"}),
        ("trimtab.apiserver.background", {"aiohttp", "asyncio", "cryptography", "yaml", "trimtab.kube"}),
        ("trimtab.app.apps", {"pygit2", "prometheus_client", "pytest", "trimtab.apiserver"}),
    ],
)
def test_what_is_started_for_each_command_imports_nothing_it_may_not_need(
    module: str, spared: set[str]
) -> None:
    words = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, check=True, text=True)
    assert spared & set(done.stdout.split()) == set()
