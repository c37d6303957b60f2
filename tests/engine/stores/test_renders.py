"""An archive gives back what was put into it, whole or not at all, and forgets what it is told to."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.apiserver import MemoryCluster
from trimtab.engine.stores import Keyring, MemoryArchive, RecordArchive
from trimtab.engine.stores.records import SECRETS
from trimtab.engine.stores.sealing import SealBroken
from trimtab.engine.units import Generated, RenderArchive
from trimtab.resources.digests import digest
from trimtab.resources.manifests import Found

KEYS = Keyring(b"k" * 32)


def render(name: str, text: str = "") -> Generated:
    manifest: dict[str, Any] = {"kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}
    return Generated(
        manifests=(Found(manifest=manifest, where=f"{name}.yaml"),), revision=f"r-{name}", digest=name
    )


# Hashes do not compress, so that there is more than one piece.
LARGE = render("large", "".join(digest(number) for number in range(40)))


@pytest.fixture(params=["memory", "records", "records in small pieces"])
def archive(request: pytest.FixtureRequest) -> RenderArchive:
    archives: dict[str, RenderArchive] = {
        "memory": MemoryArchive(),
        "records": RecordArchive(MemoryCluster(), namespace="default", keys=KEYS),
        "records in small pieces": RecordArchive(
            MemoryCluster(), namespace="default", keys=KEYS, chunk_size=300
        ),
    }
    return archives[request.param]


async def test_what_is_kept_is_found_by_its_digest_and_its_unit(archive: RenderArchive) -> None:
    await archive.keep("web", LARGE)
    await archive.keep("web", LARGE)
    assert await archive.find("web", "large") == LARGE
    assert await archive.find("web", "other") is None
    assert await archive.find("api", "large") is None


async def test_what_no_entry_speaks_of_is_dropped_of_this_unit_alone(archive: RenderArchive) -> None:
    for name in ("a", "b"):
        await archive.keep("web", render(name))
    await archive.keep("api", render("b"))
    await archive.drop("web", {"a"})
    assert await archive.find("web", "a") == render("a")
    assert await archive.find("web", "b") is None
    assert await archive.find("api", "b") == render("b")


async def test_a_render_whose_writer_died_is_not_there_and_can_be_kept_again() -> None:
    cluster = MemoryCluster()
    archive = RecordArchive(cluster, namespace="default", keys=KEYS, chunk_size=300)
    await archive.keep("web", LARGE)
    pages = [page async for page in cluster.list(SECRETS, namespace="default")]
    names = sorted(each.metadata.name for page in pages for each in page.objects)
    assert len(names) > 2
    await cluster.delete(SECRETS, names[0], namespace="default")  # the first piece is written last
    assert await archive.find("web", "large") is None
    await archive.keep("web", LARGE)
    assert await archive.find("web", "large") == LARGE
    await archive.drop("web", ())
    assert [page.objects async for page in cluster.list(SECRETS, namespace="default")] == [()]


async def test_a_render_of_another_key_is_not_opened() -> None:
    cluster = MemoryCluster()
    await RecordArchive(cluster, namespace="default", keys=KEYS).keep("web", LARGE)
    other = RecordArchive(cluster, namespace="default", keys=Keyring(b"o" * 32))
    with pytest.raises(SealBroken, match="a key that is not in the ring"):
        await other.find("web", "large")


@pytest.mark.parametrize("data", [{}, {"others": "bm90IEpTT04="}, {"others": "W10="}])
async def test_a_render_that_somebody_edited_is_told_as_damaged(data: dict[str, str]) -> None:
    cluster = MemoryCluster()
    archive = RecordArchive(cluster, namespace="default", keys=KEYS)
    await archive.keep("web", render("a"))
    pages = cluster.list(SECRETS, namespace="default")
    (kept,) = [each async for page in pages for each in page.objects if "render" in each.metadata.name]
    await cluster.update(SECRETS, kept.metadata.name, {**kept.manifest(), "data": data}, namespace="default")
    with pytest.raises(SealBroken):
        await archive.find("web", "a")
