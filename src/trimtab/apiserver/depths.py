"""Refusals of what is nested too deep. Pure."""

from __future__ import annotations

from trimtab.kube.refusals import Refused, bad_request
from trimtab.kube.trees import indentation, is_beyond

HEAVIEST = 500_000_000  # a value nested 10,000 levels weighs 200,000,000, and takes a second or two
TOO_LATE = "Timeout: request did not complete within requested timeout - context deadline exceeded"
BEYOND = "invalid character '{' exceeded max depth"


def check_readable(encoded: bytes) -> None:
    """Refuse to keep what nobody could read again.

    Those who own its fields are noted in an object itself, a little deeper than the fields are.
    """
    if is_beyond(encoded):
        raise Refused(500, "", BEYOND)


def check_weight(content: bytes, kept: bytes) -> None:
    """Refuse what is deep in so many places that its paths alone would take longer than anybody waits.

    `kept` is the object that is to be changed: of what it holds, its owners hold as much again.
    """
    if indentation(content) > HEAVIEST or indentation(kept) > 3 * HEAVIEST:
        raise too_heavy()


def too_heavy() -> Refused:
    """The refusal of what would take too long: a real server tries, and gives up after half a minute."""
    return Refused(504, "Timeout", TOO_LATE, details={})


def too_deep() -> Refused:
    """The refusal of a body with more levels than can be walked here."""
    return bad_request("exceeded max depth")
