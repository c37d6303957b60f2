"""A question is put to whoever types, wherever the answer of the command goes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

ASKING = """
import asyncio, click
from trimtab.interfaces.cli.asking import agreed
try:
    asyncio.run(agreed("Do this?"))
except click.Abort:
    raise SystemExit(9)
except KeyboardInterrupt:
    raise SystemExit(8)
print("done")
"""


@pytest.mark.parametrize(
    ("typed", "code", "answer", "told"),
    [
        ("y\n", 0, "done\n", "Do this? [y/N]: "),
        ("YES\n", 0, "done\n", "Do this? [y/N]: "),
        ("\n", 9, "", "Do this? [y/N]: Not done.\n"),
        ("n\n", 9, "", "Do this? [y/N]: Not done.\n"),
    ],
)
def test_only_a_yes_is_one_and_stdout_is_left_to_the_answer(
    typed: str, code: int, answer: str, told: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKING], input=typed, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, answer, told)


def test_whoever_answers_with_ctrl_c_hears_that_nothing_was_done() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ASKING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        asked = process.stderr.read(len("Do this? [y/N]: "))
        process.send_signal(signal.SIGINT)
        answer, told = process.communicate(timeout=60)
    assert (process.returncode, asked, answer, told) == (8, b"Do this? [y/N]: ", b"", b"\nNot done.\n")
