"""Advised commands carry the options by which the cluster was meant."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from trimtab.interfaces.cli.entry import run
from trimtab.interfaces.cli.leading import LED, led, options_of
from trimtab.interfaces.cli.verbs import VERBS, trimtab


@pytest.mark.parametrize(
    ("kubeconfig", "context", "typed"),
    [
        (None, None, ""),
        (Path("east.yaml"), None, "--kubeconfig east.yaml"),
        (Path("my clusters"), "east", "--kubeconfig 'my clusters' --context east"),
    ],
)
def test_options_are_spelled_as_they_would_be_typed(
    kubeconfig: Path | None, context: str | None, typed: str
) -> None:
    assert options_of(kubeconfig, context) == typed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Ask why with: trimtab why shop.", "Ask why with: trimtab why --context east shop."),
        (
            "trimtab resume shop && trimtab sync",
            "trimtab resume --context east shop && trimtab sync --context east",
        ),
        ("`trimtab terminate` ends it", "`trimtab terminate --context east` ends it"),
        ("with: kubectl -n trimtab get pods", "with: kubectl --context east -n trimtab get pods"),
        ("kubectl logs -n shop web", "kubectl --context east logs -n shop web"),
        ("kubectl get -f, as kubectl does", "kubectl --context east get -f, as kubectl does"),
        ("kubectl config view --minify", "kubectl config view --minify"),
        ("Start one with: trimtab cluster up", "Start one with: trimtab cluster up"),
        (
            "examples/trimtab status and trimtab sync-options",
            "examples/trimtab status and trimtab sync-options",
        ),
    ],
)
def test_a_command_that_reaches_a_cluster_is_led_to_the_same(text: str, said: str) -> None:
    assert led(text, "--context east") == said
    assert led(text, "") == text


def test_exactly_the_verbs_that_take_the_options_are_led() -> None:
    context = click.Context(trimtab)
    verbs = {name: trimtab.get_command(context, name) for name in VERBS}
    takes = {
        name for name, verb in verbs.items() if verb and "context" in {each.name for each in verb.params}
    }
    assert takes == LED


def test_an_error_advises_a_command_for_the_cluster_that_was_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "east.yaml"
    config.write_text("")
    plan = tmp_path / "a.plan"
    assert run(["apply", str(plan), "--kubeconfig", str(config)], {"HOME": str(tmp_path)}) == 3
    assert f"Make it with: trimtab plan --kubeconfig {config} SOURCE --out {plan}." in capsys.readouterr().err
