"""Runs the tests on every Python that pyproject.toml claims and this machine has, each in an environment.

The environments live in the user's cache, so `.venv` stays as it is. What needs the real control plane is
left to `make test`: a version of Python changes nothing on the cluster's side.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.bootstrap import cache_folder

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


def tests_pass(python: str, folder: Path, environment: Mapping[str, str]) -> bool:
    """Fill an environment for that Python and run the tests in it."""
    settings = {**environment, "UV_PROJECT_ENVIRONMENT": str(folder), "UV_PYTHON_DOWNLOADS": "never"}
    settings.pop("VIRTUAL_ENV", None)
    uv = str(Path(sys.executable).with_name("uv"))
    synced = subprocess.run(
        [uv, "sync", "--locked", "--quiet", "--python", python], cwd=ROOT, env=settings, check=False
    )
    if synced.returncode != 0:
        return False
    pytest = [str(folder / "bin" / "pytest"), "-n", "logical", "--dist", "worksteal"]
    tests = [*pytest, "-q", "-m", "not real", "-p", "no:cacheprovider"]
    return subprocess.run(tests, cwd=ROOT, env=settings, check=False).returncode == 0


def main(environment: Mapping[str, str]) -> int:
    """Run them all and print one line for each."""
    checkout = hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
    environments = cache_folder(environment) / "environments" / checkout
    results = {}
    for version in claimed(tomllib.loads((ROOT / "pyproject.toml").read_text())):
        python = interpreter(version, environment)
        print(f"\nPython {version}: {python or 'not found here'}", flush=True)
        if python is not None:
            results[version] = tests_pass(python, environments / version, environment)
    print()
    for version, passed in results.items():
        print(f"{'ok  ' if passed else 'FAIL'}  Python {version}")
    return 0 if results and all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(dict(os.environ)))  # noqa: TID251 - this is the edge
