"""The five characters that end made-up names."""

from __future__ import annotations

import secrets
from string import ascii_lowercase

#: no vowels and no digits that look like letters, so that no words come of it
CHARACTERS = "".join(char for char in ascii_lowercase if char not in "aeiouy") + "2456789"
LENGTH = 5


def suffix() -> str:
    """Five characters, drawn by lot."""
    return "".join(secrets.choice(CHARACTERS) for _ in range(LENGTH))
