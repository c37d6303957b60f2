"""What git's complaints mean: one sentence with a remedy, and whose move it is. Pure.

git has one exit code for everything that can go wrong with a server, so its words are read. They are shown,
too, cleaned of whatever looks secret, since nobody knows better what was wrong.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import Final

from trimtab.errors import (
    GitUnreachable,
    Missing,
    NotAllowed,
    SourceRefused,
    Throttled,
    TrimtabError,
    Unavailable,
)
from trimtab.kube.auth.redaction import presentable
from trimtab.programs.limits import ProgramStopped
from trimtab.resources.counting import counted
from trimtab.sources.repositories.addresses import WHERE


class CredentialRefused(NotAllowed):
    """A server does not let this credential in."""


class RepositoryMissing(Missing):
    """A server knows no such repository or chart, or does not show it to this credential."""


class RevisionMissing(Missing):
    """A repository has no such branch, tag, version or commit, or a chart no such version."""


class Meaning(enum.Enum):
    """What a complaint of git is about."""

    REFUSED = "the server does not accept the credential"
    NO_REPOSITORY = "there is no such repository, or it is not shown to this credential"
    HOST_KEY = "the server's SSH host key is not the one that is known"
    CERTIFICATE = "the server's TLS certificate is not trusted"
    REDIRECT = "the server redirects elsewhere"
    THROTTLED = "the server asks for a pause"
    NOT_OFFERED = "the server does not give this commit"
    NO_SHALLOW = "the server gives whole histories only"
    DAMAGED = "what the server sent, or what the mirror holds, is not sound"
    HOSTILE = "the server sent objects that are not sound"
    UNREACHABLE = "the server cannot be reached"
    GARBLED = "the server's answer breaks off or is not Git's"


#: in the order in which they are looked for
_SIGNS: Final[dict[Meaning, tuple[str, ...]]] = {
    Meaning.HOST_KEY: (
        "Host key verification failed",
        "REMOTE HOST IDENTIFICATION",
        r"No \S+ host key is known",
    ),
    Meaning.CERTIFICATE: ("certificate", "SSL.*(?:verif|trust)", "unable to set .*(?:cert|key) file"),
    Meaning.REDIRECT: (r"returned error: 30\d", "redirect"),
    Meaning.THROTTLED: ("returned error: 429", "rate limit"),
    Meaning.REFUSED: (
        *("Authentication failed", "could not read (?:Username|Password)", "returned error: 40[13]"),
        *(r"Permission denied \(", "terminal prompts disabled", "Access denied", "error: 407"),
        *("Invalid (?:username|credential)", "proxy.*407"),
    ),
    Meaning.NO_REPOSITORY: (
        *("returned error: 404", "[Rr]epository .*not (?:found|exist)", "repository '.*' not found"),
        *("does not appear to be a git repository", "[Pp]roject .*could not be found"),
        *("[Rr]epository not exported", "no such repository"),
    ),
    Meaning.NO_SHALLOW: ("does not support (?:shallow|--depth|--shallow)", "dumb http transport does not"),
    Meaning.NOT_OFFERED: (
        "not our ref",
        "unadvertised object",
        "couldn't find remote ref",
        "no such remote ref",
    ),
    Meaning.HOSTILE: ("fsck error", "hasDot", "gitmodules(?:Url|Path|Name|Symlink)"),
    Meaning.UNREACHABLE: (
        *("Could not resolve", "Couldn't connect", "Failed to connect", "No route to host", "unreachable"),
        *(
            "Connection (?:refused|reset|timed out|closed)",
            "[Oo]peration (?:too slow|timed out)",
            "timed out",
        ),
        *(r"returned error: 5\d\d", "kex_exchange_identification", "Name or service not known"),
        *("SSL_ERROR_SYSCALL", "gnutls_handshake"),
    ),
    Meaning.DAMAGED: (
        *(
            "loose object .* is corrupt",
            "packfile .* (?:cannot|is|far|index|does not)",
            "garbage at end of loose",
        ),
        *(
            "(?:bad|missing) (?:tree|blob) object",
            "unable to (?:read|unpack) [0-9a-f]{40}",
            "[Ii]nvalid index",
        ),
        *("not a git repository", "object file .* is empty", "bad config", "index file .* "),
        *("could not parse (?:commit|object)", "corrupt", "error reading", r"\.lock'"),
    ),
}
_NONE: Final = "none was found for this address"
#: lines that tell nobody anything: advice for everybody, and that git may not ask, which is our own wish
_IDLE: Final = re.compile(
    "Please make sure you have the correct access rights|and the repository exists"
    "|unable to read askpass response|could not read (?:Username|Password) .*terminal prompts disabled"
)
_COMPILED: Final = tuple((meaning, re.compile("|".join(signs))) for meaning, signs in _SIGNS.items())


def meaning_of(stderr: str) -> Meaning:
    """What git complains about."""
    return next((meaning for meaning, signs in _COMPILED if signs.search(stderr)), Meaning.GARBLED)


def error_of(meaning: Meaning, subject: str, stderr: str, *, secrets: Iterable[str] = ()) -> TrimtabError:
    """The error for a complaint, with git's own last words."""
    words = presentable(_last_words(stderr), secrets=secrets)
    reason = f"{meaning.value} ({words})" if words else meaning.value
    match meaning:
        case Meaning.REFUSED:
            return CredentialRefused(subject, reason, "Give a credential that may read it")
        case Meaning.NO_REPOSITORY:
            return RepositoryMissing(
                subject, reason, "Mend the address, or give a credential that may read it"
            )
        case Meaning.HOST_KEY:
            remedy = "Add the server's key to the known hosts: ssh-keyscan shows it, its owner confirms it"
            return SourceRefused(subject, reason, remedy)
        case Meaning.CERTIFICATE:
            remedy = "Give the certificate of the authority that vouches for the server"
            return SourceRefused(subject, reason, remedy)
        case Meaning.REDIRECT:
            return SourceRefused(subject, reason, "Use the address that the server redirects to")
        case Meaning.HOSTILE:
            return SourceRefused(subject, reason, "Have the history of the repository mended")
        case Meaning.THROTTLED:
            return Throttled(subject, reason, "It is asked again later")
        case Meaning.NOT_OFFERED:
            return RevisionMissing(subject, reason, "Name a commit that a branch or tag still holds")
        case _:
            return GitUnreachable(subject, reason, "It is tried again; look at the server and the network")


def with_word_of(error: TrimtabError, shown: str) -> TrimtabError:
    """The error with word of the credential that was shown, if another one could have helped."""
    match error:
        case CredentialRefused() | RepositoryMissing() if shown:
            return type(error)(error.subject, f"{error.reason}; shown was {shown}", error.remedy)
        case CredentialRefused():
            wanted = f"the server wants a credential, and {_NONE}"
            reason = error.reason.replace(Meaning.REFUSED.value, wanted)
            return CredentialRefused(error.subject, reason, f"Put one into {WHERE}")
        case RepositoryMissing():
            reason = error.reason.replace("to this credential", f"without a credential, and {_NONE}")
            return RepositoryMissing(
                error.subject, reason, f"Mend the address, or put a credential into {WHERE}"
            )
        case _:
            return error


def error_of_mirror(subject: str, stderr: str) -> TrimtabError:
    """The error for a complaint about a mirror, in which no server has a part."""
    reason = f"git cannot work with it ({presentable(_last_words(stderr))})"
    return Unavailable(subject, reason, "Look at the folder of mirrors: its rights and its free space")


def error_of_stop(stop: ProgramStopped, subject: str) -> TrimtabError:
    """The error for a git that wanted more than it may use."""
    match stop.limit:
        case "wall" | "cpu":
            reason = f"git did not come to an end within {counted(float(stop.allowed), 'second')}"
            return GitUnreachable(subject, reason, "It is tried again; look at the server and the network")
        case "file_size":
            reason = f"one fetch brings more than {_mib(stop.allowed)} MiB"
            return SourceRefused(subject, reason, "Make it smaller, or raise repositories.largest_fetch")
        case "memory":
            reason = f"git needs more than {_mib(stop.allowed)} MiB of memory for it"
            return SourceRefused(subject, reason, "Make it smaller, or raise repositories.memory")
        case _:
            return SourceRefused(subject, "the server says more than anybody can mean", "Look at the server")


def _mib(size: float) -> int:
    return round(size / (1 << 20))


def _last_words(stderr: str) -> str:
    """The lines that say why: those that git marks as fatal or error, else the last ones."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    marked = [line for line in lines if re.match(r"(fatal|error|ERROR|remote):? ", line)]
    return "\n".join(line for line in (marked or lines) if not _IDLE.search(line))
