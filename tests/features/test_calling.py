"""Calls of the command that do not go as they should: whoever calls learns it, and soon."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.features.calling import Call, Caller
from tests.features.matrix import Cell
from tests.features.test_matrix import complaints

NOWHERE = {
    "current-context": "a",
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "a", "user": {"token": "t"}}],
}


def test_a_call_that_never_says_what_is_waited_for_is_killed_and_told_of(
    caller: Caller, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(json.dumps(NOWHERE))
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TRIMTAB_RUNNER__LISTEN": "127.0.0.1:0"}
    call = Call(
        arguments=("run", "--kubeconfig", str(config)),
        environment=environment,
        folder=str(tmp_path),
        until="what no runner says",
        patience=3,
    )
    heard = caller.call(call)
    assert heard.code == -signal.SIGKILL
    assert "cannot be reached" in heard.err
    assert heard.err.endswith("Killed: it did not say 'what no runner says' within 3 s.\n")
    assert complaints(Cell(0, "cannot be reached", until=call.until), heard) == ["exit code -9, not 0"]
