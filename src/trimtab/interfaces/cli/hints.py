"""What is said to a command line that cannot be meant: one sentence, and what would be meant instead."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import click

#: what other tools say for it → what we say
OURS: Final = {
    "abort": "terminate",
    "bootstrap": "install",
    "build": "render",
    "cancel": "terminate",
    "check": "doctor",
    "config": "settings",
    "create": "sync",
    "deploy": "sync",
    "describe": "why",
    "down": "cluster down",
    "events": "why",
    "explain": "why",
    "get": "status",
    "list": "status",
    "ls": "status",
    "reconcile": "sync",
    "refresh": "status",
    "remove": "delete",
    "rm": "delete",
    "start": "up",
    "stop": "down",
    "suspend": "pause",
    "template": "render",
    "trace": "why",
    "undo": "rollback",
    "uninstall": "delete",
    "unpause": "resume",
    "up": "cluster up",
    "upgrade": "sync",
    "validate": "plan",
    "watch": "wait",
}
_KUBECTLS: Final = ("annotate", "attach", "cp", "edit", "exec", "label", "port-forward", "scale", "top")
_NO_SERVER: Final = "There is no server to log in to; `trimtab doctor` says whom your kubeconfig leads to."
_VERB_FIRST: Final = "The verb comes first: trimtab status, trimtab sync APP."
#: what we have no verb for → where it is to be had
_ELSEWHERE: Final = {
    **{word: f"That is kubectl's: kubectl {word}." for word in _KUBECTLS},
    "logs": "Logs are kubectl's; `trimtab why APP` says what keeps an app from running.",
    **dict.fromkeys(("login", "logout"), _NO_SERVER),
    **dict.fromkeys(("app", "apps", "application", "applications"), _VERB_FIRST),
}
_ALL_SHOWN: Final = "Apps of all namespaces are shown; -n shows those of one."
_ALL_KEPT: Final = "A runner keeps apps of all namespaces; --namespaces A,B has it keep to these."
_FOLDER: Final = "A folder is named as it is: trimtab sync FOLDER."
_WAITING: Final = "`trimtab wait APP` waits and tells; `watch trimtab status` looks again and again."
#: options that other tools have → what to do instead
_OPTIONS: Final = {
    **dict.fromkeys(("-A", "--all-namespaces", "--all"), _ALL_SHOWN),
    **dict.fromkeys(("-w", "--watch", "--follow"), _WAITING),
    **dict.fromkeys(("-f", "--filename", "-k", "--kustomize"), _FOLDER),
    **dict.fromkeys(("-o", "--output"), "`trimtab plan` and `trimtab status` print in every form."),
    **dict.fromkeys(("-l", "--selector"), "An app is chosen by its name."),
}
#: options of most verbs that kubectl takes before the verb, too
_AFTER: Final = frozenset({"-n", "--namespace", "-o", "--output", "--context", "--kubeconfig"})


def meant_by(word: str, verbs: Collection[str]) -> str:
    """What to say to a word that is none of these verbs, if it is one that other tools have; else nothing."""
    ours = OURS.get(word, "")
    if ours and ours.split()[0] in verbs:
        return f"Did you mean {ours!r}?"
    return _ELSEWHERE.get(word, "")


def said(error: click.UsageError) -> str:
    """What is wrong with a command line, in a sentence; and where its help is, if the sentence is no help."""
    message = " ".join(error.format_message().split())
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        message = _of_option(error.option_name, error.ctx) or message
    if message.endswith("?") or "trimtab" in message or "kubectl" in message or error.ctx is None:
        return message
    return f"{message.rstrip('.')}. See: {error.ctx.command_path} --help"


def _of_option(name: str, context: click.Context) -> str:
    """What to say of an option that would be one elsewhere; nothing if it would not."""
    root = context.find_root()
    if context is root and name in _AFTER:
        return f"{name} stands after the verb, such as: trimtab status {name} …"
    if context is not root and any(name in each.opts for each in root.command.params):
        return f"{name} stands before the verb: trimtab {name} … {context.info_name}"
    if context.info_name == "run" and name in {"-n", "--namespace"}:
        return f"No such option {name!r}. {_ALL_KEPT}"
    return f"No such option {name!r}. {_OPTIONS[name]}" if name in _OPTIONS else ""
