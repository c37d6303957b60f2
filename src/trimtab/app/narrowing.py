"""Which places a command has to read in a cluster, so that it need not read all of it. Pure.

A sync has to see three things: what its source wants, whatever carries the app's mark, and what says whose an
object is. The first is rendered, the second is recorded (`trimtab.engine.places`), the third follows from the
kinds. Whenever one of them is in doubt the answer is None: everything is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from trimtab.engine.places import Place
from trimtab.errors import InvalidSpec
from trimtab.kube.discovery import Discovery
from trimtab.resources import manifests
from trimtab.resources.manifests import Found

#: beyond so many namespaces a kind is read everywhere at once
_MOST_SPACES: Final = 8
_NAMESPACES: Final = Place("", "Namespace")
#: kinds that say by their own objects whose others are: claims belong to the sets that are named in them
_TELLING: Final = {("", "PersistentVolumeClaim"): ("apps", "StatefulSet")}


def places_to_read(
    known: Iterable[Place] | None, wanted: Iterable[Found], namespace: str, discovery: Discovery
) -> frozenset[Place] | None:
    """Where to look for an app whose objects are known to be nowhere else; None if only all of it will do.

    A kind that is not served yet may come to be, and one whose server does not answer may hold anything.
    """
    if known is None or discovery.failed:
        return None
    places = {_NAMESPACES, *known}
    for found in wanted:
        place = _place(found, namespace, discovery)
        if place is None:
            return None
        places.add(place)
    return frozenset(_gathered({*places, *_telling(places)}))


def _place(found: Found, namespace: str, discovery: Discovery) -> Place | None:
    manifest, where = found.manifest, found.where
    try:
        resource = discovery.resource(manifests.api_version(manifest, where), manifests.kind(manifest, where))
        space = manifests.namespace(manifest, where) or namespace
    except InvalidSpec:
        return None  # whoever compares says what is wrong with it
    if resource is None:
        return None
    return Place(resource.group, resource.kind, space if resource.namespaced else "")


def _telling(places: AbstractSet[Place]) -> Iterator[Place]:
    for each in places:
        if (told_by := _TELLING.get((each.group, each.kind))) is not None:
            yield Place(*told_by, each.namespace)


def _gathered(places: AbstractSet[Place]) -> Iterator[Place]:
    """The places, as one for each kind that is in many namespaces."""
    spaces = defaultdict[tuple[str, str], set[str]](set)
    for each in places:
        spaces[each.group, each.kind].add(each.namespace)
    for kind, named in spaces.items():
        everywhere = "" in named or len(named) > _MOST_SPACES
        yield from (Place(*kind, each) for each in ({""} if everywhere else named))
