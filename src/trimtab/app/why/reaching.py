"""Causes on the way to what is wanted and to what is: the cluster, the source, the render. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trimtab.app.why.facts import Facts, Finding
from trimtab.app.why.words import NoRight, meaning_of
from trimtab.engine.compare.matching import Finding as SourceFinding
from trimtab.engine.compare.matching import FindingKind
from trimtab.errors import (
    ClusterUnreachable,
    GitUnreachable,
    SourceRefused,
    Throttled,
    TrimtabError,
    Unavailable,
)
from trimtab.kube.failures import Forbidden, Refusal, Unauthenticated
from trimtab.sources.repositories.complaints import CredentialRefused, RepositoryMissing, RevisionMissing

_MERE_WARNINGS: Final = frozenset({FindingKind.SOURCE, FindingKind.REPEATED, FindingKind.EXCLUDED})
_OF_THE_SOURCE: Final = (CredentialRefused, RepositoryMissing, RevisionMissing, SourceRefused, GitUnreachable)


def is_of_the_cluster(error: TrimtabError) -> bool:
    """Whether an error came from a Kubernetes API server, or from the lack of one."""
    return isinstance(error, ClusterUnreachable | Refusal)


def keeps_from_looking(error: TrimtabError) -> bool:
    """Whether an error is an answer by itself: nothing can be asked of the cluster while it is so."""
    gone = isinstance(error, ClusterUnreachable | Forbidden | Unauthenticated)
    return gone or (isinstance(error, Refusal) and isinstance(error, Unavailable))


def cluster_unreachable(facts: Facts) -> Iterator[Finding]:
    """The API server gave no usable answer."""
    error = facts.trouble
    if isinstance(error, ClusterUnreachable) or (
        isinstance(error, Refusal) and isinstance(error, Unavailable)
    ):
        yield _about("the cluster", "does not answer", error)


def unauthenticated(facts: Facts) -> Iterator[Finding]:
    """The API server does not know who is asking."""
    if isinstance(facts.trouble, Unauthenticated):
        yield _about("the cluster", "does not know who is asking", facts.trouble)


def no_rights_to_look(facts: Facts) -> Iterator[Finding]:
    """What is asked about, or its records, may not be read by whoever asks."""
    if isinstance(facts.trouble, Forbidden):
        yield lacking(facts.trouble)


def unseen(facts: Facts) -> Iterator[Finding]:
    """Part of the evidence could not be read."""
    for error in facts.unread:
        yield lacking(error) if isinstance(error, Forbidden) else _about(error.subject, "failed", error)


def lacking(error: Forbidden) -> Finding:
    """The right that was missing when something was asked of the server."""
    match meaning_of(error.reason):
        case NoRight() as right:
            return no_right(right, error.reason)
        case _:
            return _about(f"the right to {error.subject}", "is missing", error)


def no_right(right: NoRight, evidence: str) -> Finding:
    """A right that somebody lacks, in words that name verb, kind and place."""
    return Finding(
        subject=f"user {right.user}",
        what=f"may not {right.verb} {right.full_resource} {right.where}",
        evidence=evidence,
        remedy=f"Ask for a role with the verb {right.verb} on {right.full_resource} {right.where}",
    )


def credentials_refused(facts: Facts) -> Iterator[Finding]:
    """A Git server does not accept the credential, or wants one."""
    if isinstance(facts.trouble, CredentialRefused):
        yield _about(_place(facts), "does not let us in", facts.trouble)


def repository_missing(facts: Facts) -> Iterator[Finding]:
    """A Git server shows no such repository."""
    if isinstance(facts.trouble, RepositoryMissing):
        yield _about(_place(facts), "is not there, or not shown to this credential", facts.trouble)


def unknown_revision(facts: Facts) -> Iterator[Finding]:
    """The repository has no such branch, tag, version or commit."""
    if isinstance(facts.trouble, RevisionMissing):
        yield _about(_place(facts), "has no such revision", facts.trouble)


def source_refused(facts: Facts) -> Iterator[Finding]:
    """The source is not trusted, or may not be read from here."""
    if isinstance(facts.trouble, SourceRefused):
        yield _about(_place(facts), "may not be used as a source", facts.trouble)


def fetch_failed(facts: Facts) -> Iterator[Finding]:
    """The Git server cannot be reached, or asks for a pause."""
    error = facts.trouble
    if isinstance(error, GitUnreachable) or (isinstance(error, Throttled) and not is_of_the_cluster(error)):
        yield _about(_place(facts), "cannot be fetched", error)


def render_failed(facts: Facts) -> Iterator[Finding]:
    """What the source holds cannot be made into manifests."""
    error = facts.trouble
    if error is None or is_of_the_cluster(error) or isinstance(error, (*_OF_THE_SOURCE, Throttled)):
        return
    yield _about(_place(facts), "cannot be rendered", error)


def bad_manifest(facts: Facts) -> Iterator[Finding]:
    """A manifest in the source cannot be meant: an unknown kind, a bad name, a namespace that is not ours."""
    for found in facts.findings:
        if found.kind not in _MERE_WARNINGS and found.kind is not FindingKind.UNKNOWN_OPTION:
            yield _of_manifest(found, "cannot be meant as it is declared")


def odd_words(facts: Facts) -> Iterator[Finding]:
    """An option, wave or hook that somebody wrote is none: it does nothing."""
    for found in facts.findings:
        if found.kind is FindingKind.UNKNOWN_OPTION:
            yield _of_manifest(found, "says something that does nothing")


def _of_manifest(found: SourceFinding, what: str) -> Finding:
    return Finding(
        subject=str(found.key or found.subject),
        what=what,
        evidence=found.reason,
        remedy=found.remedy,
        key=found.key,
    )


def _place(facts: Facts) -> str:
    return f"the source {facts.source}"


def _about(subject: str, what: str, error: TrimtabError) -> Finding:
    evidence = error.reason if error.subject in subject else f"{error.subject}: {error.reason}"
    return Finding(subject=subject, what=what, evidence=evidence, remedy=error.remedy)
