"""History that is no more: watches, pages and lists that ask for what was forgotten."""

from __future__ import annotations

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import CONFIG_MAPS, GADGETS, config_map, gadget
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import AsOf, VersionMatch

TABLE = Table(__name__, forgets=True)
case = TABLE.case


@case("watch", "forgotten history")
async def a_watch_from_a_forgotten_version_is_refused(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.given(GADGETS, gadget("a"))
    first = await stage.version_of(CONFIG_MAPS, "a")
    await stage.given(CONFIG_MAPS, config_map("b"))
    await stage.forget()
    for kind in (CONFIG_MAPS, GADGETS):
        async with stage.watching(kind, since=first) as ear:
            await ear.hear(1)


@case("watch", "forgotten history")
async def a_watch_from_the_newest_version_goes_on(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.forget()
    await stage.given(CONFIG_MAPS, config_map("b"))
    async with stage.watching(CONFIG_MAPS, since=await stage.version_of(CONFIG_MAPS, "b")) as ear:
        await stage.given(CONFIG_MAPS, config_map("c"))
        await ear.hear(1)


@case("list", "forgotten history")
async def pages_end_when_their_version_is_forgotten(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, *(config_map(f"c-{number}") for number in range(3)))

    async def meddle() -> None:
        await stage.given(CONFIG_MAPS, config_map("more"))
        await stage.forget()

    await stage.list(CONFIG_MAPS, page_size=2, between=meddle)
    await stage.list(CONFIG_MAPS, page_size=2)


@case("list", "forgotten history")
async def a_list_as_of_a_forgotten_version(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    first = await stage.version_of(CONFIG_MAPS, "a")
    await stage.given(CONFIG_MAPS, config_map("b"))
    await stage.forget()
    for match in (None, *VersionMatch):
        await stage.list(CONFIG_MAPS, as_of=AsOf(resource_version=first, match=match))
