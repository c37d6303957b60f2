"""The demo is true: every step does the real thing, and a fact that does not hold stops it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

import pytest

from testbed.terminals import Terminal
from trimtab.interfaces.demo.stage import DemoBroke, Stage
from trimtab.interfaces.demo.story import CHAPTERS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)
LAST = "your own manifests, on any cluster"


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
    assert "\x1b[32m✔" in terminal.written  # drawn in place, and in colour
    assert list(tmp_path.glob("trimtab-demo-*")) == []  # nothing stays behind


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


def test_a_fact_that_does_not_hold_stops_the_demo(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {})
    with pytest.raises(DemoBroke, match="the shop is well: it should be Healthy, and is Degraded"):
        stage.holds("the shop is well", "Degraded", "Healthy")
    with pytest.raises(DemoBroke, match="ended with exit code 0, not 4"):
        stage.show("version", code=4)
