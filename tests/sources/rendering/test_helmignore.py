"""What helm leaves out of a chart; every row was compared with what `helm package` packs."""

from __future__ import annotations

import pytest

from trimtab.errors import RenderFailed
from trimtab.sources.rendering.helmignore import ignored_in

FILES = (
    "a.txt",
    "b.md",
    "x/a.txt",
    "x/y/a.txt",
    "x/y/b[1].md",
    "templates/a.yaml",
    "x/z q.txt",
    "back\\slash",
)


def left_out(rules: str) -> set[str]:
    """The files that are left out, by themselves or with a folder that they lie in."""
    ignored = ignored_in(rules.encode(), "web", ".helmignore")

    def is_gone(path: str) -> bool:
        words = path.split("/")
        folders = ["/".join(words[:count]) for count in range(1, len(words))]
        return any(ignored(each, is_folder=True) for each in folders) or ignored(path, is_folder=False)

    return {path for path in FILES if is_gone(path)}


@pytest.mark.parametrize(
    ("rules", "gone"),
    [
        ("", set()),
        ("# a.txt\n\n", set()),
        ("a.txt", {"a.txt", "x/a.txt", "x/y/a.txt"}),
        ("\ufeffa.txt", {"a.txt", "x/a.txt", "x/y/a.txt"}),
        ("/a.txt", {"a.txt"}),
        ("a.txt/", set()),
        ("x/y/", {"x/y/a.txt", "x/y/b[1].md"}),
        ("  x/*.txt  ", {"x/a.txt", "x/z q.txt"}),
        ("*/a.txt", {"x/a.txt"}),
        ("[ab].*", {"a.txt", "b.md", "x/a.txt", "x/y/a.txt", "templates/a.yaml"}),
        ("[^a].md", {"b.md"}),
        ("[!a].txt", {"a.txt", "x/a.txt", "x/y/a.txt"}),
        ("b[[]*", {"x/y/b[1].md"}),
        ("back\\\\slash", {"back\\slash"}),
        ("{a,b}.txt", set()),
        ("!*.txt", set(FILES) - {"a.txt"}),
    ],
)
def test_rules_mean_what_they_mean_to_helm(rules: str, gone: set[str]) -> None:
    assert left_out(rules) == gone


def test_hidden_files_of_templates_are_left_out_whatever_the_rules_say() -> None:
    ignored = ignored_in(b"", "web", ".helmignore")
    hidden = ("templates/.hidden", "templates/x/.hidden", ".hidden")
    assert [ignored(path, is_folder=False) for path in hidden] == [True, False, False]


@pytest.mark.parametrize("rules", ["**/a", "[", "[a-", "a\\", "a\n" * 1001, "a" * 5000])
def test_what_helm_cannot_read_is_an_error(rules: str) -> None:
    with pytest.raises(RenderFailed, match="helmignore"):
        ignored_in(rules.encode(), "web", "sub/.helmignore")
