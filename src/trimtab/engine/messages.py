"""Words about failures, fit for a status: short, on one line, without dumps. Pure."""

from __future__ import annotations

import re

from trimtab.errors import TrimtabError

_LONGEST = 1000
#: what writers put before the server's own words: the file they read, the patch they sent
_FILE = re.compile(r'error when (?:creating|patching|applying|replacing|retrieving)[^"]{0,80}"[^"]*":\s*')
_PATCH = re.compile(r"(?:applying )?patch:?\s*\{.*?\}\s*(?:to:|$)", re.DOTALL)
_FROM = re.compile(r'to:\s*Resource: "[^"]*",.*?for: "[^"]*":\s*', re.DOTALL)
_DUMP = re.compile(r"(?:map\[[^\[\]]*\]|&?[\w.]+\{[^{}]*\}|\{\"[^{}]*\})")


def told(error: TrimtabError) -> str:
    """What a failure means, in the words that concern the object it befell."""
    words = clean(error.reason)
    return f"{words.rstrip('.')}. {error.remedy}" if error.remedy else words


def clean(text: str) -> str:
    """A text without file names, patches and dumps of maps, on one line and not too long."""
    for noise in (_FILE, _PATCH, _FROM):
        text = noise.sub("", text)
    while (shorter := _DUMP.sub("…", text)) != text:
        text = shorter
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
