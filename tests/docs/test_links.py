"""Every link of the pages leads somewhere, and every page can be reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), ROOT / "bench" / "RESULTS.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """The headings of a page as addresses: small letters, words and hyphens."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Where a page leads within the repository: a file, and a heading of it or nothing."""
    for path, anchor in LINK.findall(prose(page)):
        yield ((page.parent / path).resolve() if path else page), anchor


def leads_nowhere(target: Path, anchor: str) -> bool:
    return not target.exists() or bool(anchor and anchor not in anchors(target))


def test_every_link_leads_to_a_file_and_to_a_heading_of_it() -> None:
    dead = [
        f"{page.relative_to(ROOT)}: {target.name}#{anchor}"
        for page in PAGES
        for target, anchor in links(page)
        if leads_nowhere(target, anchor)
    ]
    assert dead == []


def test_every_page_can_be_reached_from_the_first() -> None:
    seen, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen and page.suffix == ".md" and page.exists():
            seen.add(page)
            waiting += [target for target, _ in links(page)]
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in seen] == []


def test_a_link_to_a_heading_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n[here](#a-page) [gone](#elsewhere) [lost](lost.md)\n\n```text\n[no](link)\n```\n"
    )
    assert [anchor or target.name for target, anchor in links(page) if leads_nowhere(target, anchor)] == [
        "elsewhere",
        "lost.md",
    ]
