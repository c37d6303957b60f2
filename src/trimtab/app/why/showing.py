"""Answers for people and for programs: as text, and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from trimtab.app.why.chain import Answer, Chain, Link
from trimtab.resources.tables import one_line


def answer_json(answer: Answer) -> dict[str, Any]:
    """The answer for programs."""
    return {
        "about": answer.about,
        "well": answer.well,
        "sentence": answer.sentence,
        "causes": [_chain_json(chain) for chain in answer.chains],
    }


def _chain_json(chain: Chain) -> dict[str, Any]:
    return {
        "cause": chain.cause,
        "sentence": chain.sentence,
        "remedy": chain.remedy,
        "more": chain.more,
        "chain": [_link_json(link) for link in chain.links],
    }


def _link_json(link: Link) -> dict[str, Any]:
    since = {"since": f"{link.since:%Y-%m-%dT%H:%M:%SZ}"} if link.since else {}
    evidence = {"evidence": link.evidence} if link.evidence else {}
    return {"object": link.object, "what": link.what, **since, **evidence}


def answer_text(answer: Answer) -> str:
    """The answer for people: the first cause in one sentence, then every chain down to its cause."""
    lines = [_plain(answer.sentence)]
    for number, chain in enumerate(answer.chains):
        if number:
            lines += ["", f"Also: {_plain(chain.sentence)}"]
        lines += ["", *_chain_lines(chain, answer.now)]
    return "\n".join(lines)


def _chain_lines(chain: Chain, now: datetime) -> Iterator[str]:
    for depth, link in enumerate(chain.links):
        indent = "  " * depth
        words = _plain(f"{link.object} {link.what}{_since(link.since, now)}")
        yield f"{indent}{'because ' if depth else ''}{words}"
        if link.evidence:
            yield f"{indent}  {_plain(link.evidence)}"
    below = "  " * len(chain.links)
    if chain.more:
        yield f"{below}and {chain.more} more like it"
    if chain.remedy:
        yield f"{below}What to do: {_plain(_closed(chain.remedy))}"


def _closed(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _since(since: datetime | None, now: datetime) -> str:
    return "" if since is None else f" (for {_lasting((now - since).total_seconds())})"


def _lasting(seconds: float) -> str:
    """A duration in its largest unit."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _plain(text: str) -> str:
    """The text in one line, without what would command a terminal: it repeats what others said."""
    return one_line(" ".join(text.split()))
