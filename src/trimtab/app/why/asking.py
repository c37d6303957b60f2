"""What KIND/NAME on a command line means, in the words that kubectl knows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.errors import InvalidSpec, Missing
from trimtab.kube.discovery import Discovery, Resource


def split(text: str) -> tuple[str, str]:
    """Kind and name of `deploy/web`."""
    kind, _, name = text.partition("/")
    if not kind or not name or "/" in name:
        raise InvalidSpec(f"object {text!r}", "it is not of the form KIND/NAME", "Write it like deploy/web")
    return kind, name


def resource_meant(discovery: Discovery, text: str) -> Resource:
    """The kind that is meant by its name, plural, or short name, with its group where that is needed."""
    word, _, group = text.lower().partition(".")
    for resource in discovery.resources:
        names = {resource.kind.lower(), resource.plural, resource.singular, *resource.short_names}
        if word in names and (not group or resource.group == group) and "get" in resource.verbs:
            return resource
    raise Missing(f"kind {text}", "the cluster serves no such kind", "See: kubectl api-resources")


def not_there(text: str, namespace: str, elsewhere: Sequence[str]) -> Missing:
    """That an object is not in this namespace, and where there is one of its kind and name."""
    reason = f"there is none in namespace {namespace}"
    if not elsewhere:
        kind, _ = split(text)
        return Missing(f"object {text}", f"{reason}, nor in any other", f"See: kubectl get {kind} -A")
    there = f"there is one in {', '.join(elsewhere)}"
    return Missing(f"object {text}", f"{reason}; {there}", f"Ask: trimtab why {text} -n {elsewhere[0]}")
