"""What the doctor makes of what was examined: ok, a warning, or wrong; and what to do. Pure."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct

from trimtab.errors import TrimtabError
from trimtab.kube.cluster import Question
from trimtab.kube.discovery import ServerVersion
from trimtab.programs.limits import Walls
from trimtab.programs.pins import Version
from trimtab.resources.counting import counted

#: the oldest Kubernetes that always refuses unknown fields when asked to
OLDEST: Final = (1, 27)
_CLOCKS_AGREE, _CLOCKS_CLASH = timedelta(seconds=5), timedelta(minutes=5)
_LITTLE_ROOM, _NO_ROOM = 1 << 30, 64 << 20
#: walls that strangers' charts want around them
_WALLS: Final = ("network", "files", "pid_namespace", "no_new_privileges")


class State(enum.Enum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


class Check(Struct, frozen=True, kw_only=True):
    """One thing that was looked at: how it is, and what to do if it should be otherwise."""

    name: str
    state: State
    what: str
    remedy: str = ""

    @property
    def words(self) -> str:
        """What was found, and what to do, in one line."""
        return f"{self.name}: {self.what}{f'. {self.remedy}' if self.remedy else ''}"


def ok(name: str, what: str) -> Check:
    """All is well with it."""
    return Check(name=name, state=State.OK, what=what)


def warning(name: str, what: str, remedy: str) -> Check:
    """It works, or most of it; somebody should look."""
    return Check(name=name, state=State.WARNING, what=what, remedy=remedy)


def wrong(name: str, error: TrimtabError) -> Check:
    """It does not work, for this reason."""
    return broken(name, f"{error.subject}: {error.reason}", error.remedy)


def broken(name: str, what: str, remedy: str) -> Check:
    """It does not work."""
    return Check(name=name, state=State.WRONG, what=what, remedy=remedy)


# -- the cluster -----------------------------------------------------------------------------------------


def version_check(version: ServerVersion) -> Check:
    """Whether the server is one we know how to speak to."""
    found = re.match(r"v?(\d+)\.(\d+)", version.git_version)
    if found is None:
        words = f"the server does not say which Kubernetes it is ({version.git_version or 'nothing'})"
        return warning("version", words, "See what it is with: kubectl version")
    number = int(found[1]), int(found[2])
    if number < OLDEST:
        words = f"Kubernetes {version.git_version} is older than {OLDEST[0]}.{OLDEST[1]}"
        return warning("version", f"{words}: unknown fields may pass unnoticed there", "Upgrade the cluster")
    return ok("version", f"Kubernetes {version.git_version}")


def clock_check(ahead: timedelta | None) -> Check:
    """Whether the server's clock and ours agree; `ahead` is how far the server's is before ours."""
    if ahead is None:
        return warning("clock", "the server does not say what time it is", "Compare the clocks by hand")
    seconds = abs(ahead.total_seconds())
    words = f"the server's clock is {seconds:.0f} s {'ahead of' if ahead > timedelta() else 'behind'} ours"
    remedy = "Set both clocks by NTP: leases, certificates and tokens depend on them"
    if abs(ahead) >= _CLOCKS_CLASH:
        return broken("clock", words, remedy)
    if abs(ahead) >= _CLOCKS_AGREE:
        return warning("clock", words, remedy)
    return ok("clock", "the server's clock and ours agree")


def apis_check(failed: Mapping[str, str]) -> Check:
    """Whether every API of the cluster answers."""
    if not failed:
        return ok("apis", "every API of the cluster answers")
    words = "; ".join(f"{name}: {why}" for name, why in sorted(failed.items()))
    remedy = "See its APIService and its pods: objects of these kinds are not known while it is so"
    return warning("apis", f"some do not answer: {words}", remedy)


def rights_check(name: str, missing: Sequence[Question], asked: int, *, needed: bool) -> Check:
    """Whether we may do what is needed: which verb on which kind is missing."""
    if not missing:
        return ok(name, f"all {asked} rights that were asked for are there")
    by_kind: dict[tuple[str, str], list[str]] = {}
    for question in missing:
        resource = question.resource
        full = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        by_kind.setdefault((full, question.namespace), []).append(question.verb)
    told = [f"{', '.join(verbs)} {kind}{_in(space)}" for (kind, space), verbs in by_kind.items()]
    words = f"may not {'; '.join(told)}"
    if needed:
        return broken(name, words, "Ask for a role with these verbs on these kinds")
    return warning(name, words, "Ask for such a role; for one namespace alone: trimtab doctor -n …")


def _in(namespace: str) -> str:
    return f" in {namespace}" if namespace else " in the whole cluster"


def records_check(namespace: str, count: int, unreadable: Sequence[str], *, recorded: bool) -> Check:
    """Whether what is recorded of apps can be read."""
    if not recorded:
        return ok("records", f"nothing is recorded in {namespace} yet; the first sync does that")
    if unreadable:
        words = f"{len(unreadable)} of {count + len(unreadable)} apps in {namespace} cannot be read: "
        return broken("records", words + "; ".join(unreadable), "Restore the Secrets of that namespace")
    apps = counted(count, "app is", "apps are")
    return ok("records", f"{apps} recorded in {namespace}, and can be read")


# -- this machine ----------------------------------------------------------------------------------------


def program_check(name: str, path: str, version: Version | None) -> Check:
    """A program that was found."""
    told = f"version {'.'.join(map(str, version))} at " if version else ""
    return ok(name, f"{told}{path}")


def absent_check(name: str, error: TrimtabError, pinned: Version | None, *, needed: bool) -> Check:
    """A program that was not found here, and may be fetched."""
    if pinned is not None:
        return ok(
            name, f"version {'.'.join(map(str, pinned))} is fetched, by its hash, when it is first needed"
        )
    return wrong(name, error) if needed else warning(name, f"{error.subject}: {error.reason}", error.remedy)


def credentials_check(path: str, count: int) -> Check:
    """A file of credentials that can be read, or that need not be there."""
    if not count:
        return ok("credentials", f"none for private repositories: {path} is absent or empty")
    return ok("credentials", f"{count} for private repositories in {path}")


def walls_check(walls: Walls, required: Iterable[str]) -> Check:
    """Which walls stand around programs that render, and whether they are enough."""
    held = [name for name in _WALLS if getattr(walls, name)]
    open_ = [name for name in _WALLS if name not in held]
    lacking = [name for name in required if not getattr(walls, name, False)]
    remedy = "Allow user namespaces on this machine; docs/sandbox.md says what each wall does"
    if lacking:
        words = f"required and not to be had: {', '.join(lacking)}: nothing is rendered by programs"
        return broken("walls", words, f"{remedy}. Or require less: rendering.required_walls")
    if open_:
        words = f"programs that render are not kept apart by {', '.join(open_)}"
        return warning("walls", words, f"Render only what you trust. {remedy}")
    return ok("walls", f"around programs that render stand {', '.join(held)}")


class Folder(Struct, frozen=True, kw_only=True):
    """A folder that we write to."""

    setting: str
    path: str
    #: why it cannot be written to; empty if it can
    problem: str
    free: int


def folders_check(folders: Sequence[Folder]) -> Check:
    """Whether what we keep on this machine can be written."""
    bad = [each for each in folders if each.problem]
    if not bad:
        return ok("folders", f"{', '.join(each.path for each in folders)} can be written")
    words = "; ".join(f"{each.path} cannot be written ({each.problem})" for each in bad)
    names = ", ".join(each.setting for each in bad)
    return broken("folders", words, f"Mend their rights, or choose others: {names}")


def disk_check(folders: Sequence[Folder]) -> Check:
    """Whether there is room for what we keep."""
    least = min(folders, key=lambda each: each.free)
    words = f"{_size(least.free)} free for {least.path}"
    remedy = f"Make room, or choose another folder: {least.setting}"
    if least.free < _NO_ROOM:
        return broken("disk", words, remedy)
    return warning("disk", words, remedy) if least.free < _LITTLE_ROOM else ok("disk", words)


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"
