"""What pages show and no shell runs: a case of the contract suite, tests of the testbed, a file, a message.

contract-suite.md and testbed.md show Python that only pytest can run, repositories.md names files of some
machine, errors.md tells what is said of a bug.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from testbed import fixtures
from testbed.controlplane import ControlPlane
from tests.contract.cluster.cases import Table
from tests.contract.cluster.tables import deleting
from tests.contract.cluster.worlds import embedded_world
from tests.docs.blocks import ROOT, blocks
from tests.interfaces.cli.test_entry import BUG
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.repositories.addresses import address_of
from trimtab.sources.repositories.credentials import Basic, Bearer, SshKey, credential_for
from trimtab.sources.repositories.entries import belongings_of, entries_in


def shown(page: str, beginning: str) -> str:
    """The block of a page that begins so."""
    (found,) = (
        each.text for each in blocks((ROOT / "docs" / page).read_text()) if each.text.startswith(beginning)
    )
    return found


def defined(page: str, beginning: str, around: dict[str, Any]) -> dict[str, Any]:
    """What a block of Python defines, among these names."""
    names = dict(around)
    exec(compile(shown(page, beginning), page, "exec"), names)  # noqa: S102 - our own page
    return names


TESTBED = defined(
    "testbed.md",
    "def test_a_config_map",
    {"ControlPlane": ControlPlane, "ControlPlanes": fixtures.ControlPlanes},
)
#: collected like any other test
test_a_config_map_is_kept = pytest.mark.real(TESTBED["test_a_config_map_is_kept"])
test_an_old_watch_is_told_that_it_is_too_old = pytest.mark.real(
    TESTBED["test_an_old_watch_is_told_that_it_is_too_old"]
)


async def test_the_case_that_the_page_of_the_contract_suite_shows_is_refused_and_leaves_the_object() -> None:
    table = Table("shown")
    defined("contract-suite.md", "@case(", {**vars(deleting), "case": table.case})
    async with embedded_world("memory") as world, asyncio.timeout(30):
        stage = await world.stage()
        await table.cases[0].play(stage)
    refused, kept = stage.told
    assert "Conflict" in str(refused)
    assert "Conflict" not in str(kept)


class Anything:
    """Files that all are there."""

    def text(self, path: str) -> str:
        return path

    def secret(self, path: str) -> Secret:
        return Secret(path)


@pytest.mark.parametrize(
    ("url", "login"),
    [
        ("https://git.example/team/shop/api.git", Basic(username="ci", password=Secret("git-password"))),
        ("https://dev.azure.example/a.git", Bearer(token=Secret("/run/secrets/azure"))),
        ("git@git.example:team/web.git", SshKey(key=Secret("~/.ssh/deploy"))),
    ],
)
def test_the_file_of_credentials_that_the_page_shows_opens_what_it_says(url: str, login: object) -> None:
    text = shown("repositories.md", "[[credential]]")
    belongings = belongings_of(entries_in(text, "the file"), Anything(), "the file")
    assert credential_for(address_of(url), belongings).login == login


def test_the_page_of_errors_tells_a_bug_as_the_command_does() -> None:
    assert BUG.fullmatch(shown("errors.md", "Error: this is a bug"))
