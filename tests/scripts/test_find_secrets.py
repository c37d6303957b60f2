"""The secret scan can fail: planted keys are found, allowances need a match."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.find_secrets import ALLOWED_FILE, Allowed, Finding, complaints, fingerprints, main

# Put together here, so that this file holds no secret itself.
AWS_KEY = "AKIA" + "Q3EGRIPN" + "7CUVXZJ2"
PRIVATE_KEY = "-----BEGIN " + "RSA PRIVATE KEY-----"
GITHUB_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
SLACK_TOKEN = "xoxb-" + "263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1"
PASSWORD = 'password = "' + 'hunter2-and-more"'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "README.md").write_text("Nothing to see here.\n")
    return tmp_path


@pytest.fixture
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where clean files are remembered: beside all checkouts, and not made yet."""
    return tmp_path_factory.mktemp("cache") / "trimtab" / "clean"


def test_a_clean_repository_passes(
    repository: Path, memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(memory, repository) == 0
    assert capsys.readouterr().out == "no secrets in 1 files\n"


@pytest.mark.parametrize("path", ["src/app.py", "tests/test_app.py", "docs/how.md"])
@pytest.mark.parametrize("secret", [AWS_KEY, PRIVATE_KEY, GITHUB_TOKEN, SLACK_TOKEN])
def test_a_planted_key_fails_the_scan_and_is_not_repeated(
    repository: Path, memory: Path, capsys: pytest.CaptureFixture[str], path: str, secret: str
) -> None:
    (repository / path).parent.mkdir()
    (repository / path).write_text(f"first line\nvalue = '{secret}'\n")
    assert main(memory, repository) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"{path}:2: looks like a secret (")
    assert secret not in said


def test_a_password_is_found_in_sources_but_may_be_a_canary_in_tests(
    repository: Path, memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("src", "tests"):
        (repository / folder).mkdir()
        (repository / folder / "app.py").write_text(f"{PASSWORD}\n")
    assert main(memory, repository) == 1
    assert capsys.readouterr().out.splitlines() == [
        "src/app.py:1: looks like a secret (Secret Keyword)",
        "1 complaints",
    ]


def test_an_ignored_file_is_not_scanned(repository: Path, memory: Path) -> None:
    (repository / ".gitignore").write_text("local.env\n")
    (repository / "local.env").write_text(f"{AWS_KEY}\n")
    assert main(memory, repository) == 0


def test_a_clean_file_is_not_read_again_until_it_changes(repository: Path, memory: Path) -> None:
    paths = [Path("README.md")]
    assert main(memory, repository) == 0
    assert memory.read_text() == fingerprints(repository, paths)[paths[0]]
    (repository / "README.md").write_text(f"{AWS_KEY}\n")
    assert main(memory, repository) == 1
    assert main(memory, repository) == 1, "a file with a finding is never remembered as clean"


def test_what_is_remembered_of_a_file_holds_in_every_checkout_and_for_its_content_alone(
    repository: Path, memory: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fresh = tmp_path_factory.mktemp("fresh")
    assert main(memory, repository) == 0
    subprocess.run(["git", "init", "-q", fresh], check=True)
    (fresh / "README.md").write_text((repository / "README.md").read_text())
    assert fingerprints(fresh, [Path("README.md")]) == fingerprints(repository, [Path("README.md")])
    (fresh / "app.py").write_text(f"{AWS_KEY}\n")
    assert main(memory, fresh) == 1
    assert [file.name for file in memory.parent.iterdir()] == [memory.name], "nothing half is left"


def test_a_committed_allowance_covers_its_kind_in_its_files(repository: Path, memory: Path) -> None:
    (repository / "key.pem").write_text(f"{PRIVATE_KEY}\n")
    (repository / ALLOWED_FILE).write_text(
        '[[allowed]]\npath = "*.pem"\nkind = "Private Key"\nreason = "a throw-away key of a test server"\n'
    )
    assert main(memory, repository) == 0


def test_an_allowance_without_a_finding_is_stale() -> None:
    entry = Allowed("old.pem", "Private Key", "it was needed once")
    found = Finding("new.pem", 3, "Private Key")
    assert complaints([found], [entry]) == [
        "new.pem:3: looks like a secret (Private Key)",
        f"{ALLOWED_FILE}: old.pem has no Private Key any more: remove the entry",
    ]


def test_a_memory_that_has_nothing_new_stays_as_it_is(repository: Path, memory: Path) -> None:
    assert main(memory, repository) == 0
    before = memory.stat()
    assert main(memory, repository) == 0
    assert memory.stat().st_ino == before.st_ino
