"""Asks the Go program `yamloracle` how Kubernetes reads and writes YAML.

The program itself is in testbed/go/yamloracle; whoever calls brings its path.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Answer = dict[str, Any]


def read(text: str) -> dict[str, Any]:
    """The request to read a text into documents."""
    return {"read": text}


def write(value: Any) -> dict[str, Any]:
    """The request to write a JSON value as YAML."""
    return {"write": value}


def ask(program: Path, requests: Iterable[dict[str, Any]]) -> list[Answer]:
    """One answer per request: `documents`, `text`, or an `error`."""
    lines = "".join(f"{json.dumps(request)}\n" for request in requests)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.split("\n") if line]
