"""What charts declare and lock; the digests were made by helm itself."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.sources.memorytree import MemoryTree
from trimtab.errors import RenderFailed, SourceRefused
from trimtab.resources.yaml import load
from trimtab.sources.charts.archivetree import ArchiveTree
from trimtab.sources.charts.wishes import ChartRevision
from trimtab.sources.rendering import archives
from trimtab.sources.rendering.dependencies import (
    DependenciesWanted,
    Dependency,
    Lock,
    Needed,
    declared_in,
    lock_in,
)
from trimtab.sources.rendering.generators import GENERATORS
from trimtab.sources.rendering.jobs import Bounds, Call, Job
from trimtab.sources.rendering.looking import MAIN, Trees
from trimtab.sources.rendering.rendered import Tool
from trimtab.sources.rendering.specs import Helm, SourceSpec
from trimtab.sources.trees import Tree

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
MANY = f"""{CHART}dependencies:
- {{name: sub, version: ">=1.0.0 <2", repository: "file://../sub", condition: "a.b,<ü&", tags: [x, y],
   enabled: true, alias: other, import-values: [data, {{parent: a.c, child: z.b}}, 1, 2.50, true]}}
- {{name: sub, version: ">=1.0.0 <2", repository: "file://../sub"}}
- {{name: sub2, version: 1, repository: "file://../sub2"}}
"""
MANY_LOCKED = """dependencies:
- {name: sub, repository: file://../sub, version: 1.2.0}
- {name: sub, repository: file://../sub, version: 1.2.0}
- {name: sub2, repository: file://../sub2, version: 1.10.0}
digest: sha256:c3bc976a6d4a1b0e7e41d1c442f758fcd072f8b55c1aab142b58f19b6f1e54ad
generated: "2024-11-16T09:32:19.597752961Z"
"""
OLD = "dependencies: [{name: sub2, version: '<2', repository: 'file://../sub2'}]\n"
#: by Helm 2, which named what was asked for and not what was chosen
OLD_LOCKED = """dependencies: [{name: sub2, version: 1.10.0, repository: 'file://../sub2'}]
digest: sha256:%s
"""
OLD_DIGEST = "b43fb21471c28056eb4946948e036b8422bffcff21cb6749472444c373ff951c"


def lock_of(text: str) -> Lock:
    return lock_in(load(text.encode(), "Chart.lock"))


def test_a_lock_counts_for_what_it_was_made_for_and_for_nothing_else() -> None:
    lock = lock_of(MANY_LOCKED)
    assert lock.is_for(declared_in(load(MANY.encode(), "Chart.yaml")))
    for one, other in (("<2", "<3"), ("[x, y]", "[x]"), ("2.50", "2.51"), ("alias: other", "alias: others")):
        assert not lock.is_for(declared_in(load(MANY.replace(one, other).encode(), "Chart.yaml")))
    moved = lock_of(MANY_LOCKED.replace("1.10.0", "1.11.0"))
    assert not moved.is_for(declared_in(load(MANY.encode(), "Chart.yaml")))
    assert [each.version for each in lock.needed] == ["1.2.0", "1.2.0", "1.10.0"]


def test_a_lock_of_helm_2_counts_for_an_old_chart_alone() -> None:
    requirements, lock = load(OLD.encode(), "requirements.yaml"), lock_of(OLD_LOCKED % OLD_DIGEST)
    assert lock.is_for(declared_in({"apiVersion": "v1"}, requirements))
    assert not lock.is_for(declared_in({"apiVersion": "v2"}, requirements))


def test_the_file_of_older_charts_stands_instead_of_what_the_chart_declares() -> None:
    chart = {"dependencies": [{"name": "a", "version": 1.10, "repository": "https://a.example"}, "odd", {}]}
    other = {"dependencies": [{"name": "b", "version": None}]}
    (a,) = declared_in(chart, {"else": 1}).needed
    (b,) = declared_in(chart, other).needed
    assert a == Needed(name="a", version="1.1", repository="https://a.example")
    assert b == Needed(name="b", version="", repository="")
    assert declared_in(None).needed == declared_in([]).needed == ()


# --- what is fetched -------------------------------------------------------------------------------------

ADDRESS = "https://charts.example/team"
WANTED = Dependency(repository=ADDRESS, name="sub", target="^1")


def chart(name: str, version: str = "1.0.0", more: Mapping[str, bytes] | None = None) -> bytes:
    """A packed chart."""
    text = CHART.replace("web", name).replace("1.0.0", version)
    return archives.packed({"Chart.yaml": text.encode(), **(more or {})}, name)


def fetched(content: bytes, version: str = "1.2.0") -> Tree:
    """An archive as a fetch brings it."""
    return MemoryTree({f"sub-{version}.tgz": content})


def gathered(
    dependency: str,
    files: Mapping[str, str | bytes] | None = None,
    *,
    helm: Helm | None = None,
    fetched: Tree | None = None,
    bounds: Bounds | None = None,
) -> Call:
    trees: dict[str, Tree] = {} if fetched is None else {WANTED.tree: fetched}
    spec = SourceSpec(path="app", helm=helm)
    remotes = (ADDRESS, "oci://charts.example")
    job = Job(name="web", namespace="shop", spec=spec, remotes=remotes, bounds=bounds or Bounds())
    tree = MemoryTree({"app/Chart.yaml": f"{CHART}dependencies: [{dependency}]\n", **(files or {})})
    call = GENERATORS[Tool.HELM](job, Trees({MAIN: tree, **trees}, "web"), "app")
    assert isinstance(call, Call)
    return call


def declaration(name: str = "sub", version: str = "^1", repository: str = ADDRESS) -> str:
    return f"{{name: {name}, version: '{version}', repository: '{repository}'}}"


def test_all_that_is_missing_is_asked_for_at_once_and_once() -> None:
    two = f"{declaration()}, {{name: sub, alias: b, version: ^1, repository: '{ADDRESS}'}}"
    with pytest.raises(DependenciesWanted) as wanted:
        gathered(f"{two}, {declaration('more', '1.x', 'oci://charts.example')}")
    more = Dependency(repository="oci://charts.example", name="more", target="1.x")
    assert wanted.value.dependencies == (WANTED, more)
    with pytest.raises(DependenciesWanted) as passing:
        gathered(two, helm=Helm(pass_credentials=True))
    assert [each.pass_credentials for each in passing.value.dependencies] == [True]
    assert passing.value.dependencies[0].tree != WANTED.tree


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({}, "repository/app/charts/sub-1.2.0.tgz"),
        ({"app/charts": "-> ../vendored"}, "repository/vendored/sub-1.2.0.tgz"),
    ],
)
def test_what_was_fetched_lies_where_helm_looks_for_it(files: dict[str, str], place: str) -> None:
    call = gathered(declaration(), files, fetched=fetched(chart("sub", "1.2.0")))
    assert [each.to for each in call.taken if each.source == WANTED.tree] == [place]


def test_no_version_of_a_server_names_a_file_elsewhere() -> None:
    lying = ChartRevision(
        url=ADDRESS, name="sub", version="1/../../../x", digest="ab" * 32, archive="/nowhere.tgz", largest=1
    )
    with pytest.raises(SourceRefused, match="the tree holds an entry named"):
        gathered(declaration(), fetched=ArchiveTree(lying))


@pytest.mark.parametrize(
    ("dependency", "words"),
    [
        (declaration(repository="@team"), "a name that only the helm of whoever gave it can look up"),
        (declaration(repository="alias:team"), "a name that only the helm of whoever gave it can look up"),
        (declaration(repository="https://charts.example/teams"), "may not be fetched"),
        (declaration(repository=f"{ADDRESS}/../other"), "may not be fetched"),
        (declaration(repository="https://me:secret@charts.example/team"), "may not be fetched"),
        (declaration(name="../sub"), "is no name of a chart"),
        (declaration(name="-x"), "is no name of a chart"),
        (declaration(version=""), "for a version, which is none"),
        (declaration(version="latest"), "for a version, which is none"),
        (declaration(repository=""), "is not in charts/"),
        (", ".join(declaration(f"sub{number}") for number in range(65)), "more than 64"),
    ],
)
def test_what_may_not_or_cannot_be_fetched_is_refused_before_anything_is_asked(
    dependency: str, words: str
) -> None:
    with pytest.raises((SourceRefused, RenderFailed), match=words) as raised:
        gathered(dependency)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", ["../../../evil", "/evil", ".", "a/b", "-x"])
def test_no_name_of_a_local_dependency_leads_out_of_the_private_copy(name: str) -> None:
    sub = {"sub/Chart.yaml": CHART.replace("web", "sub")}
    with pytest.raises(SourceRefused, match="is no name of a chart"):
        gathered(declaration(name, "1.0.0", "file://../sub"), sub)
    call = gathered(declaration("sub", "1.0.0", "file://../sub"), sub)
    assert [to for to, _ in call.made] == ["repository/app/charts/sub-1.0.0.tgz"]


@pytest.mark.parametrize(
    ("files", "is_vendored"),
    [
        ({"charts/sub/Chart.yaml": "name: sub"}, True),
        ({"charts/mine/Chart.yaml": "name: sub"}, True),
        ({"charts/sub/Chart.yaml": "name: other"}, False),
        ({"charts/sub/Chart.yaml": "["}, True),  # helm's to complain about
        ({"charts/sub": "-> ../../sub", "../sub/Chart.yaml": "name: sub"}, True),
        ({"charts/_sub/Chart.yaml": "name: sub"}, False),  # which helm does not look at
        ({"charts/README": "name: sub"}, False),
    ],
)
def test_what_is_vendored_is_known_by_its_own_name(files: dict[str, str], is_vendored: object) -> None:
    tree = {path.removeprefix("../") if path[0] == "." else f"app/{path}": it for path, it in files.items()}
    if is_vendored:
        assert gathered(declaration(), tree).program == "helm"
    else:
        with pytest.raises(DependenciesWanted):
            gathered(declaration(), tree)


@pytest.mark.parametrize(
    ("archive", "is_vendored"),
    [("sub-1.2.0.tgz", True), ("sub-v2.tar.gz", True), ("sub.tgz", True), ("sub-more-1.0.0.tgz", False)],
)
def test_a_vendored_archive_is_known_by_the_name_of_its_file(archive: str, is_vendored: object) -> None:
    expected = (
        SourceRefused if is_vendored else DependenciesWanted
    )  # it is looked through: this one is broken
    with pytest.raises(expected):
        gathered(declaration(), {f"app/charts/{archive}": "no archive"})


def test_a_lock_that_is_out_of_sync_matters_only_where_something_is_missing() -> None:
    lock = {"app/Chart.lock": MANY_LOCKED}
    with pytest.raises(RenderFailed, match=r"\(Chart.lock\) is out of sync .* \(Chart.yaml\)"):
        gathered(declaration(), lock)
    vendored = {"app/charts/sub/Chart.yaml": CHART.replace("web", "sub")}
    assert gathered(declaration(), lock | vendored).program == "helm"
    older = {"app/requirements.lock": MANY_LOCKED}
    with pytest.raises(RenderFailed, match=r"\(requirements.lock\) is out of sync"):
        gathered(declaration(), older)


# --- what is vendored only in part -----------------------------------------------------------------------

TWO = f"{declaration()}, {declaration('more', '1.0.0', 'file://../more')}"
MORE = {"more/Chart.yaml": CHART.replace("web", "more")}


def placed(call: Call) -> set[str]:
    """What lies in charts/ for helm."""
    inside = "repository/app/charts/"
    found = {each.to for each in call.taken} | {to for to, _ in call.made}
    return {to.removeprefix(inside).partition("/")[0] for to in found if to.startswith(inside)}


def test_what_is_vendored_in_the_version_that_is_needed_stays_beside_what_is_added() -> None:
    packed: dict[str, str | bytes] = {"charts/sub-1.1.0.tgz": chart("sub", "1.1.0")}
    unpacked: dict[str, str | bytes] = {"charts/sub/Chart.yaml": CHART.replace("web", "sub")}
    for vendored in (packed, unpacked):
        files = {f"app/{path}": content for path, content in vendored.items()}
        call = gathered(TWO, {**MORE, **files, "app/charts/extra.txt": "mine"})
        assert placed(call) == {"more-1.0.0.tgz", "extra.txt", *(path.split("/")[1] for path in vendored)}


def test_what_is_vendored_in_another_version_gives_way_once_anything_is_missing() -> None:
    old: dict[str, str | bytes] = {
        "app/charts/sub-0.9.0.tgz": chart("sub", "0.9.0"),
        "app/charts/mine/Chart.yaml": CHART.replace("web", "sub").replace("1.0.0", "0.8.0"),
    }
    with pytest.raises(DependenciesWanted) as wanted:
        gathered(TWO, {**MORE, **old})
    assert wanted.value.dependencies == (WANTED,)
    call = gathered(TWO, {**MORE, **old}, fetched=fetched(chart("sub", "1.2.0")))
    assert placed(call) == {"more-1.0.0.tgz", "sub-1.2.0.tgz"}
    # A lie about the version in the name of a file is none that counts.
    with pytest.raises(DependenciesWanted):
        gathered(TWO, {**MORE, "app/charts/sub-1.0.0.tgz": chart("sub", "0.9.0")})
    # Nothing is missing: helm renders what is there, and so do we.
    both = {**old, "app/charts/more-1.0.0.tgz": chart("more")}
    assert placed(gathered(TWO, both)) == {"sub-0.9.0.tgz", "mine", "more-1.0.0.tgz"}


def test_two_versions_of_one_chart_are_told_apart() -> None:
    again = f"{{name: sub, alias: b, version: '>=2', repository: '{ADDRESS}'}}"
    with pytest.raises(DependenciesWanted) as wanted:
        gathered(f"{TWO}, {again}", {**MORE, "app/charts/sub-1.0.0.tgz": chart("sub", "1.0.0")})
    assert [each.target for each in wanted.value.dependencies] == [">=2"]


# --- what helm would open by itself ----------------------------------------------------------------------

EVIL = b'{"$re\\u0066": "file:///etc/passwd"}'
PACKED = chart("sub", more={"values.schema.json": EVIL})
NESTED = chart("sub", more={"charts/x-1.0.0.tgz": PACKED})


@pytest.mark.parametrize(
    "files",
    [
        {"app/charts/sub-1.0.0.tgz": PACKED},
        {"app/charts/sub-1.0.0.tgz": NESTED},
        {"app/charts/sub-1.0.0.tgz": chart("sub", more={"charts\\x-1.0.0.tgz": PACKED})},
        {"app/charts": "-> ../vendored", "vendored/sub-1.0.0.tgz": PACKED},
        {"app/charts/sub-1.0.0.tgz": "-> ../files/any", "app/files/any": PACKED},
        {"app/charts/sub": "-> ../../sub", "sub/Chart.yaml": "name: sub", "sub/values.schema.json": EVIL},
        {"app/charts/sub-1.0.0.tgz": chart("sub"), "app/values.schema.json": "-> any", "app/any": EVIL},
    ],
    ids=[
        "packed",
        "packed twice",
        "with backslashes",
        "linked folder",
        "linked file",
        "linked chart",
        "linked",
    ],
)
def test_no_schema_that_refers_elsewhere_reaches_helm_whatever_way_it_would_find_it(
    files: Mapping[str, str | bytes],
) -> None:
    with pytest.raises(SourceRefused, match="refers to another document"):
        gathered(declaration(), files)
    assert gathered(declaration(), files, helm=Helm(skip_schema_validation=True)).program == "helm"


def test_neither_does_one_that_was_fetched_or_lies_beside_the_chart() -> None:
    for content in (PACKED, NESTED):
        with pytest.raises(SourceRefused, match="refers to another document"):
            gathered(declaration(), fetched=fetched(content))
    beside: dict[str, str | bytes] = {
        "sub/Chart.yaml": CHART.replace("web", "sub"),
        "sub/values.schema.json": EVIL,
    }
    with pytest.raises(SourceRefused, match="refers to another document"):
        gathered(declaration("sub", "1.0.0", "file://../sub"), beside)


def test_charts_that_are_packed_in_each_other_end_somewhere_and_count_together() -> None:
    deep = chart("sub")
    for _ in range(10):
        deep = chart("sub", more={"charts/sub-1.0.0.tgz": deep})
    with pytest.raises(SourceRefused, match="is packed in more than 8 others"):
        gathered(declaration(), {"app/charts/sub-1.0.0.tgz": deep})
    large = chart("x", more={"zeros": bytes(100 << 10)})
    bombs = {f"charts/x{number}-1.0.0.tgz": large for number in range(3)}
    with pytest.raises(SourceRefused, match="unpacks to more than"):
        gathered(
            declaration(),
            {"app/charts/sub-1.0.0.tgz": chart("sub", more=bombs)},
            bounds=Bounds(bytes=256 << 10),
        )


def test_rules_of_the_chart_say_nothing_about_what_lies_in_one_beside_it() -> None:
    files = {
        "app/.helmignore": "templates/\n*.txt\n",
        "sub/Chart.yaml": CHART.replace("web", "sub"),
        "sub/templates/a.yaml": "a: 1",
        "sub/notes.txt": "kept",
        "sub/secret.txt": "left out",
        "sub/.helmignore": "secret.txt\n",
    }
    call = gathered(declaration("sub", "1.0.0", "file://../sub"), files)
    (archive,) = (content for _, content in call.made)
    found = archives.contents(archive, subject="", path="", most_files=10, most_bytes=1 << 20)
    names = {name for name, _ in found}
    assert names == {"sub/.helmignore", "sub/Chart.yaml", "sub/notes.txt", "sub/templates/a.yaml"}
