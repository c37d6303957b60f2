"""A command line that cannot be meant gets one sentence, and what would be meant instead."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from trimtab.interfaces.cli.entry import run
from trimtab.interfaces.cli.hints import OURS
from trimtab.interfaces.cli.verbs import VERBS

NO_COMMAND, NO_OPTION = "No such command", "No such option"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("syc", f"{NO_COMMAND} 'syc'. Did you mean 'sync'?"),
        ("frobnicate", f"{NO_COMMAND} 'frobnicate'. See: trimtab --help"),
        ("get pods", f"{NO_COMMAND} 'get'. Did you mean 'status'?"),
        ("up", f"{NO_COMMAND} 'up'. Did you mean 'cluster up'?"),
        ("cluster stop", f"{NO_COMMAND} 'stop'. Did you mean 'down'?"),
        ("exec web", f"{NO_COMMAND} 'exec'. That is kubectl's: kubectl exec."),
        ("app list", f"{NO_COMMAND} 'app'. The verb comes first: trimtab status, trimtab sync APP."),
        ("-n shop status", "-n stands after the verb, such as: trimtab status -n …"),
        ("sync . --setting a.b=1", "--setting stands before the verb: trimtab --setting … sync"),
        ("--set a.b=1 status", f"{NO_OPTION} '--set'. Did you mean '--setting'?"),
        ("status --namspace shop", f"{NO_OPTION} '--namspace'. Did you mean '--namespace'?"),
        ("status -A", f"{NO_OPTION} '-A'. Apps of all namespaces are shown; -n shows those of one."),
        ("pause shop -o json", f"{NO_OPTION} '-o'. `trimtab plan` and `trimtab status` print in every form."),
        ("run -n shop", f"{NO_OPTION} '-n'. A runner keeps apps of all namespaces; --namespaces A,B has it "),
        ("status --all", f"{NO_OPTION} '--all'. Apps of all namespaces are shown; -n shows those of one."),
        ("tree", "Missing argument 'APP'. See: trimtab tree --help"),
        ("completion", "Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish. See: "),
        ("status a b", "Got unexpected extra argument (b). See: trimtab status --help"),
    ],
)
def test_words_that_cannot_be_meant_get_one_sentence(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shlex.split(words), {}) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.startswith(f"Error: {said}"), told.err.count("\n")) == ("", True, 1)


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        ("", "trimtab [OPTIONS] COMMAND"),
        ("help", "trimtab [OPTIONS] COMMAND"),
        ("help sync", "trimtab sync "),
        ("sync help", "trimtab sync "),
        ("sync -h", "trimtab sync "),
        ("cluster", "trimtab cluster [OPTIONS] COMMAND"),
        ("help cluster up", "trimtab cluster up "),
        ("cluster up help", "trimtab cluster up "),
    ],
)
def test_whoever_asks_for_help_in_any_way_gets_it(
    words: str, usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shlex.split(words), {}) == 0
    told = capsys.readouterr()
    assert (told.out.startswith(f"Usage: {usage}"), told.err) == (True, "")


def test_what_is_called_help_can_still_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["render", "--", "help"], {}) == 2
    assert "source help: there is no such folder" in capsys.readouterr().err
    (tmp_path / "help").mkdir()
    assert run(["render", "help"], {"XDG_CACHE_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}) == 0
    assert capsys.readouterr().out == ""


def test_every_word_of_other_tools_leads_to_a_verb_of_ours_and_hides_none() -> None:
    assert {ours.split()[0] for ours in OURS.values()} - {"up", "down"} <= set(VERBS)
    assert not set(OURS) & set(VERBS)
