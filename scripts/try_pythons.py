"""Runs the tests on every Python that pyproject.toml claims and this machine has, or on those that are named.

Each has a clean clone of HEAD with an environment of its own: tests set up the checkout they stand in, and
here `.venv` stays as it is. What needs the real control plane is left to `make test`: a version of Python
changes nothing on the cluster's side.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.bootstrap import ELSEWHERE

ROOT = Path(__file__).resolve().parents[1]
CLASSIFIER = "Programming Language :: Python :: 3."


def claimed(pyproject: Mapping[str, dict[str, list[str]]]) -> list[str]:
    """The versions that the package says it runs on."""
    classifiers = pyproject["project"]["classifiers"]
    return [f"3.{one.removeprefix(CLASSIFIER)}" for one in classifiers if one.startswith(CLASSIFIER)]


def interpreter(version: str, environment: Mapping[str, str]) -> str | None:
    """A Python of that version: on PATH, or among those that pyenv keeps."""
    pyenv = Path(environment.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return next(filter(_starts, _candidates(version, pyenv)), None)


def _candidates(version: str, pyenv: Path) -> Iterator[str]:
    if found := shutil.which(f"python{version}"):
        yield found
    for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")):
        yield str(path)


def _starts(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def tests_pass(python: str, checkout: Path, environment: Mapping[str, str]) -> bool:
    """Clone HEAD, fill an environment for that Python there, and run the tests in it."""
    subprocess.run(["git", "clone", "--quiet", "--no-local", str(ROOT), str(checkout)], check=True)
    settings = {**environment, "UV_PYTHON_DOWNLOADS": "never"}
    for elsewhere in ELSEWHERE:
        settings.pop(elsewhere, None)
    uv = str(Path(sys.executable).with_name("uv"))
    pytest = [".venv/bin/pytest", "-n", "auto", "--dist", "worksteal", "-q", "-p", "no:cacheprovider"]
    for command in ([uv, "sync", "--locked", "--quiet", "--python", python], [*pytest, "-m", "not real"]):
        if subprocess.run(command, cwd=checkout, env=settings, check=False).returncode != 0:
            return False
    return True


def main(wanted: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run them and print one line for each."""
    results = {}
    for version in wanted or claimed(tomllib.loads((ROOT / "pyproject.toml").read_text())):
        python = interpreter(version, environment)
        print(f"\nPython {version}: {python or 'not found here'}", flush=True)
        if python is not None:
            with tempfile.TemporaryDirectory(prefix="trimtab-python-") as folder:
                Path(folder).chmod(0o755)  # tests run as other users, too
                results[version] = tests_pass(python, Path(folder, "checkout"), environment)
    print()
    for version, passed in results.items():
        print(f"{'ok  ' if passed else 'FAIL'}  Python {version}")
    return 0 if results and all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))  # noqa: TID251 - this is the edge
