"""What is said of programs that are fetched."""

from __future__ import annotations

from trimtab.programs import Progress, said_once


def test_each_program_is_spoken_of_once_however_often_its_download_tells() -> None:
    said: list[str] = []
    tell = said_once(said.append)
    for name, done in (("helm", 1), ("helm", 2), ("kustomize", 1), ("helm", 3)):
        tell(Progress(name=name, done=done, total=17_400_000))
    assert said == ["Fetching helm, once (17 MB)", "Fetching kustomize, once (17 MB)"]
