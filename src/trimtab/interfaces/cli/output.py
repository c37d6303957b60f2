"""The ways a verb can answer: text for people, JSON and YAML for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def output_option(command: F) -> F:
    """Give a verb `-o text|json|yaml`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json", "yaml"]),
        default="text",
        show_default=True,
        help="How to print the answer.",
    )(command)


def encoded(value: object, output: str) -> str:
    """The value for programs."""
    if output == "yaml":
        from trimtab.resources.yaml import dump

        return dump(value).rstrip("\n")
    import json

    return json.dumps(value, indent=2, ensure_ascii=False)
