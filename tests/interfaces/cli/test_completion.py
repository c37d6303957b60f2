"""Shells complete verbs, options and, when the cluster answers at once, the names of apps."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from trimtab.interfaces.cli.completing import files_and_folders, within
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


def test_unit_files_are_offered_with_the_folders_beside_them(units: Path) -> None:
    here = f"{units}/units/"
    assert files_and_folders(here) == [f"{here}shop.yaml", f"{here}web.yml", f"{here}old"]
    assert files_and_folders(f"{here}w") == [f"{here}web.yml"]
    assert files_and_folders(f"{units}/un") == [], "shells find folders by themselves"
    assert files_and_folders(f"{units}/nowhere/") == []


def test_bash_completes_and_is_silent_where_there_is_no_cluster(units: Path) -> None:
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(units)}
    command = ["bash", "--norc", "-c", ASK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=units)
    assert done.stderr == ""
    defined, *answers = done.stdout.splitlines()
    assert defined.endswith("-F _trimtab_completion trimtab")
    folders = "compopt -o dirnames"
    assert answers[:4] == ["history", "--context", "synced suspended", ""]
    assert answers[4:8] == [folders, "", folders, ""]
    assert answers[8:] == [folders, "units/shop.yaml units/web.yml units/old"]


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
"""
ASK_FISH = """
trimtab completion fish | source
for line in "his" "history --cont" "wait -o x --for s"
  complete -C "trimtab $line" | string split --fields 1 \\t
end
true
"""
ASKED = {
    "zsh": (
        ("zsh", "-f", "-c", ASK_ZSH),
        ["compdef _trimtab_completion trimtab", "history", "--context", "synced suspended", "path -/"],
    ),
    "fish": (("fish", "--no-config", "-c", ASK_FISH), ["history", "--context", "suspended", "synced"]),
}


@pytest.mark.parametrize("shell", ASKED)
def test_other_shells_complete_as_well(shell: str, tmp_path: Path) -> None:
    command, answers = ASKED[shell]
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} on this machine")
    path = os.environ["PATH"]  # noqa: TID251 - wherever this machine has its shells
    environment = {"PATH": f"{BIN}:{path}", "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
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
