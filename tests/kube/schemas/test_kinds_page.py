"""The example of docs/kinds-data.md runs, and its figures are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

from trimtab.kube.schemas.kinds import DATA, built_in

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "kinds-data.md").read_text()
RECORDED = ROOT / "tests" / "kube" / "recorded"


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "docs/kinds-data.md", "exec"), {})  # noqa: S102  # the example is our own


def test_the_figures_of_the_data_are_true() -> None:
    kinds = built_in()
    fields = [field for raw in kinds.types.values() for field in raw.get("properties", {}).values()]
    resources = sum(len(group.resources) for group in kinds.groups)
    learned = sum("x-default" in field for field in fields)
    served = f"{resources} resources of {len(kinds.groups)} group versions"
    assert f"{len(kinds.types)} types, {served}, {learned} defaults" in PAGE
    for name in ("kinds.json.z", "descriptions.json.z"):
        size = round((DATA / name).stat().st_size / 1024)
        assert re.search(rf"\| `{re.escape(name)}` \|[^|]*\| {size} KiB \|", PAGE)


def test_the_figures_of_the_recordings_are_true() -> None:
    counts = {path.stem: json.loads(path.read_text()) for path in RECORDED.glob("*.json")}
    rows = (
        f"| objects as kept after creation | {len(counts['created'])} |",
        f"| quantities | {len(counts['quantities'])} |",
        f"| {len(counts['create_refusals'])} |",
        f"| refused updates | {len(counts['update_refusals']['answers'])} |",
        f"| refused objects of a custom kind | {len(counts['custom_refusals'])} |",
        f"| unknown fields | {len(counts['unknown_refusals'])} |",
    )
    assert [row for row in rows if row not in PAGE] == []
