"""Chance as an argument: where waits are spread at random, tests hand in what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from random import SystemRandom
from typing import TypeAlias

#: draws a number in [0, 1)
Chance: TypeAlias = Callable[[], float]

draw: Chance = SystemRandom().random
