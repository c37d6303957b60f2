"""What makes an installation: the namespace of its records, its identity, and the key that seals them.

All of it is one Secret, made when something is first recorded. The identity is part of every mark, so two
installations never touch each other's objects.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.stores.records import HEADS, SECRETS
from trimtab.errors import Conflict, InvalidSpec, NotAllowed
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import AlreadyExists, Forbidden, NotFound
from trimtab.kube.objects import KubeObject
from trimtab.resources.sealing import KEY_SIZE

NAMESPACES: Final = Resource(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False)
NAME: Final = "trimtab-installation"
TYPE: Final = "trimtab.dev/installation"
_TRACES: Final = "traces"
_RENDERS: Final = "renders"
#: it is in every cluster from the start to the end, and its identity in no other
_OLDEST: Final = "kube-system"


class Installation(Struct, frozen=True, kw_only=True):
    """One installation in one cluster; not `recorded` while nothing of it is in the cluster."""

    namespace: str
    id: str
    key: bytes
    recorded: bool = True
    #: whoever forgot an app of it whose objects stay has always left a trace
    leaves_traces: bool = False
    #: the key by which renders were named before it was recorded; older installations have none
    renders: bytes = b""

    @property
    def rendering_key(self) -> bytes:
        """The key by which renders are named, so that every machine of the installation names them alike."""
        if self.renders:
            return self.renders
        return hashlib.blake2b(b"renders", key=self.key, digest_size=KEY_SIZE).digest()

    def __repr__(self) -> str:
        return f"<installation {self.id} in {self.namespace}>"  # never the key


def installation_in(found: KubeObject) -> Installation:
    """The installation that its Secret describes."""
    data = found.manifest().get("data")
    texts = data if isinstance(data, Mapping) else {}
    try:
        fields = (base64.b64decode(texts.get(field, ""), validate=True) for field in ("id", "key", _RENDERS))
        name, key, renders = fields
        identity = str(uuid.UUID(name.decode()))
    except (binascii.Error, TypeError, ValueError) as error:
        raise _damaged(found) from error
    if len(key) != KEY_SIZE or len(renders) not in {0, KEY_SIZE}:
        raise _damaged(found)
    return Installation(
        namespace=found.metadata.namespace,
        id=identity,
        key=key,
        leaves_traces=texts.get(_TRACES) is not None,
        renders=renders,
    )


def _damaged(found: KubeObject) -> InvalidSpec:
    reason = f"it does not hold an id and a key of {KEY_SIZE} bytes"
    return InvalidSpec(str(found.key), reason, "Restore it: without its key no record can be read")


async def find_installation(cluster: Cluster, namespace: str, *, own_key: bytes = b"") -> Installation:
    """The installation whose records are in this namespace, or a new one that is not recorded yet.

    Until one is recorded, whoever has the `own_key` of a machine names renders alike: what was planned is
    called the same when it is synced.
    """
    try:
        return installation_in(await cluster.get(SECRETS, NAME, namespace=namespace))
    except Forbidden as error:
        elsewhere = "have yours recorded where you have one with the setting apps.namespace"
        remedy = f"Apps are recorded in {namespace}: ask for a role there, or {elsewhere}"
        raise Forbidden(error.subject, error.reason, remedy, status=error.status) from error
    except NotFound:
        await _check_records(cluster, namespace)
        return Installation(
            namespace=namespace,
            id=str(uuid.uuid4()),
            key=secrets.token_bytes(KEY_SIZE),
            recorded=False,
            leaves_traces=True,
            renders=await _first_renders(cluster, namespace, own_key) if own_key else b"",
        )


async def _first_renders(cluster: Cluster, namespace: str, own_key: bytes) -> bytes:
    """What a machine names renders by in this cluster: it tells nothing of its key, nor of other clusters."""
    try:
        identity = (await cluster.get(NAMESPACES, _OLDEST)).metadata.uid
    except (NotFound, NotAllowed):
        identity = ""
    text = f"{identity}/{namespace}".encode()
    return hashlib.blake2b(text, key=own_key, digest_size=KEY_SIZE, person=b"first renders").digest()


async def _check_records(cluster: Cluster, namespace: str) -> None:
    """Refuse to begin anew where apps are recorded: their objects would all be a stranger's."""
    with suppress(NotAllowed):  # whoever may not look may not record, either
        async for page in cluster.list(SECRETS, namespace=namespace, select=HEADS, page_size=1):
            if page.objects:
                reason = "apps are recorded beside it, and without its key they cannot be read"
                remedy = "Restore it from a backup; if the apps may be forgotten, delete their records, too"
                raise Conflict(f"Secret {namespace}/{NAME}", f"it is gone: {reason}", remedy)


async def record_installation(cluster: Cluster, installation: Installation) -> Installation:
    """Record an installation, with its namespace, unless that was done."""
    if installation.recorded:
        return installation
    await _make_namespace(cluster, installation.namespace)
    try:
        await cluster.create(SECRETS, _secret(installation), namespace=installation.namespace)
    except AlreadyExists as error:
        # The marks of what was planned name an installation that will never be.
        reason = "somebody else made the installation at the same time"
        raise Conflict(f"namespace {installation.namespace}", reason, "Run the command again") from error
    return replace(installation, recorded=True)


async def _make_namespace(cluster: Cluster, namespace: str) -> None:
    """Make the namespace unless it is there; asking first lets those through who may only read it."""
    try:
        await cluster.get(NAMESPACES, namespace)
    except NotFound:
        try:
            await cluster.create(NAMESPACES, {"metadata": {"name": namespace}})
        except AlreadyExists:
            return


def _secret(installation: Installation) -> dict[str, Any]:
    data = {"id": installation.id.encode(), "key": installation.key}
    if installation.leaves_traces:
        data[_TRACES] = b"left"
    if installation.renders:
        data[_RENDERS] = installation.renders
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": TYPE,
        "immutable": True,
        "metadata": {"name": NAME},
        "data": {field: base64.b64encode(value).decode() for field, value in data.items()},
    }
