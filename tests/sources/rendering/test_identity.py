"""A render is a pure function of its key: after any edit, what is kept is what would be rendered anew."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from tests.sources.conftest import settings_in
from tests.sources.corpora import NAMES, case
from trimtab.errors import TrimtabError
from trimtab.settings import ProgramsSettings
from trimtab.sources import Renderer, Request
from trimtab.sources.rendering.identity import FORMAT, Record, remembered, trace_of
from trimtab.sources.rendering.jobs import Job
from trimtab.sources.rendering.rendered import Look, Tool
from trimtab.sources.rendering.sealing import Seal
from trimtab.sources.rendering.specs import SourceSpec

EDITS = 40
PROGRAMS = ProgramsSettings(fetch=False)


async def outcome(renderer: Renderer, request: Request) -> tuple[str, str]:
    """The key, if there is a result, and the result or the error."""
    try:
        rendered = await renderer.render(request)
    except TrimtabError as error:
        return "", str(error)
    return rendered.key, repr([made.json for made in rendered.manifests])


def edit(folder: Path, chance: Random) -> str:
    """Change one file or link at random; says what was done."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    path = chance.choice(paths)
    name = str(path.relative_to(folder))
    match chance.randrange(5):
        case 0:
            path.unlink()
            return f"removed {name}"
        case 1:
            path.rename(path.with_name(f"moved-{path.name}"))
            return f"moved {name}"
        case 2:
            text = path.read_text(errors="replace") if not path.is_symlink() else ""
            path.unlink()
            path.write_text(text.replace("a", "b", 1) + "\n")
            return f"changed {name}"
        case 3:
            path.with_name("kustomization.yml").write_text("resources: []\n")
            return f"added a kustomization beside {name}"
        case _:
            path.with_name("added.yaml").write_text(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: added}\n"
            )
            return f"added a file beside {name}"


async def test_after_any_edit_what_is_kept_is_what_would_be_rendered_anew(tmp_path: Path, tools: str) -> None:
    chance = Random(7)
    forgetful = tmp_path / "forgetful"
    async with (
        Renderer(settings_in(tmp_path / "keeping"), PROGRAMS, path=tools) as keeping,
        Renderer(settings_in(forgetful), PROGRAMS, path=tools) as fresh,
    ):
        for number in range(EDITS):
            one = case(chance.choice(NAMES))
            folder = one.written(tmp_path / str(number), tools)
            request = one.request(folder)
            first_key, first = await outcome(keeping, request)
            done = edit(folder, chance)
            kept_key, kept = await outcome(keeping, request)
            shutil.rmtree(forgetful / "cache", ignore_errors=True)
            _, anew = await outcome(fresh, request)
            assert kept == anew, (one.name, done)
            assert (kept_key != first_key) or (kept == first), (one.name, done)


SEAL = Seal(bytes(32))
JOB = Job(name="web", namespace="shop", spec=SourceSpec(path="app"), programs={"helm": "4.0.0"})
LOOK = Look("", "app/Chart.yaml", "bytes", "file abc")


def test_whatever_an_answer_follows_from_is_in_its_key() -> None:
    keys = {
        trace_of(job, tool, looks, (), SEAL).key
        for job, tool, looks in (
            (JOB, Tool.HELM, (LOOK,)),
            (JOB, Tool.KUSTOMIZE, (LOOK,)),
            (JOB, Tool.HELM, ()),
            (JOB, Tool.HELM, (Look("", "app/Chart.yaml", "bytes", "file abd"),)),
            (JOB, Tool.HELM, (Look("ref", "app/Chart.yaml", "bytes", "file abc"),)),
            (
                Job(name="web", namespace="shop", spec=JOB.spec, programs={"helm": "4.0.1"}),
                Tool.HELM,
                (LOOK,),
            ),
            (Job(name="api", namespace="shop", spec=JOB.spec, programs=JOB.programs), Tool.HELM, (LOOK,)),
        )
    }
    assert len(keys) == 7
    assert FORMAT == 2  # another number forgets all that is kept: it belongs to a change of the result


def test_only_the_last_answers_to_a_question_are_remembered() -> None:
    record = Record()
    for number in range(20):
        looks = (Look("", "a", "bytes", f"file {number % 10}"),)
        record = remembered(record, trace_of(JOB, Tool.DIRECTORY, looks, (), SEAL))
    assert [trace.looks[0].answer for trace in record.traces] == [f"file {n}" for n in range(9, 1, -1)]
