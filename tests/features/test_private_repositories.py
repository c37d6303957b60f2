"""Private repositories: a file of credentials is all that the command needs."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from testbed.gitserver import HttpRepository, SshRepository
from tests.features.conftest import Person
from tests.sources.upstream import Upstream

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "private-repositories.md"
OWNER = "github.com/example"  # whose repositories the page tells of
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: private}\n"


def test_a_private_repository_is_synced_once_its_credential_stands_in_the_file(
    person: Person, tmp_path: Path, git_http: HttpRepository
) -> None:
    commit = Upstream(git_http.path).commit({"deploy/a.yaml": MANIFEST})
    allowed = {
        "TRIMTAB_REPOSITORIES__ALLOW_HOSTS": "127.0.0.1",
        "TRIMTAB_REPOSITORIES__CA_FILE": str(git_http.ca_file),
    }
    command = ("sync", git_http.https_url, "--path", "deploy", "--app", "web", "-n", person.namespace)
    told = person.trimtab(*command, "--create-namespace", **allowed)
    assert (told.code, told.out) == (2, "")
    assert "wants a credential, and none was found for this address" in told.err
    assert "repositories.credentials_file" in told.err

    folder = tmp_path / ".config" / "trimtab"  # where it is looked for unless a setting says otherwise
    folder.mkdir(parents=True)
    entry = f'url = "{git_http.https_url}"\nusername = "{git_http.user}"\npassword_file = "password"'
    for name, text in (("password", git_http.password), ("credentials.toml", f"[[credential]]\n{entry}\n")):
        (folder / name).touch(0o600)
        (folder / name).write_text(text)
    told = person.trimtab(*command, "--create-namespace", **allowed)
    assert told.code == 0, told.err
    assert f"web is Synced and Healthy at {commit[:7]}" in told.out
    assert person.kubectl("get", "configmap", "private", "-o", "name") == "configmap/private\n"
    assert git_http.password not in told.out + told.err


# -- the how-to, followed -----------------------------------------------------------------------------------


def shown(word: str, kind: str = "toml") -> str:
    """The block of the page with a word in it."""
    (block,) = (
        each for each in re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL) if word in each
    )
    return str(block)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o600)
    path.write_text(text)


def planned(person: Person, url: str) -> str:
    """What the page's own command says of another address."""
    (command,) = (line for line in shown("trimtab", "text").splitlines() if line.startswith("trimtab "))
    words = shlex.split(command.replace(f"https://{OWNER}/shop.git", url))[1:]
    told = person.trimtab(*words, TRIMTAB_REPOSITORIES__ALLOW_HOSTS="127.0.0.1")
    assert told.code == 0, told.err
    return told.out


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_the_entry_that_the_page_shows_for_https_opens_every_repository_of_an_owner(
    person: Person, tmp_path: Path, git_http: HttpRepository
) -> None:
    Upstream(git_http.path).commit({"live/a.yaml": MANIFEST})
    entry = shown("password_file").replace(f"https://{OWNER}", git_http.https_url.rpartition("/")[0])
    entry = entry.replace("x-access-token", git_http.user)
    folder = tmp_path / ".config" / "trimtab"
    put(folder / "github-token", git_http.password)
    put(folder / "credentials.toml", f'{entry}ca_file = "{git_http.ca_file}"\n')
    assert "apply   ConfigMap shop/private" in planned(person, git_http.https_url)


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_the_entry_that_the_page_shows_for_ssh_opens_every_repository_of_an_owner(
    person: Person, tmp_path: Path, git_ssh: SshRepository
) -> None:
    Upstream(git_ssh.path).commit({"live/a.yaml": MANIFEST})
    entry = shown("ssh_key_file").replace(f"ssh://git@{OWNER}", git_ssh.url.rpartition("/")[0])
    put(tmp_path / ".config" / "trimtab" / "credentials.toml", entry)
    put(tmp_path / ".ssh" / "deploy", git_ssh.key.read_text())
    shutil.copy(git_ssh.known_hosts, tmp_path / ".ssh" / "known_hosts")
    assert "apply   ConfigMap shop/private" in planned(person, git_ssh.url)
