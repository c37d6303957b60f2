"""The demo is true: every step does the real thing, and a fact that does not hold stops it."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from scripts.make_pictures import AFTER, PICTURES, after, lasting, words_in
from testbed.terminals import Terminal
from trimtab.interfaces.demo.stage import DemoBroke, Stage
from trimtab.interfaces.demo.story import CHAPTERS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)
LAST = "your own manifests, on any cluster"
#: what a machine without any words for other letters sets
PLAIN_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def newcomer(tmp_path: Path, helm: Path, kustomize: Path) -> dict[str, str]:
    """The environment of somebody with a fresh home; caches are shared, so nothing is fetched anew."""
    folders = [str(each.parent) for each in (helm, kustomize)]
    home = Path.home()
    return {
        "HOME": str(tmp_path),
        "PATH": os.pathsep.join(
            [*folders, str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]
        ),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(home / ".cache")),  # noqa: TID251 - an edge
        "TMPDIR": str(tmp_path),
    }


def left_of(place: Path) -> list[int]:
    """The processes that were started by whoever has this place for temporary files."""
    found = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has just ended, or is not ours
            found += [int(each.parent.name)] if f"TMPDIR={place}\0".encode() in each.read_bytes() else []
    return found


def kill_half_way(newcomer: dict[str, str], place: Path) -> None:
    """Have a demo killed in the middle of a sync; what it started ends as well."""
    command = [sys.executable, "-m", "trimtab", "demo"]
    with subprocess.Popen(command, env=newcomer, cwd=place, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        assert any("trimtab sync" in line for line in demo.stdout)
        demo.kill()
    for each in left_of(place):
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(each)
            ended, _, _ = select.select([handle], [], [], 60)
            os.close(handle)
            assert ended, Path(f"/proc/{each}/cmdline").read_text()


def pictured(name: str) -> list[str]:
    """What a picture shows, without what is another in every run."""
    lines = words_in((PICTURES / f"{name}.svg").read_text(encoding="utf-8"))
    return [lasting(line).rstrip() for line in lines]


def seen_after(terminal: Terminal, asked: str) -> list[str]:
    """What the last command that begins so showed, up to the next chapter."""
    rows = after(terminal.screen.rows, asked)
    return ["".join(cell.char for cell in row).rstrip() for row in rows]


def waves(shown: Sequence[str]) -> list[str]:
    """The waves of a sync, and how much each has to do; how far they are is another at every moment."""
    found = [re.match(r"\S (\w+ wave \d) +\d+ of (\d+)", line) for line in shown]
    return [f"{each[1]}: {each[2]}" for each in found if each]


def test_make_demo_tells_the_whole_story_on_a_terminal_also_after_one_that_was_killed(
    newcomer: dict[str, str], tmp_path: Path
) -> None:
    kill_half_way(newcomer, tmp_path)
    assert (left_of(tmp_path), len(list(tmp_path.glob("trimtab-demo-*")))) == ([], 1)
    command = ["make", "--no-print-directory", "demo"]
    with Terminal(command, environment=newcomer, folder=ROOT, columns=120) as terminal:
        code = terminal.end()
    shown = terminal.screen.text()
    assert code == 0, "\n".join(shown)
    told = [line for line in shown if line[:1].isdigit() and ". " in line[:4]]
    assert len(told) == len(CHAPTERS)
    assert LAST in "\n".join(shown[-3:])
    assert not any("set-up took" in line for line in shown), "nothing had to be set up"
    (took,) = re.findall(r"That was all of it, in (\d+) s\. ", "\n".join(shown))
    assert int(took) > 0
    assert "\x1b[32m✔" in terminal.written  # drawn in place, and in colour
    for name, asked in AFTER.items():
        seen = [lasting(line) for line in seen_after(terminal, asked)]
        assert seen == pictured(name), f"docs/pictures/{name}.svg is stale: make pictures"
    in_waves = waves(seen_after(terminal, "trimtab sync file:"))
    assert in_waves == waves(pictured("waves")) != [], "docs/pictures/waves.svg is stale: make pictures"
    assert list(tmp_path.glob("trimtab-demo-*")) == []  # nothing stays behind


@pytest.mark.parametrize(("columns", "words"), [(40, PLAIN_ASCII), (80, {})], ids=["40-ascii", "80"])
def test_a_narrow_terminal_shows_less_and_the_facts_are_the_same(
    newcomer: dict[str, str], tmp_path: Path, columns: int, words: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "trimtab", "demo"]
    environment = {**newcomer, **words}
    with Terminal(command, environment=environment, folder=tmp_path, columns=columns) as terminal:
        code = terminal.end()
    shown = terminal.screen.text()
    assert code == 0, "\n".join(shown)
    assert LAST in "\n".join(shown[-3:])
    assert terminal.written.isascii() == (words == PLAIN_ASCII)


def test_the_demo_runs_from_an_installed_wheel_and_can_be_kept(
    newcomer: dict[str, str], tmp_path: Path
) -> None:
    trimtab = installed(tmp_path)
    ran = subprocess.run(
        [trimtab, "demo", "--keep"], env=newcomer, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "\x1b" not in ran.stdout + ran.stderr
    exports = dict(
        line.split()[1].split("=", 1) for line in ran.stdout.splitlines() if line.startswith("  export ")
    )
    status = [trimtab, "cluster", "status"], [trimtab, "cluster", "down"]
    for command in status:
        subprocess.run(command, env={**newcomer, **exports}, check=True, capture_output=True)


def installed(folder: Path) -> str:
    """The command of a fresh environment that has the built wheel; its dependencies are those of this one."""
    uv, wheels, venv = str(Path(sys.executable).parent / "uv"), folder / "wheels", folder / "venv"
    alone = ("--offline", "--no-cache")  # a second run leaves nothing new behind
    build = [uv, "build", "--wheel", *alone, "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*build, "--out-dir", str(wheels), str(ROOT)], check=True, capture_output=True)
    subprocess.run(
        [uv, "venv", *alone, "--python", sys.executable, str(venv)], check=True, capture_output=True
    )
    (wheel,) = wheels.glob("*.whl")
    install = [uv, "pip", "install", *alone, "--no-deps", "--python", str(venv / "bin" / "python")]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    (packages,) = (venv / "lib").glob("python3*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return str(venv / "bin" / "trimtab")


#: what somebody might have made of the sample, and the fact that does not hold then
BROKEN = {
    "a wave less": (
        "services/web/web.yaml",
        ('sync-wave: "2"', 'sync-wave: "1"'),
        (
            "the migration came first, and every wave when the one before was well: it should be "
            "PreSync 0 begun, PreSync 0 well, Sync 0 begun, Sync 0 well, Sync 1 begun, Sync 1 well, "
            "Sync 2 begun, Sync 2 well, and is "
            "PreSync 0 begun, PreSync 0 well, Sync 0 begun, Sync 0 well, Sync 1 begun, Sync 1 well."
        ),
    ),
    "a pod more": (
        "services/cart/cart.yaml",
        ("replicas: 2", "replicas: 3"),
        (
            "every object is well, down to the 6 pods: it should be "
            "18 objects, 6 pods, not well: none, and is 18 objects, 7 pods, not well: none."
        ),
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_demo_stops_at_the_fact_that_does_not_hold(
    newcomer: dict[str, str], tmp_path: Path, what: str
) -> None:
    file, (before, after), sentence = BROKEN[what]
    package = tmp_path / "copy" / "trimtab"
    shutil.copytree(ROOT / "src" / "trimtab", package, ignore=shutil.ignore_patterns("__pycache__"))
    sample = package / "interfaces" / "demo" / "shop" / file
    text = sample.read_text()
    assert before in text
    sample.write_text(text.replace(before, after))
    command = [sys.executable, "-m", "trimtab", "demo"]
    environment = {**newcomer, "PYTHONPATH": str(package.parent)}
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = f"Error: the demo: {sentence} Run it again with --keep and look around."
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (4, said), ran.stdout
    assert "3. A commit" not in ran.stdout
    assert (left_of(tmp_path), list(tmp_path.glob("trimtab-demo-*"))) == ([], [])


def test_a_verb_that_ends_otherwise_stops_the_demo(tmp_path: Path) -> None:
    with pytest.raises(DemoBroke, match="ended with exit code 0, not 4"):
        Stage(tmp_path, {}).show("version", code=4)
