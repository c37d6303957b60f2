"""Bases in private repositories: fetched with the credential for them; the real kustomize is the judge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.sources.conftest import Opening, settings_in
from tests.sources.corpora import shell
from tests.sources.githost import GitHost, basic_header, git_host
from tests.sources.upstream import Upstream
from trimtab.errors import SourceRefused
from trimtab.kube.auth.redaction import Secret
from trimtab.resources.yaml import documents
from trimtab.settings import ProgramsSettings
from trimtab.sources import FolderOrigin, Renderer, Request
from trimtab.sources.rendering.specs import SourceSpec
from trimtab.sources.repositories.complaints import CredentialRefused
from trimtab.sources.repositories.credentials import Basic, Belonging, Credential

PASSWORD = "opensesame-of-the-bases"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {color: %s}\n"
#: a base with a base of its own, and a file that a generator reads
BASES = {
    "web/kustomization.yaml": "resources: [../shared]\nnamePrefix: base-\n",
    "shared/kustomization.yaml": "resources: [a.yaml]\nconfigMapGenerator: [{name: made, files: [text]}]\n",
    "shared/a.yaml": CONFIG_MAP % "red",
    "shared/text": "some text",
    "evil/kustomization.yaml": "resources: [../../../apart/key]\n",
}


class Desk:
    """An overlay of a base that lies in a private repository."""

    def __init__(self, folder: Path, host: GitHost, tools: str, opened: Opening) -> None:
        self.folder, self.host, self._tools, self._opened = folder, host, tools, opened
        self.bases = Upstream(folder / "bases.git")
        self.bases.commit(BASES)
        host.welcome = {basic_header("me", PASSWORD)}

    def request(self, base: str, *, password: str = PASSWORD) -> Request:
        overlay = self.folder / "app"
        overlay.mkdir(exist_ok=True)
        (overlay / "kustomization.yaml").write_text(f"resources: ['{base}']\nnameSuffix: -live\n")
        login = Basic(username="me", password=Secret(password))
        known = Belonging(url=self.host.url, credential=Credential(login=login), below=True, name="entry 1")
        return Request(
            name="web",
            namespace="shop",
            spec=SourceSpec(path="app"),
            tree=FolderOrigin(path=str(self.folder)),
            credentials=(known,),
        )

    @asynccontextmanager
    async def renderer(self, *remotes: str) -> AsyncIterator[Renderer]:
        settings = msgspec.structs.replace(settings_in(self.folder / "own"), remotes=remotes)
        async with (
            self._opened() as repositories,
            Renderer(
                settings, ProgramsSettings(fetch=False), path=self._tools, bases=repositories.fetch
            ) as renderer,
        ):
            yield renderer

    def by_hand(self) -> list[object]:
        """What kustomize makes of the same overlay over a checkout."""
        script = (
            "git clone -q bases.git checkout && mkdir hand && cd hand &&"
            " printf 'resources: [../checkout/web]\\nnameSuffix: -live\\n' > kustomization.yaml &&"
            " kustomize build ."
        )
        made = shell(script, self.folder, f"{self._tools}:/usr/local/bin")
        return [each.value for each in documents(made, "kustomize")]


@pytest.fixture
async def desk(tmp_path: Path, tools: str, opened: Opening) -> AsyncIterator[Desk]:
    async with git_host(tmp_path) as host:
        yield Desk(tmp_path, host, tools, opened)


async def test_a_base_is_fetched_with_the_credential_for_it_and_built_as_by_hand(desk: Desk) -> None:
    request = desk.request(f"{desk.host.url}/bases.git//web?ref=main")
    async with desk.renderer(desk.host.url) as renderer:
        rendered = await renderer.render(request)
        spent, asked = renderer.spent, len(desk.host.log)
        assert await renderer.render(request) == rendered
        assert (renderer.spent, len(desk.host.log)) == (spent, asked)  # no program, and nobody was asked
    assert [made.manifest() for made in rendered.manifests] == desk.by_hand()
    assert PASSWORD not in str(rendered)


async def test_a_new_commit_of_the_base_is_another_render(desk: Desk) -> None:
    request = desk.request(f"{desk.host.url}/bases.git//web?ref=main")
    async with desk.renderer(desk.host.url) as renderer:
        first = await renderer.render(request)
    desk.bases.commit({**BASES, "shared/a.yaml": CONFIG_MAP % "blue"})
    async with desk.renderer(desk.host.url) as renderer:
        second = await renderer.render(request)
    assert first.key != second.key
    assert [each.manifest()["data"] for each in second.manifests if "made" not in each.key.name] == [
        {"color": "blue"}
    ]


async def test_what_may_not_be_fetched_or_leads_out_is_refused(desk: Desk) -> None:
    base = f"{desk.host.url}/bases.git//web?ref=main"
    async with desk.renderer() as strict:
        with pytest.raises(SourceRefused, match="nothing may be fetched"):
            await strict.render(desk.request(base))
        assert desk.host.log == []
    async with desk.renderer(desk.host.url) as renderer:
        with pytest.raises(CredentialRefused) as refused:
            await renderer.render(desk.request(base, password="opensesame-wrong"))
        assert "opensesame" not in str(refused.value)
        with pytest.raises(SourceRefused, match="leads out of the source"):
            await renderer.render(desk.request(f"{desk.host.url}/bases.git//evil?ref=main"))
