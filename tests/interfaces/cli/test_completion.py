"""Shells complete verbs, options and, when the cluster answers at once, the names of apps."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from testbed.shells import Shell
from testbed.terminals import Terminal
from trimtab.interfaces.cli.completing import apps_spelt, folders, unit_files, within
from trimtab.interfaces.cli.verbs import trimtab

BIN = Path(sys.executable).parent
#: asks the function that the script defines what bash itself would ask
ASK = """
source <(trimtab completion bash)
complete -p trimtab
compopt() { echo "compopt $1 $2"; }
ask() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
  _trimtab_completion trimtab
  echo "${COMPREPLY[*]}"
}
ask trimtab his
ask trimtab history --cont
ask trimtab wait -o x --for s
ask trimtab status ""
ask trimtab sync ""
ask trimtab sync un
ask trimtab plan units/
"""


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """A folder of folders, of which one holds unit files beside other things."""
    (tmp_path / "units" / "old").mkdir(parents=True)
    (tmp_path / "units" / "shop.yaml").write_text("# the shop\nsources:\n- repoURL: https://git.example\n")
    (tmp_path / "units" / "web.yml").write_text("source: {folder: web}\n")
    (tmp_path / "units" / "settings.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    (tmp_path / "units" / "notes.txt").write_text("source: none\n")
    return tmp_path


def test_unit_files_are_told_from_manifests_and_folders_from_files(units: Path) -> None:
    here = f"{units}/units/"
    (units / "units" / ".git").mkdir()
    assert (unit_files(here), folders(here)) == ([f"{here}shop.yaml", f"{here}web.yml"], [f"{here}old"])
    assert (unit_files(f"{here}w"), folders(f"{here}w")) == ([f"{here}web.yml"], [])
    assert (unit_files(f"{units}/un"), folders(f"{units}/un")) == ([], [f"{units}/units"])
    assert (unit_files(f"{units}/nowhere/"), folders(f"{units}/nowhere/")) == ([], [])


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", ["app/old", "app/shop", "blog"]),
        ("b", ["blog"]),
        ("s", []),
        ("a", ["app/old", "app/shop"]),
        ("app/", ["app/app/old", "app/blog", "app/old", "app/shop"]),
        ("app/s", ["app/shop"]),
    ],
)
def test_apps_are_offered_as_they_can_be_told_from_what_lies_here(typed: str, offered: list[str]) -> None:
    names = ("shop", "blog", "app/old")
    assert apps_spelt(names, typed, hidden=lambda name: name == "shop") == offered


def test_bash_completes_and_is_silent_where_there_is_no_cluster(units: Path) -> None:
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(units)}
    command = ["bash", "--norc", "-c", ASK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=units)
    assert done.stderr == ""
    defined, *answers = done.stdout.splitlines()
    assert defined.endswith("-F _trimtab_completion trimtab")
    by_itself = "compopt -o dirnames"
    assert answers[:4] == ["history", "--context", "synced suspended", ""]
    assert answers[4:8] == [by_itself, "", by_itself, ""]
    assert answers[8:] == ["units/shop.yaml units/web.yml units/old"]


#: as zsh would ask, with what is found printed
ASK_ZSH = """
compdef() { print "compdef $*" }
_describe() { local -a all; all=("${(@P)3}"); print -- "${(j: :)${all[@]%%:*}}" }
compadd() { local -a all; all=("${(@P)${@[-1]}}"); print -- "${(j: :)all}" }
_path_files() { print "path $*" }
source <(trimtab completion zsh)
ask() { words=("$@"); CURRENT=$#; _trimtab_completion }
ask trimtab his
ask trimtab history --cont
ask trimtab wait -o x --for s
ask trimtab sync ""
ask trimtab plan units/
"""
ASK_FISH = """
trimtab completion fish | source
for line in "his" "history --cont" "wait -o x --for s" "sync " "plan units/"
  complete -C "trimtab $line" | string split --fields 1 \\t
end
true
"""
ASKED = {
    "zsh": (
        ASK_ZSH,
        [
            "compdef _trimtab_completion trimtab",
            "history",
            "--context",
            "synced suspended",
            "path -/",
            "units/shop.yaml units/web.yml units/old",
        ],
    ),
    "fish": (
        ASK_FISH,
        [
            *("history", "--context", "suspended", "synced"),
            "units/",
            *("units/old", "units/shop.yaml", "units/web.yml"),
        ],
    ),
}


def test_zsh_itself_lists_the_unit_files_and_folders_of_a_folder(
    shells: Callable[[str], Shell], units: Path
) -> None:
    zsh = shells("zsh")
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(units)}
    with Terminal([str(zsh.path), "-f", "-i"], environment=environment, folder=units) as terminal:
        terminal.enter(zsh.prelude)
        terminal.enter("autoload -U compinit; compinit -D -u; source <(trimtab completion zsh)")
        terminal.enter("PS1='READY''>'")  # which the line itself does not say
        terminal.until("READY>")
        terminal.press("trimtab plan units/\t")
        terminal.until("units/old")
    listed = [line.split() for line in terminal.screen.text() if "units/old" in line]
    assert listed == [["units/shop.yaml", "units/web.yml", "units/old"]]


@pytest.mark.parametrize("name", ASKED)
def test_other_shells_complete_as_well(name: str, shells: Callable[[str], Shell], units: Path) -> None:
    script, answers = ASKED[name]
    shell = shells(name)
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(units), **shell.variables}
    command = shell.command(script)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=units)
    assert (done.stderr, [line for line in done.stdout.splitlines() if line]) == ("", answers)


@pytest.mark.parametrize(("shell", "word"), [("zsh", "compdef"), ("fish", "complete"), ("bash", "compopt")])
def test_every_shell_has_a_script(shell: str, word: str) -> None:
    done = CliRunner().invoke(trimtab, ["completion", shell], obj={})
    assert (done.exit_code, word in done.output, "_TRIMTAB_COMPLETE" in done.output) == (0, True, True)


def test_nobody_waits_for_a_cluster_that_does_not_answer() -> None:
    never = threading.Event()

    def ask() -> list[str]:
        never.wait()
        return ["late"]

    assert within(0.01, ask) == []
    never.set()


def test_what_goes_wrong_is_nobodys_business() -> None:
    def ask() -> list[str]:
        raise SystemExit(3)

    assert within(10, ask) == []
    assert within(10, lambda: ["shop"]) == ["shop"]
