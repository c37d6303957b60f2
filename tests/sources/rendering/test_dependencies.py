"""What charts declare and lock; the digests were made by helm itself."""

from __future__ import annotations

import pytest

from tests.sources.memorytree import MemoryTree
from trimtab.errors import RenderFailed, SourceRefused
from trimtab.resources.yaml import load
from trimtab.sources.charts.archivetree import ArchiveTree
from trimtab.sources.charts.wishes import ChartRevision
from trimtab.sources.rendering.dependencies import (
    DependenciesWanted,
    Dependency,
    Lock,
    Needed,
    declared_in,
    lock_in,
)
from trimtab.sources.rendering.generators import GENERATORS
from trimtab.sources.rendering.jobs import Call, Job
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
REVISION = ChartRevision(
    url=ADDRESS, name="sub", version="1.2.0", digest="ab" * 32, archive="/nowhere.tgz", largest=1
)


def gathered(
    dependency: str,
    files: dict[str, str] | None = None,
    *,
    helm: Helm | None = None,
    fetched: Tree | None = None,
) -> Call:
    trees: dict[str, Tree] = {} if fetched is None else {WANTED.tree: fetched}
    spec = SourceSpec(path="app", helm=helm)
    job = Job(name="web", namespace="shop", spec=spec, remotes=(ADDRESS, "oci://charts.example"))
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
    call = gathered(declaration(), files, fetched=ArchiveTree(REVISION))
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
    assert "repository/app/charts/sub/Chart.yaml" in [each.to for each in call.taken]


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
