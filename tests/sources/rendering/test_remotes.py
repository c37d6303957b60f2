"""What an address in a kustomization means."""

from __future__ import annotations

import pytest

from trimtab.sources.rendering.remotes import Base, base_in


@pytest.mark.parametrize(
    ("reference", "base"),
    [
        (
            "https://git.example/team/bases//web?ref=v1",
            Base(url="https://git.example/team/bases", path="web", target="v1"),
        ),
        (
            "https://git.example/team/bases.git/web/live?version=main",
            Base(url="https://git.example/team/bases.git", path="web/live", target="main"),
        ),
        (
            "https://git.example/team/bases.git",
            Base(url="https://git.example/team/bases.git", path="", target="HEAD"),
        ),
        (
            "https://git.example/team/bases?ref=v1&submodules=false&timeout=10s",
            Base(url="https://git.example/team/bases", path="", target="v1", submodules=False),
        ),
        (
            "git@git.example:team/bases.git//web?ref=v1",
            Base(url="git@git.example:team/bases.git", path="web", target="v1"),
        ),
        (
            "git::https://git.example/team/bases//web",
            Base(url="https://git.example/team/bases", path="web", target="HEAD"),
        ),
        (
            "github.com/team/bases/web?ref=v1",
            Base(url="https://github.com/team/bases", path="web", target="v1"),
        ),
        (
            "https://github.com/team/bases/web/live",
            Base(url="https://github.com/team/bases", path="web/live", target="HEAD"),
        ),
        ("https://git.example/raw/web.yaml", None),
        ("https://git.example/raw/web.yaml?ref=v1", None),
        ("../bases/web", None),
    ],
)
def test_a_base_is_a_folder_of_a_repository(reference: str, base: Base | None) -> None:
    assert base_in(reference) == base


def test_bases_of_the_same_revision_share_a_tree() -> None:
    rests = ("web?ref=v1", "api?ref=v1", "api?ref=v2")
    found = [base_in(f"https://git.example/bases//{rest}") for rest in rests]
    one, two, other = (base.tree for base in found if base is not None)
    assert one == two != other
