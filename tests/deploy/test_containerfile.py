"""The image's recipe, as far as it can be followed without a builder of containers."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from testbed.builds import FLAGS, PROGRAMS, RENDERERS, Builder, linker_flags
from trimtab import __version__
from trimtab.app.install.manifests import USER, Install, deployment
from trimtab.settings import Settings
from trimtab.settings.merge import fields_of

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "deploy" / "Containerfile"


def steps() -> list[tuple[str, str]]:
    """Every instruction and what follows it, lines that go on put together."""
    lines = [line for line in RECIPE.read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def stage(name: str) -> list[tuple[str, str]]:
    """The steps of the stage that is called so."""
    begins = [number for number, (word, _) in enumerate(steps()) if word == "FROM"]
    (first,) = (number for number in begins if steps()[number][1].endswith(f" AS {name}"))
    return steps()[first : next(number for number in begins if number > first)]


def follow(word: str, rest: str, folder: Path) -> None:
    """Do one step of the recipe in a folder.

    Once our own sources are there, what is built of them is not kept in the user's cache: the folder is gone
    after the test, and nobody would ask for it again.
    """
    if word == "COPY":
        *origins, target = rest.split()
        for origin in origins:
            source, place = ROOT / origin, folder / target
            if source.is_dir():
                shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place)
    elif word == "RUN":
        python = f"{sys.executable} " if rest.startswith("python ") else ""
        command = f"{python}{rest.removeprefix('python ')}" if python else rest
        own = ["env", f"UV_CACHE_DIR={folder / 'cache'}", "UV_OFFLINE=1"] if (folder / "src").exists() else []
        done = subprocess.run(
            [*own, *command.split()], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_the_first_stage_installs_the_command_from_a_wheel_and_nothing_that_only_builds(
    tmp_path: Path,
) -> None:
    fetches = "scripts/fetch_programs.py"  # 37 MB from the network; tests/scripts tells of it
    for word, rest in stage("build"):
        if not (word == "RUN" and fetches in rest):
            follow(word, rest, tmp_path)
    environment = {"PATH": os.defpath, "HOME": str(tmp_path)}
    told = subprocess.run(
        [tmp_path / ".venv/bin/trimtab", "version"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.startswith(f"trimtab {__version__} (")
    (site,) = tmp_path.glob(".venv/lib/*/site-packages")
    assert (
        site / "trimtab" / "app" / "install" / "manifests.py"
    ).exists()  # a wheel, not a link to the sources
    assert not (site / "hatchling").exists()
    asked = subprocess.run(
        [tmp_path / ".venv/bin/python", tmp_path / fetches], capture_output=True, text=True, check=False
    )
    assert asked.stderr == "usage: fetch_programs.py FOLDER\n"  # it has all that it imports


def test_our_own_builds_of_the_tools_are_made_as_everywhere(tmp_path: Path) -> None:
    builder = Builder(cache=tmp_path)
    built = [shlex.split(rest) for word, rest in stage("renderers") if word == "RUN"]
    assert len(built) == 2
    for words in built:
        name = Path(words[-2]).name
        flags = linker_flags(PROGRAMS[name], builder.version(name))
        expected = ["go", "build", *FLAGS, "-ldflags", flags, "-o", f"/programs/{name}", "."]
        assert words == ["cd", PROGRAMS[name].pin, "&&", *expected]
        go = re.search(r"^go (\S+)$", (RENDERERS / PROGRAMS[name].pin / "go.mod").read_text(), re.MULTILINE)
        assert go
        assert f"golang:{go[1]}-" in stage("renderers")[0][1]
    assert ("COPY", "--from=renderers /programs/ /usr/local/bin/") in steps()


def test_both_stages_stand_on_the_same_base_pinned_by_its_tag() -> None:
    (base,) = (rest for word, rest in steps() if word == "ARG")
    assert re.fullmatch(r"BASE=\S+/python:3\.\d+\.\d+-slim-\w+", base)
    stages = [rest.split()[0] for word, rest in steps() if word == "FROM"]
    assert [each for each in stages if "golang:" not in each] == ["${BASE}", "${BASE}"]


def test_whatever_is_copied_is_there() -> None:
    copied = [rest.split() for word, rest in steps() if word == "COPY" and not rest.startswith("--from")]
    assert [each for *origins, _ in copied for each in origins if not (ROOT / each).exists()] == []
    taken = [rest.split()[1] for word, rest in steps() if word == "COPY" and rest.startswith("--from=build")]
    assert taken == ["/opt/trimtab/.venv", "/opt/trimtab/programs"]


def test_the_user_the_home_and_the_verb_are_those_that_are_installed() -> None:
    said = dict(steps())
    pod = deployment(Install())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    home = next(each["value"] for each in container["env"] if each["name"] == "HOME")
    assert said["USER"] == f"{USER}:{USER}" == f"{pod['securityContext']['runAsUser']}:{USER}"
    assert any(word == "RUN" and f"--uid {USER} " in rest and home in rest for word, rest in steps())
    assert (said["ENTRYPOINT"], said["CMD"]) == ('["tini", "--", "trimtab"]', '["run"]')
    assert container["args"] == ["run"]


def test_the_settings_of_the_image_are_settings() -> None:
    variables = {field.variable for field in fields_of(Settings)}
    said = re.findall(r"TRIMTAB_\w+", dict(steps())["ENV"])
    assert set(said) <= variables
    assert said
