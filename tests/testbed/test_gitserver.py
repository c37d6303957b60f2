"""Git servers: clone and push over HTTP, HTTPS and SSH, and what is refused."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from testbed.gitserver import GitServer, HttpRepository, SshRepository, write_ssh_key

AUTHOR = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


def git(*args: str, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        ["git", *args],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **AUTHOR, **(env or {})},  # noqa: TID251 - a test of the edge
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout.strip()


def push_and_clone(url: str, folder: Path, env: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Push a first commit, clone it again; the revisions of both."""
    work, copy = folder / "work", folder / "copy"
    git("clone", "-q", url, str(work), cwd=folder, env=env)
    (work / "big").write_bytes(os.urandom(3_000_000))  # larger than git's buffer, so it is sent in chunks
    git("add", ".", cwd=work)
    git("commit", "-qm", "first", cwd=work)
    git("push", "-q", "origin", "HEAD:main", cwd=work, env=env)
    git("clone", "-q", url, str(copy), cwd=folder, env=env)
    return git("rev-parse", "HEAD", cwd=work), git("rev-parse", "HEAD", cwd=copy)


def test_clone_and_push_over_http_with_the_right_password(git_http: HttpRepository, tmp_path: Path) -> None:
    pushed, cloned = push_and_clone(git_http.url_with_credentials, tmp_path)
    assert pushed == cloned


def test_clone_and_push_over_https_trusting_the_test_authority(
    git_http: HttpRepository, tmp_path: Path
) -> None:
    url = git_http.https_url.replace("://", f"://{git_http.user}:{git_http.password}@")
    pushed, cloned = push_and_clone(url, tmp_path, {"GIT_SSL_CAINFO": str(git_http.ca_file)})
    assert pushed == cloned


def test_https_is_refused_by_a_client_that_does_not_trust_the_authority(
    git_http: HttpRepository, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="certificate"):
        git("ls-remote", git_http.https_url, cwd=tmp_path)


@pytest.mark.parametrize("credentials", ["", "somebody:wrong@", "else:wrong@"])
def test_http_without_the_right_password_is_refused(
    git_http: HttpRepository, tmp_path: Path, credentials: str
) -> None:
    url = git_http.url.replace("://", f"://{credentials}")
    with pytest.raises(AssertionError, match=r"Authentication failed|could not read Username"):
        git("ls-remote", url, cwd=tmp_path)


def test_a_repository_that_is_not_there_is_not_found(git_http: HttpRepository, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="not found"):
        git("ls-remote", f"{git_http.url_with_credentials}-not", cwd=tmp_path)


def test_everybody_may_read_but_not_write_where_anonymous_reading_is_on(tmp_path: Path) -> None:
    with GitServer(anonymous_read=True) as server:
        repository = server.over_http(server.create_repository())
        pushed, _ = push_and_clone(repository.url_with_credentials, tmp_path)
        assert git("ls-remote", repository.url, "main", cwd=tmp_path).split()[0] == pushed
        with pytest.raises(AssertionError, match="could not read Username"):
            git("push", repository.url, "HEAD:other", cwd=tmp_path / "work")


def test_clone_and_push_over_ssh_with_the_right_key(git_ssh: SshRepository, tmp_path: Path) -> None:
    pushed, cloned = push_and_clone(git_ssh.url, tmp_path, {"GIT_SSH_COMMAND": git_ssh.ssh_command})
    assert pushed == cloned


def test_another_key_is_refused_over_ssh(git_ssh: SshRepository, tmp_path: Path) -> None:
    stranger = write_ssh_key(tmp_path / "stranger")
    command = git_ssh.ssh_command.replace(str(git_ssh.key), str(stranger))
    with pytest.raises(AssertionError, match=r"Permission denied \(publickey\)"):
        git("ls-remote", git_ssh.url, cwd=tmp_path, env={"GIT_SSH_COMMAND": command})


def test_ssh_runs_git_only_and_only_inside_the_root(git_ssh: SshRepository, tmp_path: Path) -> None:
    env = {"GIT_SSH_COMMAND": git_ssh.ssh_command}
    with pytest.raises(AssertionError, match="only git may be used here"):
        git("ls-remote", git_ssh.url.replace(git_ssh.path.name, "../../etc"), cwd=tmp_path, env=env)


def test_each_test_gets_an_empty_repository(git_http: HttpRepository, tmp_path: Path) -> None:
    assert git("ls-remote", git_http.url_with_credentials, cwd=tmp_path) == ""
