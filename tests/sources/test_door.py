"""What the room offers, and what it costs those who need little of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trimtab import kube, sources
from trimtab.kube import auth


@pytest.mark.parametrize("door", [sources, kube, auth])
def test_every_name_of_a_door_leads_somewhere_and_no_other_does(door: object) -> None:
    names = getattr(door, "__all__")  # noqa: B009 - a module given as an object
    assert [name for name in names if getattr(door, name).__name__ != name] == []
    with pytest.raises(AttributeError):
        getattr(door, "nothing")  # noqa: B009 - not an attribute that a type checker would let through


def test_a_worker_that_renders_loads_no_network() -> None:
    code = "import sys, trimtab.sources.rendering.work; print(*{'aiohttp', 'asyncio'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
