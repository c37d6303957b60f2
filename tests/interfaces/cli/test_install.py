"""`trimtab install`: what it prints follows from its options, and what it brings is shown before."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.app.install.manifests import Install, objects_of
from trimtab.interfaces.cli.entry import run
from trimtab.interfaces.cli.install import HOSTS
from trimtab.resources.yaml import documents
from trimtab.sources.hints.webhooks import Provider


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, ...]:
    assert run(arguments, {}) == 0
    return tuple(each.value for each in documents(capsys.readouterr().out, "output"))


@pytest.mark.parametrize(
    ("arguments", "install"),
    [
        (("install",), Install()),
        (
            ("install", "--scope", "namespaces=shop, blog", "-n", "here", "--replicas", "1"),
            Install(namespace="here", namespaces=("shop", "blog"), replicas=1),
        ),
        (
            (
                "--setting",
                "repositories.poll_every=1m",
                "--setting",
                "apps.namespace=here",
                "install",
                "--everything",
            ),
            Install(
                namespace="here",
                everything=True,
                settings={"repositories.poll_every": "1m"},
            ),
        ),
        (
            ("install", "--image", "example/trimtab:1", "--also", "certificates.cert-manager.io"),
            Install(image="example/trimtab:1", also=("certificates.cert-manager.io",)),
        ),
        (("install", "--webhook", "github"), Install(webhooks=("github",))),
        (
            ("install", "--repo", "https://git.example/fleet.git", "--path", "units", "--revision", "main"),
            Install(repo="https://git.example/fleet.git", path="units", revision="main"),
        ),
    ],
)
def test_what_is_printed_is_what_was_chosen(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], install: Install
) -> None:
    assert printed(capsys, *arguments) == objects_of(install)


def test_programs_may_have_it_as_one_list(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = printed(capsys, "install", "-o", "json")
    assert (found["kind"], tuple(found["items"])) == ("List", objects_of(Install()))


def test_it_can_be_listed_by_name_and_in_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("install", "-n", "here", "-o", "name"), {}) == 0
    names = capsys.readouterr().out.splitlines()
    assert {"namespace/here", "deployment.apps/trimtab-runner"} <= {*names}
    assert run(("install", "-n", "here", "-o", "wide"), {}) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["KIND", "NAMESPACE", "NAME", "API", "VERSION"]
    assert ["Deployment.apps", "here", "trimtab-runner", "apps/v1"] in [row.split() for row in rows]
    assert len(rows) == len(names) == len(objects_of(Install(namespace="here")))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--scope", "everywhere"), "'everywhere' is neither `cluster` nor of the form namespaces=a,b."),
        (("--scope", "namespaces="), "'namespaces=' is neither"),
        (("--scope", "namespaces=Shop"), "'Shop' is not the name of a namespace."),
        (("--namespace", "a/b"), "'a/b' is not the name of a namespace."),
        (("--namespace", "", "--remove"), "'' is not the name of a namespace."),
        (("--also", "*"), "'*' is not a kind"),
        (("--apply", "-o", "json"), "-o is about what is printed: leave out --apply and --remove."),
        (("--remove", "-o", "name"), "-o is about what is printed: leave out --apply and --remove."),
        (("--timeout", "5m"), "--timeout is about removing: add --remove."),
        (("--path", "units"), "--path and --revision are about a repository: name it with --repo."),
    ],
)
def test_what_cannot_be_meant_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str
) -> None:
    assert run(("install", *arguments), {}) == 2
    assert complaint in capsys.readouterr().err


def test_every_host_whose_webhooks_are_understood_can_be_named() -> None:
    assert tuple(each.value for each in Provider) == HOSTS
