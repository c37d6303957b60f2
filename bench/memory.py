"""How much memory this process holds: now, and at most so far. The kernel counts."""

from __future__ import annotations

from pathlib import Path


def held_bytes() -> int:
    """The resident size now."""
    return _bytes("VmRSS")


def peak_bytes() -> int:
    """The largest resident size so far; getrusage would begin with the parent's."""
    return _bytes("VmHWM")


def _bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return int(kilobytes) << 10
