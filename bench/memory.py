"""How much memory a process holds: now, and at most so far. The kernel counts."""

from __future__ import annotations

from pathlib import Path


def held_bytes(pid: int | str = "self") -> int:
    """The resident size now."""
    return _bytes("VmRSS", pid)


def peak_bytes() -> int:
    """The largest resident size of this process so far; getrusage would begin with the parent's."""
    return _bytes("VmHWM", "self")


def _bytes(field: str, pid: int | str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return int(kilobytes) << 10
