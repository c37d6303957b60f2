"""Asking somebody at a terminal, without keeping the event loop from its work meanwhile."""

from __future__ import annotations

import asyncio
import sys

import click


async def agreed(question: str) -> None:
    """Ask a question that is answered with yes or no; anything but yes ends the command.

    Not in a thread: one that waits for a key could not be ended, and Ctrl-C would wait for the key, too.
    """
    while True:
        click.echo(f"{question} [y/N]: ", nl=False, err=True)  # also where the answer goes to a file
        match (await _answer()).strip().lower():
            case "y" | "yes":
                return
            case "" | "n" | "no":
                click.echo("Not done.", err=True)
                raise click.Abort
            case _:
                click.echo("Please say yes or no.", err=True)


async def _answer() -> str:
    try:
        return await _line()
    except asyncio.CancelledError:
        click.echo("\nNot done.", err=True)
        raise


async def _line() -> str:
    """What is typed next; a terminal hands over whole lines, so reading one does not block."""
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, typed.set)
    try:
        await typed.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()
