"""Every verb says what it does and shows an example; a slip of the finger gets a suggestion."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner, Result

import trimtab as package
from tests.interfaces.cli.understanding import understood
from trimtab.interfaces.cli.output import FORMS
from trimtab.interfaces.cli.verbs import VERBS, trimtab

ROOT = Path(__file__).parents[3]


def invoke(*arguments: str, environment: Mapping[str, str] | None = None) -> Result:
    return CliRunner().invoke(trimtab, arguments, obj=environment or {}, catch_exceptions=False)


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every verb, groups within groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (*path, name)
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize("words", [(), *commands(trimtab)], ids=" ".join)
def test_every_verb_explains_itself_and_shows_an_example(words: tuple[str, ...]) -> None:
    done = invoke(*words, "--help")
    assert done.exit_code == 0
    assert "Example" in done.output
    assert "\n    trimtab" in done.output, "the examples keep their lines"


def examples(words: tuple[str, ...]) -> Iterator[list[str]]:
    """The calls of the command that a verb's help shows, each as its words."""
    command: click.Command = trimtab
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word) or trimtab
    lines = iter((command.help or "").partition("Examples:")[2].splitlines())
    for line in lines:
        said = re.split(r"\s{4,}", line.strip())[0]  # what follows explains it
        for part in re.split(r" && | \| | > |<\(|\)", said):
            found = shlex.split(part)
            if "trimtab" in found:
                yield found[found.index("trimtab") + 1 :]


@pytest.mark.parametrize("words", [(), *commands(trimtab)], ids=" ".join)
def test_every_example_is_one_that_the_command_understands(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "units").mkdir()
    monkeypatch.chdir(tmp_path)
    shown = list(examples(words))
    assert any(set(words) <= set(each) for each in shown), "the verb itself is shown"
    for arguments in shown:
        understood(arguments)  # raises what the user would be told


@pytest.mark.parametrize(("slip", "meant"), [("verison", "version"), ("setting", "settings")])
def test_an_unknown_verb_gets_the_near_miss(slip: str, meant: str) -> None:
    done = invoke(slip)
    assert done.exit_code == 2
    assert f"No such command '{slip}'. Did you mean '{meant}'?" in done.output


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("ls",), "status"),
        (("get",), "status"),
        (("describe",), "why"),
        (("template",), "render"),
        (("suspend",), "pause"),
        (("uninstall",), "delete"),
        (("cluster", "stop"), "down"),
    ],
)
def test_the_word_that_another_tool_has_for_it_gets_ours(words: tuple[str, ...], meant: str) -> None:
    done = invoke(*words)
    assert done.exit_code == 2
    assert f"No such command '{words[-1]}'. Did you mean '{meant}'?" in done.output


@pytest.mark.parametrize("verb", ["sync", "plan", "diff", "render", "why", "doctor", "install"])
def test_every_verb_that_takes_a_namespace_takes_it_as_kubectl_does(verb: str) -> None:
    command = trimtab.get_command(click.Context(trimtab), verb)
    assert command is not None
    [option] = [each for each in command.params if "-n" in each.opts]
    assert "--namespace" in option.opts


@pytest.mark.parametrize("verb", ["sync", "apply", "rollback", "delete", "terminate", "wait", "install"])
@pytest.mark.parametrize(("given", "seconds"), [("90", 90.0), ("1.5", 1.5), ("90s", 90.0), ("1h30m", 5400.0)])
def test_every_verb_that_waits_takes_seconds_or_a_duration(verb: str, given: str, seconds: float) -> None:
    assert _timeout_of(verb).type.convert(given, None, None) == seconds
    assert _timeout_of(verb).get_default(click.Context(trimtab)) == "5m"


@pytest.mark.parametrize("given", ["0", "0s", "0.0"])
def test_no_time_at_all_is_enough_to_look_once(given: str) -> None:
    assert _timeout_of("wait").type.convert(given, None, None) == 0.0


@pytest.mark.parametrize("given", ["0", "0s"])
@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (("sync", "shop"), "Not to wait for health, write --no-wait."),
        (("install", "--remove"), "Not to wait, write --no-wait."),
        (("apply", "shop.plan"), ""),
        (("rollback", "shop"), ""),
        (("delete", "shop"), ""),
        (("terminate", "shop"), ""),
    ],
)
def test_no_time_at_all_is_refused_where_something_has_to_be_done_in_it(
    words: tuple[str, ...], instead: str, given: str
) -> None:
    done = invoke(*words, "--timeout", given)
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert f"Invalid value for '--timeout': In {given!r} nothing can be done: write 90, 90s or 5m." in said
    assert ("--no-wait" in said, instead in said) == (bool(instead), True)


@pytest.mark.parametrize("given", ["soon", "-1", "", "nan"])
def test_a_time_to_wait_that_is_none_is_refused(given: str) -> None:
    done = invoke("wait", "shop", "--timeout", given)
    assert done.exit_code == 2
    assert f"{given!r} is no duration: write 90, 90s or 5m." in done.output


def _timeout_of(verb: str) -> click.Parameter:
    command = trimtab.get_command(click.Context(trimtab), verb)
    assert command is not None
    [option] = [each for each in command.params if each.name == "timeout"]
    return option


def test_an_unknown_verb_that_is_like_nothing_gets_no_guess() -> None:
    assert "Did you mean" not in invoke("frobnicate").output


def test_the_version_is_the_one_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert package.__version__ == project["version"]
    assert invoke("version").output.startswith(f"trimtab {package.__version__} (Python 3.")


def test_the_version_is_told_as_an_option_as_well() -> None:
    done = invoke("--version")
    assert (done.exit_code, done.output) == (0, invoke("version").output)


def test_the_version_is_told_to_programs() -> None:
    as_json = json.loads(invoke("version", "-o", "json").output)
    assert list(as_json) == ["version", "python", "platform"]
    assert as_json["version"] == package.__version__
    assert yaml.safe_load(invoke("version", "-o", "yaml").output) == as_json


@pytest.mark.parametrize("empty", ["", " "])
@pytest.mark.parametrize("verb", [
    "delete", "diff", "history", "pause", "plan", "render", "resume", "rollback", "status", "sync",
    "terminate", "tree", "wait", "why",
])  # fmt: skip
def test_a_variable_that_is_not_set_names_nothing_and_not_the_folder_at_hand(verb: str, empty: str) -> None:
    done = invoke(verb, empty)
    assert done.exit_code == 2
    assert ": It is empty." in done.output


@pytest.mark.parametrize("name", ["Shop", "a/b", "two words", "-", "a" * 64])
@pytest.mark.parametrize(
    "words",
    [("sync", "shop"), ("plan", "shop"), ("diff", "shop"), ("render", "shop"), ("why", "shop"), ("status",)],
)
def test_a_namespace_that_cannot_be_is_refused_before_anything_is_recorded(
    words: tuple[str, ...], name: str
) -> None:
    done = invoke(*words, "-n", name)
    assert done.exit_code == 2
    assert f"{name!r} is not the name of a namespace." in done.output


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("", "'' names no namespace; without --namespaces all are kept."),
        (" , ", "' , ' names no namespace; without --namespaces all are kept."),
        ("shop,Cart", "'Cart' is not the name of a namespace."),
    ],
)
def test_a_runner_that_is_to_keep_to_namespaces_is_not_let_loose_by_a_slip(listed: str, said: str) -> None:
    done = invoke("run", "--namespaces", listed)
    assert (done.exit_code, said in done.output) == (2, True)


def test_whoever_leaves_the_objects_has_no_hooks_to_skip() -> None:
    done = invoke("delete", "shop", "--abandon", "--skip-hooks")
    assert done.exit_code == 2
    assert "--abandon deletes nothing and runs no hooks: leave out --skip-hooks." in done.output


PRINTING = {
    "apply", "cluster status", "delete", "diff", "doctor", "health", "history", "install", "plan", "render",
    "rollback", "settings", "status", "sync", "tree", "version", "wait", "why",
}  # fmt: skip


def outputs_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """What a verb takes after -o; nothing if it has no such option."""
    command: click.Command = trimtab
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word) or trimtab
    kinds = (each.type for each in command.params if "-o" in each.opts)
    return next((tuple(kind.choices) for kind in kinds if isinstance(kind, click.Choice)), ())


def test_every_verb_that_prints_data_prints_it_in_the_same_forms() -> None:
    outputs = {" ".join(words): outputs_of(words) for words in commands(trimtab)}
    assert {verb for verb, forms in outputs.items() if forms} == PRINTING
    assert [verb for verb in PRINTING if not {*FORMS} <= {*outputs[verb]}] == []
    assert {*outputs["plan"]} == {*FORMS, "markdown"}


def test_the_version_is_a_row_and_a_name_for_whoever_asks_so() -> None:
    assert invoke("version", "-o", "name").output == f"version/{package.__version__}\n"
    assert invoke("version", "-o", "table").output == f"VERSION\n{package.__version__}\n"
    heading, row = invoke("version", "-o", "wide").output.splitlines()
    assert (heading.split(), row.split()[0]) == (["VERSION", "PYTHON", "PLATFORM"], package.__version__)


def test_an_output_nobody_knows_is_refused() -> None:
    assert invoke("version", "-o", "xml").exit_code == 2


@pytest.mark.parametrize("text", ["cluster.page_size", "", "page"])
def test_a_change_of_a_setting_needs_a_name_and_a_value(text: str) -> None:
    done = invoke("--setting", text, "settings")
    assert done.exit_code == 2
    assert f"{text!r} is not of the form group.name=value" in done.output


def test_the_start_imports_nothing_that_only_some_verbs_need() -> None:
    code = "import sys, trimtab.interfaces.cli.entry; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {
        "aiohttp",
        "asyncio",
        "cryptography",
        "importlib.metadata",
        "msgspec",
        "yaml",
        "trimtab.settings",
    }
    assert heavy.intersection(loaded) == set()
    assert not any(f"trimtab.interfaces.cli.{module}" in loaded for module in VERBS)
