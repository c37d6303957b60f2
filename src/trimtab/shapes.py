"""What values from outside look like, worked out when a module is imported and never later.

msgspec works a type out when it is first asked to read by it. Until that is done the type lies half-made
where every thread finds it, and a thread that reads by it at that moment takes the whole process down. So
nothing of ours names a type in the call that reads: a module makes its decoders and its `Shape`s at its own
level, and what runs in a thread, where nothing of ours is imported, meets types that are complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

_T = TypeVar("_T")


class Shape(Generic[_T]):
    """A type that plain values are turned into, as a decoder turns bytes."""

    def __init__(self, wanted: type[_T], *, dec_hook: Callable[[type, Any], Any] | None = None) -> None:
        """`dec_hook` makes what msgspec does not know, of the type that is wanted and the plain value."""
        self.from_json = msgspec.json.Decoder(wanted, dec_hook=dec_hook).decode  # the type is worked out here
        self._wanted = wanted
        self._dec_hook = dec_hook

    def of(self, value: object) -> _T:
        """The value in this shape; `msgspec.ValidationError` says what does not fit."""
        return msgspec.convert(value, self._wanted, dec_hook=self._dec_hook)
