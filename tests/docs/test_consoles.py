"""Every command that a page has people type does what it says, on an embedded cluster of the page's own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.embedded import Embedded
from tests.docs.blocks import PAGES, ROOT, name_of
from tests.docs.consoles import Given, Typed, answers, session, sign_of
from tests.docs.internet import Internet

TOLD = [page for page in PAGES if any(isinstance(each, Typed) for each in session(page.read_text()))]

BEGINS_ALONE = "trimtab cluster up"


PAGE = """Put this into `a.yaml`:
<!-- file: a.yaml -->
```yaml
a: 1
```
```console
$ trimtab plan a   # exits with 2
nothing
$ true
$ trimtab why a   # in a moment; exits with 1
all
$ trimtab run  # for ever; until Ctrl-C
…
… INFO …here
…
```
<!-- no-run -->
```console
$ rm -rf /
```
"""


@pytest.fixture
def own() -> Iterator[Embedded]:
    with Embedded(controllers=True) as server:
        yield server


@pytest.fixture
def environment(
    own: Embedded, hosts: Internet, tmp_path: Path, kubectl: Path, helm: Path, kustomize: Path
) -> Iterator[dict[str, str]]:
    """Of somebody with a home of their own; what their page left running is ended."""
    folders = [str(each.parent) for each in (Path(sys.executable), kubectl, helm, kustomize)]
    path = os.pathsep.join([*dict.fromkeys(folders), "/usr/local/bin", "/usr/bin", "/bin"])
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))  # noqa: TID251 - an edge
    found = {
        "HOME": str(tmp_path / "page"),
        "PATH": path,
        "XDG_CACHE_HOME": cache,
        "KUBECONFIG": str(own.kubeconfig),
        "USER": "ann",
        "TRIMTAB_RUNNER__LISTEN": "127.0.0.1:0",  # other pages have runners, too
        "GIT_CONFIG_GLOBAL": "/dev/null",
        **hosts.environment,
        **{
            f"GIT_{who}_{what}": "ann@shop.example"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    yield found
    for state in (tmp_path / "page").rglob("state.json"):
        down = {**found, "XDG_STATE_HOME": str(state.parents[2])}
        subprocess.run(["trimtab", "cluster", "down"], env=down, check=False, capture_output=True)


def ran(
    steps: list[Given | Typed], folder: Path, environment: dict[str, str]
) -> list[tuple[Typed, int, str]]:
    """Every command in one shell, with its exit code and what it said."""
    script = ["exec 2>&1"]
    for number, step in enumerate(steps):
        if isinstance(step, Given):
            kept = folder / f".given-{number}"
            kept.write_text(step.text)
            script.append(f"mkdir -p \"$(dirname '{step.path}')\"; cp '{kept}' '{step.path}'")
        else:
            script += [_spelled(step), r"printf '\0%s\0' $?"]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=290,
        check=False,
    )
    said = done.stdout.split("\0")
    typed = [step for step in steps if isinstance(step, Typed)]
    return [(step, int(code), text) for step, text, code in zip(typed, said[::2], said[1::2], strict=False)]


def _spelled(step: Typed) -> str:
    """A command as the shell is told it."""
    if step.is_soon:
        return _repeated(step)
    return _ended(step) if step.is_ended else step.command


def _repeated(step: Typed) -> str:
    """A command that is typed until the last line of its answer is said, or too often; it ends as that."""
    tries = f'said=$({step.command}); code=$?; [[ "$said" == *{shlex.quote(sign_of(step))}* ]] && break'
    return f"for _ in {{1..60}}; do {tries}; done; printf '%s\\n' \"$said\"; (exit $code)"


def _ended(step: Typed) -> str:
    """A command that is ended once it has said the last line of its answer, or in a minute."""
    told = f'printf "%s\\n" "$line"; [[ "$line" == *{shlex.quote(sign_of(step))}* ]] && kill $pid'
    reads = f"while IFS= read -r -u $from line; do {told}; done"
    return (
        f"exec {{from}}< <(exec timeout 60 {step.command} 2>&1); pid=$!; {reads}; exec {{from}}<&-; wait $pid"
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", TOLD, ids=name_of)
def test_the_commands_of_a_page_do_what_it_says(
    page: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "page"
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copytree(ROOT / "deploy", folder / "trimtab" / "deploy")  # a checkout, as far as pages use it
    steps = session(page.read_text())
    if BEGINS_ALONE in [step.command for step in steps if isinstance(step, Typed)][:1]:
        del environment["KUBECONFIG"]  # whoever begins with a cluster of his own has no other
    told = ran(steps, folder, environment)
    for step, code, said in told:
        where = f"{name_of(page)}:{step.line}: {step.command}"
        assert code == step.code, f"{where}\n{said}"
        assert answers(step.answer, said), (
            f"{where}\nThe page says:\n{chr(10).join(step.answer)}\nIt said:\n{said}"
        )
    assert len(told) == sum(isinstance(step, Typed) for step in steps)


def test_a_page_is_read_as_files_and_commands() -> None:
    assert session(PAGE) == [
        Given("a.yaml", "a: 1\n"),
        Typed("trimtab plan a", 2, ("nothing",), 7),
        Typed("true", 0, (), 9),
        Typed("trimtab why a", 1, ("all",), 10, is_soon=True),
        runs := Typed("trimtab run", 0, ("…", "… INFO …here", "…"), 12, is_ended=True),
    ]
    assert sign_of(runs) == "INFO"


@pytest.mark.parametrize(
    ("wanted", "said", "expected"),
    [
        ((), "anything", True),
        (("plan 0123456789ab of shop",), "plan ba9876543210 of shop\n", True),
        (("a  b",), "a b\n", True),
        (("a", "…", "z"), "a\nb\nc\nz\n", True),
        (("up at …",), "up at https://127.0.0.1:1\n", True),
        (("a",), "a\nb\n", False),
        (("done in 3 s",), "done in 17.5 s\n", True),
        (("3 applied",), "4 applied\n", False),
    ],
)
def test_an_answer_is_compared_in_what_does_not_differ_from_run_to_run(
    wanted: tuple[str, ...],
    said: str,
    expected: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert answers(wanted, said) is expected
