"""Where a path leads: to an object, a collection, a part of an object, or nowhere. Pure."""

from __future__ import annotations

from urllib.parse import unquote

from msgspec import Struct

from trimtab.apiserver.catalog import Catalog
from trimtab.apiserver.refusing import method_not_allowed, no_such_path, not_found
from trimtab.apiserver.requests import Address
from trimtab.kube.gotext import quoted

COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}


class Route(Struct, frozen=True):
    """A request for objects: what is addressed, and the verb."""

    address: Address
    verb: str


NO_PAGE = "404 page not found\n"


class NoSuchGroup(Exception):
    """A path outside of every group that is served: the answer is `NO_PAGE`."""


class NoKind(Exception):
    """A path that says what to do, but not with what kind of object."""


def check_kind(path: str) -> None:
    """Refuse a watch of nothing, and a way through to nothing."""
    match path.strip("/").split("/"):
        case ["api", _, "watch" | "proxy"] | ["apis", _, _, "watch" | "proxy"]:
            told = f"unable to determine kind and namespace from url, {path}"
            raise NoKind(f"{quoted(path)}: failed to create RequestInfo: {told}")


def route(catalog: Catalog, method: str, path: str, *, watch: bool = False) -> Route:
    """Where a request for objects leads; refused in the server's words if nowhere."""
    parts = unquote(path).removeprefix("/").rstrip("/").split("/")  # as Go does: a slash is a slash
    group, version, rest = _split(parts)
    spelled = rest[:1] == ["watch"]  # an older way to ask for a watch, also for one of a single object
    rest = rest[1:] if spelled else rest
    namespace, rest = _namespaced(catalog, group, version, rest)
    served = catalog.find(group, version, rest[0]) if rest else None
    through = rest[2:3] == ["proxy"]  # what follows is a path beyond it
    if served is None or (namespace and not served.namespaced) or (len(rest) > 3 and not through):
        raise _nowhere(catalog, group)
    name, subresource = [*rest[1:], "", ""][:2]
    if served.namespaced and not namespace and name:
        raise _nowhere(catalog, group)
    if spelled and subresource:
        raise _nowhere(catalog, group)
    address = Address(served=served, namespace=namespace, name=name, subresource=subresource)
    verb = _verb(address, method)
    if spelled and (method != "GET" or "watch" not in served.verbs):
        raise method_not_allowed()
    return Route(address, "watch" if spelled or (watch and _is_watched(address, verb)) else verb)


def _split(parts: list[str]) -> tuple[str, str, list[str]]:
    match parts:
        case ["api", version, *rest]:
            return "", version, rest
        case ["apis", group, version, *rest] if group:
            return group, version, rest
        case _:
            raise NoSuchGroup


def _namespaced(catalog: Catalog, group: str, version: str, rest: list[str]) -> tuple[str, list[str]]:
    """The namespace of a path, unless the path is about namespaces themselves."""
    if len(rest) >= 3 and rest[0] == "namespaces":
        parts = catalog.find(group, version, "namespaces")
        if parts is None or parts.subresource(rest[2]) is None or len(rest) > 3:
            return rest[1], rest[2:]
    return "", rest


def _nowhere(catalog: Catalog, group: str) -> Exception:
    """The server itself answers for its groups; for all others there is just no page."""
    kinds = [each for each in catalog if each.group == group]
    return no_such_path() if any(not each.custom for each in kinds) else NoSuchGroup()


def _is_watched(address: Address, verb: str) -> bool:
    """Whether a query may turn this into a watch: single objects are read, whatever it says."""
    return verb == "list" and "watch" in address.served.verbs


def _verb(address: Address, method: str) -> str:
    verb = (OBJECT_VERBS if address.name else COLLECTION_VERBS).get(method, "")
    if address.name and method == "POST" and not address.subresource:
        verb = ""
    check_verb(address, verb)
    return verb


def check_verb(address: Address, verb: str) -> None:
    """Refuse a verb that is not served at this address."""
    served = address.served
    part = served.subresource(address.subresource) if address.subresource else None
    if address.subresource and part is None:
        raise not_found(served.group, served.plural, address.name) if served.custom else no_such_path()
    across = served.namespaced and not address.namespace  # all namespaces together can only be read
    if across and served.custom and verb not in ("list", "watch"):
        raise NoSuchGroup
    if verb not in (part.verbs if part else served.verbs) or (across and verb not in ("list", "watch")):
        raise method_not_allowed()
