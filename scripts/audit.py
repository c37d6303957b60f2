"""Asks a vulnerability service about every locked dependency; fails on a finding.

When the service cannot be reached it says so in one line and lets the rest go on, so that a check works on a
train. Findings that are known and do not concern us stand in `.audit-ignored.toml` with a reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

from scripts.check import NOT_DONE

ROOT = Path(__file__).resolve().parents[1]
IGNORED_FILE = ".audit-ignored.toml"
DEADLINE_SECONDS = 30
FOUND = 1  # uv's exit code
UNREACHABLE = ("error sending request", "Request failed", "HTTP status", "timed out")


class Verdict(NamedTuple):
    """What to tell, and the exit code that says it to a program."""

    text: str
    exit_code: int


def verdict(exit_code: int, said: str) -> Verdict:
    """What uv's answer means: clean, a finding, a service out of reach, or a broken set-up."""
    lines = said.strip().splitlines() or [""]
    if exit_code == 0:
        return Verdict(lines[-1], 0)
    if exit_code != FOUND and any(sign in said for sign in UNREACHABLE):
        cause = lines[-1].strip().removeprefix("cause: ").removeprefix("error: ")
        return Verdict(f"not audited: the vulnerability service does not answer ({cause})", NOT_DONE)
    return Verdict(said.strip(), 1)


def ignored(root: Path) -> list[str]:
    """Identifiers of the findings that are known not to concern us."""
    file = root / IGNORED_FILE
    entries = tomllib.loads(file.read_text()).get("ignored", {}) if file.exists() else {}
    without_reason = [name for name, reason in entries.items() if not reason]
    if without_reason:
        raise SystemExit(f"{IGNORED_FILE}: {', '.join(without_reason)} has no reason")
    return list(entries)


def audit(root: Path, *more: str) -> Verdict:
    """Ask about the lock file of the project at `root`."""
    command = [
        str(Path(sys.executable).with_name("uv")),
        "audit",
        "--locked",
        "--preview-features",
        "audit-command",
    ]
    options = [option for name in ignored(root) for option in ("--ignore", name)]
    limits = {"UV_HTTP_RETRIES": "1", "UV_HTTP_TIMEOUT": "10", "UV_SYSTEM_CERTS": "true"}
    environment = {**os.environ, **limits}  # noqa: TID251 - this is the edge
    try:
        done = subprocess.run(
            [*command, *options, *more],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Verdict(f"not audited: no answer in {DEADLINE_SECONDS} s", NOT_DONE)
    return verdict(done.returncode, done.stdout + done.stderr)


def main() -> int:
    """Print the verdict and count a finding as failure."""
    text, exit_code = audit(ROOT)
    print(text)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
