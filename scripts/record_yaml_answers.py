"""Records what Kubernetes answers to the YAML corpus, for machines without Go.

    cd testbed/go/yamloracle && go build -o /tmp/yamloracle . && cd -
    python -m scripts.record_yaml_answers /tmp/yamloracle

A test asks the program again and fails when the record has grown old.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

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
    (program,) = sys.argv[1:]
    text = json.dumps(recorded(Path(program)), indent=1)
    (FOLDER / "answers.json").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
