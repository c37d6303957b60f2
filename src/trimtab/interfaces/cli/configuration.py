"""Reads the settings file once, at the edge, and merges it with the environment and the flags.

The file is TOML: Python reads it without a further package and in a fraction of the time of YAML, a value has
the type it looks like, and two levels (group and name) are where it is at its best.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from trimtab.errors import InvalidSpec, Missing, NotAllowed
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.settings import Settings
from trimtab.settings.merge import Effective, built, effective
from trimtab.settings.places import placed


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
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise Missing(subject, "it does not exist", "Create it, or name another with --config") from exc
    except PermissionError as exc:
        raise NotAllowed(subject, "it may not be read", "Give the user who runs this the right to") from exc
    except OSError as exc:
        raise InvalidSpec(subject, f"it cannot be read: {exc.strerror}", "Name a file with --config") from exc
    except UnicodeDecodeError as exc:
        raise InvalidSpec(subject, "it is not UTF-8 text", "Write it as TOML") from exc
    except (ValueError, RecursionError) as exc:  # a number of thousands of digits is a plain ValueError
        raise InvalidSpec(subject, f"it is not TOML: {exc}", "docs/settings.md shows an example") from exc
