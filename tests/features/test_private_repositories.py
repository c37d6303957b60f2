"""Private repositories: a file of credentials is all that the command needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.gitserver import HttpRepository
from tests.features.conftest import Person
from tests.sources.upstream import Upstream

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: private}\n"


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
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
