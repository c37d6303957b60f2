"""Ports of nodes, given out to Services: which are free, and which of its ports share one. Draws by lot.

What another Service holds cannot be had. A dry run draws nothing: it answers with numbers
that nobody gets, and does not ask whether a number can be one.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Any

from trimtab.kube.refusals import Cause, Refused

Json = dict[str, Any]
PORTS = range(30000, 32768)
DRAWN_PORTS = range(30086, 32768)  # those below are left to whoever asks for one
BEYOND = 32769  # the first that a dry run answers with, if nothing is asked for


class Taken(Exception):
    """Something that was asked for cannot be had."""

    def __init__(self, *causes: Cause) -> None:
        super().__init__(causes[0].message)
        self.causes = causes


class NodePorts:
    """The ports that are taken; those that one request gets are taken from then on."""

    def __init__(self, taken: Iterable[int], *, dry_run: bool) -> None:
        self._taken = set(taken)
        self._dry_run = dry_run
        self._given: list[int] = []

    def refusal_of(self, port: int) -> str:
        """Why a port cannot be had; if it can, it is taken."""
        if port not in PORTS and not self._dry_run:
            told = f"The range of valid ports is {PORTS.start}-{PORTS.stop - 1}"
            return f"provided port is not in the valid range. {told}"
        if port in self._taken:
            return "provided port is already allocated"
        self._take(port)
        return ""

    def ask(self, port: int, number: int) -> None:
        """Take a port that is asked for by its number among the ports of the Service."""
        if why := self.refusal_of(port):
            field = f"spec.ports[{number}].nodePort"
            raise Taken(
                Cause(reason="FieldValueInvalid", message=f"Invalid value: {port}: {why}", field=field)
            )

    def draw(self) -> int:
        """Take any free port; a dry run takes the one after those that it has given already."""
        if self._dry_run:
            return self._take(max(self._given, default=BEYOND - 1) + 1)
        while True:
            port = DRAWN_PORTS[secrets.randbelow(len(DRAWN_PORTS))]
            if port not in self._taken:
                return self._take(port)

    def _take(self, port: int) -> int:
        self._taken.add(port)
        self._given.append(port)
        return port


def ports_of(specs: Iterable[Json]) -> Iterator[int]:
    """The node ports that Services hold."""
    for spec in specs:
        yield from (port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
        if spec.get("healthCheckNodePort"):
            yield spec["healthCheckNodePort"]


def _draws(spec: Json) -> bool:
    """Whether ports that ask for none get one: load balancers may do without."""
    return spec["type"] != "LoadBalancer" or spec.get("allocateLoadBalancerNodePorts") is not False


def first_ports(spec: Json, free: NodePorts) -> list[Json]:
    """The ports of a new Service: one port in two protocols has one node port, unless two are asked for."""
    ports: list[Json] = spec.get("ports") or []
    given: dict[int, int] = {}
    made = []
    for number, port in enumerate(ports):
        wanted, known = port.get("nodePort"), given.get(port["port"])
        if not wanted and not _draws(spec):
            made.append(port)
            continue
        if known is None:
            known = next((e["nodePort"] for e in ports if e["port"] == port["port"] and e.get("nodePort")), 0)
            if known:
                free.ask(known, number)
            given[port["port"]] = known = known or free.draw()
            wanted = known
        elif wanted and wanted != known:
            free.ask(wanted, number)
        made.append({**port, "nodePort": wanted or known})
    return made


def changed_ports(spec: Json, before: Json, free: NodePorts) -> list[Json]:
    """The ports of a changed Service: those that it holds are its own, whichever of its ports has them."""
    held = {each.get("nodePort") for each in before.get("ports") or ()}
    made: list[Json] = []
    for number, port in enumerate(spec.get("ports") or []):
        wanted = port.get("nodePort")
        if wanted and wanted not in held:
            free.ask(wanted, number)
            held.add(wanted)
        elif not wanted and not _draws(spec):
            made.append(port)
            continue
        new = {**port, "nodePort": wanted or free.draw()}
        key = (new.get("protocol"), new["nodePort"])
        if any((each.get("protocol"), each.get("nodePort")) == key for each in made):
            raise Refused(500, "", f"duplicate nodePort: {{{key[0]} {key[1]}}}")
        made.append(new)
    return made


def with_own_ports(ports: list[Json], before: list[Json]) -> list[Json]:
    """The ports with the node ports that they held, by their names, unless another port has taken them."""
    held = {each.get("name", ""): each["nodePort"] for each in before if each.get("nodePort")}
    used = {each.get("nodePort") for each in ports} & set(held.values())
    made = []
    for port in ports:
        own = held.get(port.get("name", ""))
        if port.get("nodePort") or not own or own in used:
            made.append(port)
            continue
        used.add(own)
        made.append({**port, "nodePort": own})
    return made


def health_port(asked: int, free: NodePorts) -> int:
    """The port at which a load balancer asks each node for local Pods."""
    if not asked:
        return free.draw()
    if why := free.refusal_of(asked):
        told = f"failed to allocate requested HealthCheck NodePort {asked}: {why}"
        details = {"causes": [{"message": told}]}
        raise Refused(500, "InternalError", f"Internal error occurred: {told}", details=details)
    return asked
