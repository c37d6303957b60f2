"""However a command ends: an exit code by the class of the error, one sentence, never a traceback."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import pytest

from trimtab import errors
from trimtab.interfaces.cli.entry import run
from trimtab.interfaces.cli.stopping import Stops

TRIMTAB = str(Path(sys.executable).with_name("trimtab"))
NOWHERE = """
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {token: t}}]
"""
BUG = re.compile(r"Error: this is a bug in Trimtab, not your doing \(id ([0-9a-f]{8})\)\. (.*)\n")


def start(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the installed command to its end."""
    return subprocess.run(
        [TRIMTAB, *arguments], env=environment or {}, capture_output=True, text=True, check=False
    )


def command_that(acts: Callable[[], None]) -> click.Command:
    """A command that does one thing, with the option that every command of ours has."""
    return click.Command(
        "acts", callback=lambda **_: acts(), params=[click.Option(["--debug"], is_flag=True)]
    )


def raising(exc: BaseException) -> click.Command:
    def act() -> None:
        raise exc

    return command_that(act)


def test_the_command_and_the_module_are_the_same() -> None:
    module = subprocess.run(
        [sys.executable, "-m", "trimtab", "version"], capture_output=True, text=True, check=True
    )
    assert module.stdout == start("version").stdout
    assert module.stdout.startswith("trimtab 0.")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_reason_to_fail(closed: str, tmp_path: Path) -> None:
    """A connection that takes the place of standard output would be closed as none may be."""
    (tmp_path / "config").write_text(NOWHERE)
    environment = {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "config")}
    for words, code in ((["--setting", "cluster.attempts=1", "status"], 4), (["settings"], 0)):
        command = ["/bin/sh", "-c", f'"$@" {closed}', "sh", TRIMTAB, *words]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert done.returncode == code, done.stderr


def test_a_cluster_without_its_context_is_told_what_the_option_expects() -> None:
    done = start("run", "--cluster", "prod")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: cluster 'prod': it is not of the form NAME=CONTEXT. Write NAME=CONTEXT.\n"


@pytest.mark.parametrize(
    "words",
    [
        ("sync", ".", "--revision", ""),
        ("sync", ".", "--app="),
        ("diff", ".", "--chart", " "),
        ("plan", ".", "--base", ""),
        ("plan", ".", "--base", "main", "--head", ""),
        ("render", ".", "--revision", ""),
        ("run", "--repo", ""),
        ("install", "--repo", ""),
    ],
)
def test_a_variable_that_is_not_set_does_not_come_to_mean_something_else(words: tuple[str, ...]) -> None:
    done = start(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        r"Error: Invalid value for '--\w+': It is empty\. See: trimtab \w+ --help\n", done.stderr
    )


def test_an_error_is_one_line_whatever_somebody_wrote_into_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], {}, raising(errors.InvalidSpec("app web", "paused: until\nnoon", "Wait"))) == 2
    assert capsys.readouterr().err == "Error: app web: paused: until noon. Wait.\n"


def test_a_runner_that_could_believe_no_webhook_is_not_told_where_to_hear_them() -> None:
    done = start("run", "--webhooks", "127.0.0.1:0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--webhooks hears nobody without agreed secrets: name their files with the" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        [b"status", b"\xff"],
        [b"pause", b"shop", b"--reason", b"gr\xfc\xdfe"],
        [b"--setting", b"apps.namespace=\xff", b"status"],
        [b"sync", b".", b"--set", b"a=\xff"],
    ],
)
def test_words_that_are_no_text_are_refused_before_anything_is_done(words: list[bytes]) -> None:
    done = subprocess.run([TRIMTAB.encode(), *words], env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        r"Error: argument '.*': it is not text in the letters of this terminal\. Write .*\n", done.stderr
    )


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (errors.InvalidSpec("app web", "the path is empty", "Set spec.path"), 2),
        (errors.Missing("app web", "the path is empty", "Set spec.path"), 3),
        (errors.ClusterUnreachable("app web", "the path is empty", "Set spec.path"), 4),
        (errors.Throttled("app web", "the path is empty", "Set spec.path", after=1), 4),
    ],
)
def test_an_error_is_one_sentence_and_its_class_the_exit_code(
    error: errors.TrimtabError, exit_code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([], {}, raising(error)) == exit_code
    assert capsys.readouterr() == ("", "Error: app web: the path is empty. Set spec.path.\n")


@pytest.mark.parametrize(
    ("subject", "called"),
    [("unit web", "app web"), ("unit file web.yaml", "unit file web.yaml"), ("unit files", "unit files")],
)
def test_what_the_engine_calls_a_unit_is_an_app_here(
    subject: str, called: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run([], {}, raising(errors.Missing(subject, "nothing of unit web is there")))
    assert capsys.readouterr().err == f"Error: {called}: nothing of unit web is there.\n"


def test_what_a_server_said_does_not_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.Missing("app web", "né\x1b]0;title\x07\r\u202eno")
    assert run([], {}, raising(error)) == 3
    assert capsys.readouterr().err == "Error: app web: né\\x1b]0;title\\x07\\r\\u202eno.\n"


def test_success_and_help_exit_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], {}, command_that(lambda: None)) == 0
    assert run(["--help"], {}) == 0
    assert "Usage: trimtab" in capsys.readouterr().out


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), click.Abort()])
def test_being_interrupted_is_130_and_silent(
    interruption: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([], {}, raising(interruption)) == 130
    assert capsys.readouterr() == ("", "")


def test_a_bug_is_one_line_with_an_id_and_a_private_file_of_that_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([], {"XDG_STATE_HOME": str(tmp_path)}, raising(ZeroDivisionError("by zero"))) == 70
    told = BUG.fullmatch(capsys.readouterr().err)
    assert told is not None
    file = tmp_path / "trimtab" / "bugs" / f"{told[1]}.txt"
    assert told[2] == f"The details are in {file}."
    assert "Traceback" in file.read_text()
    assert "ZeroDivisionError: by zero" in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_a_bug_shows_its_details_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--debug"], {"XDG_STATE_HOME": str(tmp_path)}, raising(ZeroDivisionError("by zero"))) == 70
    said = capsys.readouterr().err
    assert "ZeroDivisionError: by zero" in said
    assert BUG.search(said)
    assert list(tmp_path.iterdir()) == []


def test_a_bug_that_cannot_be_recorded_still_says_how_to_see_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    assert run([], {"XDG_STATE_HOME": str(tmp_path / "file")}, raising(ZeroDivisionError())) == 70
    told = BUG.fullmatch(capsys.readouterr().err)
    assert told is not None
    assert told[2] == "Run the command again with --debug to see the details."


def test_a_wish_to_exit_is_not_an_error() -> None:
    with pytest.raises(SystemExit):
        run([], {}, raising(SystemExit(5)))


#: what runs the command with Ctrl-C ignored, as a script does with what it puts into the background
UNINTERRUPTED = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")


@pytest.mark.parametrize(
    ("by", "asked", "code"),
    [((), signal.SIGINT, 130), ((), signal.SIGTERM, 143), (UNINTERRUPTED, signal.SIGTERM, -signal.SIGTERM)],
)
def test_whoever_stops_the_real_command_ends_it_quietly(
    tmp_path: Path, by: tuple[str, ...], asked: signal.Signals, code: int
) -> None:
    fifo = tmp_path / "objects.yaml"
    os.mkfifo(fifo)
    command = [*by, TRIMTAB, "health", "-f", str(fifo)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with fifo.open("w"):  # opens when the command has come as far as reading it
            process.send_signal(asked)
        # The file has ended by now: a signal that came just before the read began is not left waiting for it.
        said = process.communicate(timeout=60)
        assert (process.returncode, said) == (code, (b"", b""))


def test_a_command_that_is_over_is_ended_by_a_signal_as_any_program_is() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), Stops().heard():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_reader_that_has_gone_is_no_reason_to_complain() -> None:
    nobody_reads, stdout = os.pipe()
    os.close(nobody_reads)
    done = subprocess.run([TRIMTAB, "settings"], stdout=stdout, stderr=subprocess.PIPE, check=False)
    os.close(stdout)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("environment", "colourful"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)]
)
def test_a_terminal_sees_colour_unless_it_is_unwanted(
    environment: Mapping[str, str],
    colourful: bool,  # noqa: FBT001 - a column of the table
) -> None:
    ours, theirs = pty.openpty()
    command = [TRIMTAB, "--config", "/no/such/file", "settings"]
    subprocess.run(command, env={"TERM": "xterm", **environment}, stdout=theirs, stderr=theirs, check=False)
    said = os.read(ours, 4096).decode()
    os.close(ours)
    os.close(theirs)
    assert "settings file /no/such/file: it does not exist." in said
    assert ("\x1b[" in said) is colourful


def test_a_pipe_sees_no_colour() -> None:
    assert "\x1b" not in start("--config", "/no/such/file", "settings").stderr


def test_completion_knows_the_verbs() -> None:
    environment = {"_TRIMTAB_COMPLETE": "bash_complete", "COMP_WORDS": "trimtab ver", "COMP_CWORD": "1"}
    assert start(environment=environment).stdout == "plain,version\n"
