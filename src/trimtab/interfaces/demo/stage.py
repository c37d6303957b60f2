"""Where the demo plays: a folder, a cluster of its own, a repository, and verbs that are run as people do.

Everything is the real thing: the cluster is a process of its own, commits are Git's, and a verb is run from
its command line, through the same entry as in a shell. What should be so is checked, and said.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

import click

from trimtab.apiserver import background
from trimtab.errors import Unavailable
from trimtab.interfaces.cli import INTERRUPTED
from trimtab.interfaces.cli.entry import run
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.tasks.loops import run_main

AUTHOR: Final = {
    **{f"GIT_{who}_NAME": "Ann" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ann@shop.example" for who in ("AUTHOR", "COMMITTER")},
}
#: where clones find what a person's own configuration of Git must not change
UNCONFIGURED: Final = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


#: how the names of folders begin in which demos play, and what says in them that they go with their process
PREFIX: Final = "trimtab-demo-"
CLAIM: Final = "claim"


class DemoBroke(Unavailable):
    """Something that the demo shows is not so on this machine."""


class Stage:
    """The demo's own folder, cluster, repository and environment."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.repository = folder / "shop"
        self.url = f"file://{self.repository}"
        #: what verbs see; a person who goes on sets the same
        self.exports = {
            "XDG_STATE_HOME": str(folder / "state"),
            "KUBECONFIG": str(folder / "kubeconfig"),
            "TRIMTAB_REPOSITORIES__ALLOW_SCHEMES": "https,ssh,file",
        }
        self._kubeconfig = Path(self.exports["KUBECONFIG"])
        self._environment = {**environment, **self.exports}
        self._acts = 0

    # -- saying -------------------------------------------------------------------------------------------

    def act(self, title: str) -> None:
        """Begin the next part of the story."""
        self._acts += 1
        click.secho(f"\n{self._acts}. {title}", bold=True, fg="cyan")

    def say(self, sentence: str) -> None:
        """Tell what happens."""
        click.echo(sentence)

    def holds(self, sentence: str, found: object, wanted: object) -> None:
        """Check a fact, and say it."""
        if found != wanted:
            reason = f"{sentence}: it should be {wanted}, and is {found}"
            raise DemoBroke("the demo", reason, "Run it again with --keep and look around")
        sign = "✔" if (sys.stdout.encoding or "").lower().startswith("utf") else "+"
        click.secho(f"{sign} {sentence}", fg="green")

    # -- doing --------------------------------------------------------------------------------------------

    def show(self, *words: str, code: int = 0) -> None:
        """Run a verb for everybody to see; it has to end with this exit code.

        What it prints is cut to fit the terminal: facts are asked for, never read off the screen.
        """
        click.secho(f"$ trimtab {shlex.join(words)}", bold=True)
        self._ended(words, run(words, self._environment), code)

    def ask(self, *words: str, code: int = 0) -> Any:
        """What a verb prints for programs; it has to end with this exit code."""
        said = io.BytesIO()
        with redirect_stdout(io.TextIOWrapper(said, encoding="utf-8", write_through=True)) as paper:
            ended = run((*words, "-o", "json"), self._environment)
        self._ended(words, ended, code)
        paper.flush()
        return json.loads(said.getvalue())

    def _ended(self, words: Sequence[str], ended: int, wanted: int) -> None:
        if ended == INTERRUPTED:
            raise KeyboardInterrupt
        if ended != wanted:
            reason = f"`trimtab {words[0]}` ended with exit code {ended}, not {wanted}"
            raise DemoBroke("the demo", reason, "What it said stands above")

    def edit(self, path: str, before: str, after: str) -> None:
        """Change a file of the repository."""
        file = self.repository / path
        text = file.read_text(encoding="utf-8")
        if before not in text:
            raise DemoBroke("the demo", f"{path} does not hold {before!r}")
        file.write_text(text.replace(before, after), encoding="utf-8")

    def commit(self, message: str) -> None:
        """Commit everything in the repository, and say so."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        click.secho(f"$ git commit -a -m {shlex.quote(message)}", bold=True)

    def git(self, *words: str) -> None:
        """Run git in the repository."""
        from trimtab.programs import run as run_program

        environment = {**AUTHOR, **UNCONFIGURED, "PATH": self._environment.get("PATH", "")}
        ended = run_main(run_program(("git", *words), environment=environment, cwd=self.repository))
        if ended.code:
            words_of_git = ended.stderr.decode(errors="replace").strip()
            raise DemoBroke("the demo", f"git {words[0]} failed: {words_of_git}")

    def change_live(self, key: ResourceKey, patch: Mapping[str, object]) -> None:
        """Change an object past Git, as somebody with kubectl would."""
        from trimtab.interfaces.demo import live

        run_main(live.change(self._kubeconfig, key, patch))

    def version(self) -> str:
        """Where the cluster's memory is now, for `happened`."""
        from trimtab.interfaces.demo import live

        return run_main(live.version(self._kubeconfig))

    def happened(self, keys: Iterable[ResourceKey], *, since: str) -> list[KubeObject]:
        """Every state that these objects have had since that version."""
        from trimtab.interfaces.demo import live

        return run_main(live.states(self._kubeconfig, keys, since))


@contextmanager
def staged(environment: Mapping[str, str], *, keep: bool) -> Iterator[Stage]:
    """A stage with a cluster and a repository; both go with the block, unless they are to be kept.

    Of a demo that is killed only the folder is left, and the next one takes that away: its cluster hears of
    the end, and ends as well.
    """
    sweep(Path(tempfile.gettempdir()))
    leash, held = os.pipe()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    claim = None if keep else claimed(folder)
    stage = Stage(folder, environment)
    state = folder / "state" / "trimtab" / "cluster"
    try:
        config = Path(stage.exports["KUBECONFIG"])
        started = background.start(
            state, config, environment=environment, leash=None if keep else leash, brisk=True
        )
        stage.say(f"A Kubernetes API is up at {started.url}: in memory, with controllers that simulate pods.")
        if keep:
            stage.say(f"It stays. The end of it: XDG_STATE_HOME={folder / 'state'} trimtab cluster down")
        _copy(resources.files(__package__) / "shop", stage.repository)
        stage.git("init", "--quiet", "--initial-branch=main")
        yield stage
    finally:
        if not keep:
            if background.running(state) is not None:
                background.stop(state)
            shutil.rmtree(folder, ignore_errors=True)
        for each in (leash, held, claim):
            if each is not None:
                os.close(each)


def claimed(folder: Path) -> int:
    """Mark a folder as going with this process: by a lock, which the kernel lets go of whatever happens."""
    fresh = folder / "claim.new"
    lock = os.open(fresh, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    fresh.rename(folder / CLAIM)  # nobody ever sees one that is not held, unless its process is dead
    return lock


def sweep(place: Path) -> None:
    """Take away the folders of demos that were killed; kept ones are nobody's to take."""
    for claim in place.glob(f"{PREFIX}*/{CLAIM}"):
        with suppress(OSError):  # somebody else's, or somebody else was faster
            lock = os.open(claim, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(claim.parent, ignore_errors=True)
            finally:
                os.close(lock)


def _copy(source: Traversable, target: Path) -> None:
    """The sample's files, wherever the package keeps them."""
    target.mkdir(parents=True, exist_ok=True)
    for each in source.iterdir():
        if each.is_dir():
            _copy(each, target / each.name)
        else:
            (target / each.name).write_bytes(each.read_bytes())
