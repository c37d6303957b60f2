"""Record what Kubernetes answers to the YAML corpus: `python -m scripts.record_yaml_answers` (needs Go once).

A test asks `testbed/go/yamloracle` again and fails when the record has grown old.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testbed.builds import Builder
from testbed.yamloracle import ask, read, write

FOLDER = Path(__file__).parents[1] / "tests" / "resources" / "yaml" / "corpus"


def recorded(program: Path) -> dict[str, Any]:
    """Every answer, under the same names as the questions."""
    corpus = json.loads((FOLDER / "questions.json").read_text())
    scalars, documents, values = corpus["scalars"], corpus["documents"], corpus["values"]
    return {
        "scalars": dict(zip(scalars, ask(program, [read(f"v: {one}\n") for one in scalars]), strict=True)),
        "documents": dict(zip(documents, ask(program, map(read, documents.values())), strict=True)),
        "values": dict(zip(values, ask(program, map(write, values.values())), strict=True)),
    }


def main() -> None:
    """Write the answers beside the questions."""
    text = json.dumps(recorded(Builder().tool("yamloracle")), indent=1)
    (FOLDER / "answers.json").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
