"""Reads the settings file once, at the edge, and merges it with the environment and the flags.

The file is TOML: Python reads it without a further package and in a fraction of the time of YAML, a value has
the type it looks like, and two levels (group and name) are where it is at its best.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from trimtab.errors import InvalidSpec
from trimtab.files import read_file
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.settings import Settings
from trimtab.settings.merge import Effective, built, effective
from trimtab.settings.places import placed

_LARGEST: Final = 256 << 10


def settings_of(invocation: Invocation) -> Settings:
    """The settings that hold for this call."""
    return built(Settings, effective_settings(invocation))


def effective_settings(invocation: Invocation) -> tuple[Effective, ...]:
    """Every setting that holds for this call, with its origin."""
    environment, named = invocation.environment, invocation.config or _named(invocation.environment)
    path = named or default_path(environment)
    file = {} if named is None and not path.exists() else entries_of(path)
    return effective(Settings, file, environment, invocation.overrides, path=str(path))


def _named(environment: Mapping[str, str]) -> Path | None:
    return Path(environment["TRIMTAB_CONFIG"]) if environment.get("TRIMTAB_CONFIG") else None


def default_path(environment: Mapping[str, str]) -> Path:
    """Where the file is looked for when nobody names one; it may be absent."""
    return Path(placed("~/.config/trimtab/config.toml", environment)[0]).expanduser()


def entries_of(path: Path) -> Mapping[str, object]:
    """What stands in the file."""
    subject = f"settings file {path}"
    absent = "Create it, or name another with --config"
    content = read_file(path, subject=subject, limit=_LARGEST, absent=absent)
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as exc:
        raise InvalidSpec(subject, "it is not UTF-8 text", "Write it as TOML") from exc
    except (ValueError, RecursionError) as exc:  # a number of thousands of digits is a plain ValueError
        raise InvalidSpec(subject, f"it is not TOML: {exc}", "docs/settings.md shows an example") from exc
