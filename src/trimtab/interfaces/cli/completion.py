"""`trimtab completion`."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that has a shell complete verbs, options and the names of apps.

    \b
    Examples:
      source <(trimtab completion bash)
      trimtab completion bash > ~/.local/share/bash-completion/completions/trimtab
      trimtab completion zsh > "${fpath[1]}/_trimtab"
      trimtab completion fish > ~/.config/fish/completions/trimtab.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from trimtab.interfaces.cli.entry import COMPLETION, PROGRAM

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"No completion is known for {shell}.")
    made = kind(context.find_root().command, {}, PROGRAM, COMPLETION)
    # What a shell's own class adds here is a look at the bash of this machine, which may be another one.
    click.echo(ShellComplete.source(made))
