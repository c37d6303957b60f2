"""Which files of a chart helm leaves out when it packs one, by its .helmignore. Pure.

A rule without a slash is about names, one with a slash about whole paths, one that ends in a slash about
folders; `!` turns a rule round, as helm does it: whatever such a rule does not match is left out. `*` and `?`
stop at slashes, `**` is none of helm's signs. Rules are run by RE2, so none takes more than linear time.
"""

from __future__ import annotations

import re
from typing import Final

import re2
from msgspec import Struct

from trimtab.errors import RenderFailed
from trimtab.sources.rendering.globs import LONGEST, Glob
from trimtab.sources.rendering.paths import shown

FILE: Final = ".helmignore"
#: what helm leaves out in any case
_ALWAYS: Final = "templates/.?*"
#: one sign of a pattern: a set, an escaped sign, or any other
_SIGN: Final = re.compile(r"\[(\^?)((?:\\.|[^\]\\])+)\]|\\(.)|(.)", re.DOTALL)
_MOST_RULES: Final = 1000


class Rule(Struct, frozen=True, kw_only=True):
    """One line."""

    glob: Glob
    #: whether it is about the whole path, not the name alone
    whole: bool
    folders_only: bool
    turned: bool

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder is left out because of this rule."""
        if self.folders_only and not is_folder:
            return self.turned
        is_meant = self.glob.fullmatch(path if self.whole else path.rpartition("/")[2]) is not None
        return is_meant != self.turned


class Ignored(Struct, frozen=True):
    """All rules of a chart."""

    rules: tuple[Rule, ...]

    def __call__(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder is left out, by its path below the chart."""
        return any(rule.leaves_out(path, is_folder=is_folder) for rule in self.rules)


def ignored_in(text: bytes, subject: str, path: str) -> Ignored:
    """What a .helmignore says; one that helm would not read is an error."""
    lines = [line.strip() for line in text.decode("utf-8-sig", "replace").splitlines()]
    rules = [line for line in lines if line and not line.startswith("#")]
    if len(rules) > _MOST_RULES:
        raise RenderFailed(subject, f"{shown(path)} holds more than {_MOST_RULES} rules", "Shorten it")
    return Ignored(tuple(_rule(line, subject, path) for line in (*rules, _ALWAYS)))


def _rule(line: str, subject: str, path: str) -> Rule:
    pattern = line.removeprefix("!")
    folders_only, pattern = pattern.endswith("/"), pattern.removesuffix("/")
    glob = None if "**" in line or len(line) > LONGEST else _compiled(pattern.removeprefix("/"))
    if glob is None:
        raise RenderFailed(subject, f"{shown(path)} holds {shown(line)}, which helm cannot read", "Mend it")
    return Rule(glob=glob, whole="/" in pattern, folders_only=folders_only, turned=line.startswith("!"))


def _compiled(pattern: str) -> Glob | None:
    """The pattern, ready to match; None if it is none."""
    out, place = "", 0
    while place < len(pattern):
        sign = _SIGN.match(pattern, place)
        if sign is None or sign[0] in {"[", "\\"}:
            return None
        place = sign.end()
        if sign[2]:
            out += f"[{sign[1]}{_escaped_set(sign[2])}]"
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(sign[4] or "") or re.escape(sign[3] or sign[4])
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    try:
        glob: Glob = re2.compile(out, options)
    except re2.error:
        return None
    return glob


def _escaped_set(inside: str) -> str:
    return re.sub(r"\\(.)|([\[\]^&~|])", lambda found: f"\\{found[1] or found[2]}", inside, flags=re.DOTALL)
