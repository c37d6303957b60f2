"""A repository on the other side, whose history tests write as they please, with git's own fast-import."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C",
}


class Link(Struct, frozen=True):
    """A symbolic link."""

    target: str


class Program(Struct, frozen=True):
    """A file with its executable bit set."""

    text: bytes


class Submodule(Struct, frozen=True):
    """A commit of another repository."""

    commit: str


File: TypeAlias = str | bytes | Link | Program | Submodule


class Upstream:
    """A bare repository that tests write to directly."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            self._run("init", "--quiet", "--bare", "--initial-branch=main", str(path))

    def commit(self, files: Mapping[str, File], *, branch: str = "main", after: str | None = None) -> str:
        """Put a commit holding exactly these files on a branch, after its tip or after another commit."""
        parent = self.tip(branch) if after is None else after
        lines = [f"commit refs/heads/{branch}", "committer Somebody <a@b.example> 1700000000 +0000"]
        stream = b"".join(f"{line}\n".encode() for line in lines) + b"data 6\nchange\n"
        stream += f"from {parent}\n".encode() if parent else b""
        stream += b"deleteall\n" + b"".join(_change(path, file) for path, file in files.items())
        self.git("fast-import", "--quiet", "--force", stdin=stream + b"\ndone\n")
        tip = self.tip(branch)
        assert tip
        return tip

    def orphan(self, files: Mapping[str, File], *, branch: str = "main") -> str:
        """Replace a branch by a history that shares nothing with it, as a force-push can."""
        if self.tip(branch):
            self.git("update-ref", "-d", f"refs/heads/{branch}")
        return self.commit(files, branch=branch)

    def tip(self, ref: str) -> str:
        """The commit that a branch or tag means now; empty if there is none."""
        return self.git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", check=False).strip()

    def tag(self, name: str, commit: str, *, annotated: bool = False) -> str:
        """Tag a commit; the id that the tag has, which for an annotated one is not the commit's."""
        if annotated:
            tagger = ("-c", "user.name=Somebody", "-c", "user.email=a@b.example")
            self.git(*tagger, "tag", "--annotate", "--message=tagged", name, commit)
        else:
            self.git("tag", name, commit)
        return self.git("rev-parse", f"refs/tags/{name}").strip()

    def git(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> str:
        """Run git in the repository."""
        return self._run(f"--git-dir={self.path}", *arguments, stdin=stdin, check=check)

    def _run(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> str:
        done = subprocess.run(
            ["git", *arguments], input=stdin, env=ENVIRONMENT, capture_output=True, check=False
        )
        assert not check or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()


def _change(path: str, file: File) -> bytes:
    match file:
        case Submodule(commit=commit):
            return f"M 160000 {commit} {path}\n".encode()
        case Link(target=target):
            mode, data = "120000", target.encode()
        case Program(text=data):
            mode = "100755"
        case str():
            mode, data = "100644", file.encode()
        case _:
            mode, data = "100644", file
    return f"M {mode} inline {path}\ndata {len(data)}\n".encode() + data + b"\n"
