"""Credential plugins for tests: small shell scripts."""

from __future__ import annotations

from pathlib import Path


def plugin_script(path: Path, *lines: str) -> Path:
    """A shell script at this path, ready to be run."""
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)
    return path
