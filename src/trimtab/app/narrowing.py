"""Which places a command has to read in a cluster, so that it need not read all of it. Pure.

A sync has to see three things: what its source wants, whatever carries the app's mark, and what says whose an
object is. The first is rendered, the second is recorded (`trimtab.engine.places`), the third follows from the
kinds. Whoever draws families has to see what these objects own, too: that may be of any kind, but Kubernetes
lets an object of a namespace own others of that namespace alone. One that lies in no namespace may own
anything anywhere. Whenever something is in doubt the answer is None: everything is read.
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
#: the same for families, of which all kinds are read
_MOST_SPACES_OF_FAMILIES: Final = 3
_NAMESPACES: Final = Place("", "Namespace")
#: kinds that say by their own objects whose others are: claims belong to the sets that are named in them
_TELLING: Final = {("", "PersistentVolumeClaim"): ("apps", "StatefulSet")}


def places_to_read(
    known: Iterable[Place] | None,
    wanted: Iterable[Found],
    namespace: str,
    discovery: Discovery,
    *,
    families: bool = False,
) -> frozenset[Place] | None:
    """Where to look for an app whose objects are known to be nowhere else; None if only all of it will do.

    A kind that is not served yet may come to be, and one whose server does not answer may hold anything. With
    `families`, what the app's objects own is looked for as well.
    """
    if known is None or discovery.failed:
        return None
    places = set(known)
    for found in wanted:
        place = _place(found, namespace, discovery)
        if place is None:
            return None
        places.add(place)
    below = _below(places, discovery) if families else frozenset[Place]()
    if below is None:
        return None
    return frozenset(_gathered({_NAMESPACES, *places, *_telling(places), *below}))


def is_covered(needed: AbstractSet[Place] | None, read: AbstractSet[Place]) -> bool:
    """Whether all that has to be read is; None is all of the cluster, which no places are."""
    return needed is not None and all(each in read or Place(each.group, each.kind) in read for each in needed)


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


def _below(places: AbstractSet[Place], discovery: Discovery) -> frozenset[Place] | None:
    """Wherever there may be what objects in these places own, and what that owns; None for anywhere."""
    spaces = {each.namespace for each in places}
    if "" in spaces or len(spaces) > _MOST_SPACES_OF_FAMILIES:
        return None
    kinds = {(each.group, each.kind) for each in discovery.resources if each.namespaced}
    return frozenset(Place(*kind, space) for kind in kinds for space in spaces)


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
