"""The testbed's command line: `python -m testbed build|up|status|down|versions`."""

from __future__ import annotations

import contextlib
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

from testbed.builds import CONTROL_PLANE, PROGRAMS, Builder
from testbed.controlplane import ControlPlane
from testbed.folders import cache_folder
from testbed.postgres import Postgres, installation
from testbed.registry import end, registered, running
from trimtab.errors import TrimtabError

if TYPE_CHECKING:  # slow to import, and only `up --git` needs it
    from testbed.gitserver import GitServer


def registry_folder() -> Path:
    """Where running testbeds are listed."""
    return cache_folder() / "running"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Get and start the real parts: a Kubernetes control plane, PostgreSQL, Git servers, kustomize, helm.

    \b
    Examples:
      python -m testbed build            build everything that is missing (about 9 minutes the first time)
      python -m testbed build kubectl    build one program and print where it is
      python -m testbed up               a control plane until Ctrl-C
      python -m testbed up --nodes 5 --postgres --git
    """


@main.command()
@click.argument("programs", nargs=-1, type=click.Choice(list(PROGRAMS)))
@click.option("--control-plane", is_flag=True, help="Only what a control plane needs.")
def build(programs: tuple[str, ...], *, control_plane: bool) -> None:
    """Build PROGRAMS (default: all) unless the cache has them, and print where each is.

    \b
    Examples:
      python -m testbed build --control-plane
      $(python -m testbed build kubectl) version --client
    """
    wanted = programs or (CONTROL_PLANE if control_plane else tuple(PROGRAMS))
    builder = Builder()
    for name in (name for name in PROGRAMS if name in wanted):
        click.echo(builder.program(name))


@main.command()
@click.option("--nodes", default=1, show_default=True, help="Nodes played by KWOK.")
@click.option("--controllers/--no-controllers", default=True, help="Without: etcd and the API server alone.")
@click.option("--postgres", is_flag=True, help="Start PostgreSQL, too.")
@click.option("--git", is_flag=True, help="Start Git servers with one empty repository, too.")
def up(*, nodes: int, controllers: bool, postgres: bool, git: bool) -> None:
    """Start a testbed and keep it until Ctrl-C or `down`; everything in it is gone afterwards.

    \b
    Examples:
      python -m testbed up --nodes 3
      export KUBECONFIG=...   # the path it prints
      kubectl get nodes
    """
    signal.signal(signal.SIGTERM, _interrupted)
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(controllers=controllers, nodes=nodes))
        offers = {"kubeconfig": str(plane.kubeconfig), "logs": str(plane.folder)}
        if postgres:
            offers["postgres"] = stack.enter_context(Postgres()).create_database().url
        if git:
            from testbed.gitserver import GitServer

            offers |= _git_offers(stack.enter_context(GitServer()))
        stack.enter_context(registered(registry_folder(), offers))
        _print(offers)
        click.echo("running until Ctrl-C")
        signal.pause()


def _git_offers(server: GitServer) -> dict[str, str]:
    """The addresses of one new repository; SSH only where there is a client for it."""
    repository = server.create_repository()
    offers = {"git http": server.over_http(repository).url_with_credentials}
    with contextlib.suppress(TrimtabError):
        ssh = server.over_ssh(repository)
        offers |= {"git ssh": ssh.url, "GIT_SSH_COMMAND": ssh.ssh_command}
    return offers


def _interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _print(offers: dict[str, str]) -> None:
    for name, value in offers.items():
        click.echo(f"{name}: {value}")


@main.command()
def status() -> None:
    """List the testbeds that `up` has running."""
    found = running(registry_folder())
    if not found:
        click.echo("nothing is running")
    for testbed in found:
        click.echo(f"process {testbed.pid}")
        _print(testbed.offers)


@main.command()
@click.argument("pid", type=int, required=False)
def down(pid: int | None) -> None:
    """Stop the testbed of process PID (default: all that `up` has running)."""
    found = [testbed for testbed in running(registry_folder()) if pid in (None, testbed.pid)]
    if not found:
        click.echo("nothing is running" if pid is None else f"process {pid} runs no testbed")
    for testbed in found:
        click.echo(f"process {testbed.pid}: {'stopped' if end(testbed) else 'still stopping'}")


@main.command()
def versions() -> None:
    """Print the pinned version of every part and whether it is built."""
    builder = Builder()
    for name in PROGRAMS:
        state = "built" if builder.path(name).exists() else "not built yet"
        click.echo(f"{name} {builder.version(name)} ({state})")
    click.echo(f"postgresql {installation().name.removeprefix('pginstall')} (from its wheel)")


if __name__ == "__main__":
    try:
        main(prog_name="python -m testbed")
    except TrimtabError as exc:
        click.echo(str(exc), err=True)
        sys.exit(exc.exit_code)
