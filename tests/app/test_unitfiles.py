"""What one unit file says, of one source or several, and what is wrong with it."""

from __future__ import annotations

import pytest

from trimtab.app.appsources import AppSource, AppSources, recorded, sources_of
from trimtab.app.unitfiles import Origin, unit_in
from trimtab.engine.units import Automated, Destination, Policy, SyncUnit
from trimtab.errors import InvalidSpec
from trimtab.sources.rendering.specs import FileParameter, Helm, Kustomize, Parameter, Replicas, SourceSpec

GIT = Origin(url="https://git.example/fleet.git", target="main", path="units")
FOLDER = Origin(folder="/srv/units")
SHOP = """
source: {repoURL: "https://git.example/shop.git", targetRevision: v1, spec: {path: live}}
destination: {cluster: prod, namespace: shop}
policy: {automated: {prune: true, selfHeal: true}}
tenant: shop
"""
PLAIN = "source: {spec: {path: web}}\n"
SEVERAL = """
sources:
- repoURL: https://charts.example
  targetRevision: ^1
  spec:
    chart: web
    helm:
      valueFiles: [$values/live.yaml]
      fileParameters: [{name: motd, path: $values/motd}]
      parameters: [{name: size, value: "2", forceString: true}]
      valuesObject: {someKey: {innerKey: 1}}
- {ref: values, repoURL: v}
- {folder: extra, spec: {kustomize: {namePrefix: x-, replicas: [{name: web, count: 2}]}}}
"""


def said(text: str, origin: Origin = GIT, name: str = "shop/web") -> SyncUnit:
    return unit_in(text.encode(), name, f"{name}.yaml", origin)


def test_a_file_says_all_that_is_wanted_of_a_unit() -> None:
    source = AppSource(
        repo_url="https://git.example/shop.git", target_revision="v1", spec=SourceSpec(path="live")
    )
    assert said(SHOP) == SyncUnit(
        id="shop/web",
        source=recorded(source),
        destination=Destination(cluster="prod", namespace="shop"),
        policy=Policy(automated=Automated(prune=True, self_heal=True)),
        tenant="shop",
        declared_in="https://git.example/fleet.git, units",
    )


def test_what_a_file_leaves_out_is_its_own_repository_and_the_cluster_at_hand() -> None:
    unit = said(PLAIN)
    assert unit.source["repoURL"] == "https://git.example/fleet.git"
    assert unit.source["targetRevision"] == "main"
    assert unit.destination == Destination(cluster="here")


def test_a_folder_is_meant_from_where_the_files_are() -> None:
    assert said("source: {folder: ../shop}", FOLDER).source["folder"] == "/srv/shop"
    assert said("source: {folder: /opt/shop}", FOLDER).source["folder"] == "/opt/shop"


@pytest.mark.parametrize(
    ("text", "origin", "complaint"),
    [
        ("source: {folder: /etc}", GIT, "a folder of the runner's machine"),
        ("source: {repoUrl: x}", GIT, "no field repoUrl"),
        (PLAIN, FOLDER, "neither folder nor repoURL"),
        ("source: {folder: a, repoURL: b}", FOLDER, "a folder and a repository"),
        ("source: {}\nid: other", GIT, "named for unit shop/web and says other"),
        ("source: {}\nstatus: {}", GIT, "unknown field `status`"),
        ("destination: {namespace: shop}", GIT, "it names no source"),
        ("source: {}\ndestination: {namespace: [1]}", GIT, "does not describe a unit"),
        (
            "source: {}\ndestination: {namespace: Two Words}",
            GIT,
            "'Two Words' is not the name of a namespace",
        ),
        ("[1, 2]", GIT, "does not describe a unit"),
        ("source: {spec: {path: " + "x" * 300_000 + "}}", GIT, "more than 256 KiB"),
    ],
)
def test_a_file_that_cannot_be_meant_says_what_is_wrong(text: str, origin: Origin, complaint: str) -> None:
    with pytest.raises(InvalidSpec, match=complaint):
        said(text, origin)


def test_several_sources_are_spelled_as_applications_spell_them() -> None:
    chart, values, extra = sources_of(said(SEVERAL, FOLDER)).entries
    helm = Helm(
        value_files=("$values/live.yaml",),
        file_parameters=(FileParameter(name="motd", path="$values/motd"),),
        parameters=(Parameter(name="size", value="2", force_string=True),),
        values_object={"someKey": {"innerKey": 1}},
    )
    assert chart == AppSource(
        repo_url="https://charts.example", target_revision="^1", spec=SourceSpec(chart="web", helm=helm)
    )
    assert values == AppSource(repo_url="v", ref="values")
    overlay = Kustomize(name_prefix="x-", replicas=(Replicas(name="web", count=2),))
    assert extra == AppSource(folder="/srv/units/extra", spec=SourceSpec(kustomize=overlay))


def test_each_of_several_sources_that_names_no_repository_is_in_that_of_the_file() -> None:
    unit = said("sources: [{repoURL: c, spec: {path: chart}}, {ref: values}, {targetRevision: v2}]")
    urls = [(each.repo_url, each.target_revision) for each in sources_of(unit).entries]
    assert urls == [("c", "HEAD"), (GIT.url, "main"), (GIT.url, "v2")]


def test_a_list_of_one_is_one_source_and_the_spelling_of_records_is_understood() -> None:
    one = said("sources: [{repoURL: c, spec: {helm: {value_files: [a.yaml]}}}]")
    assert one == said("source: {repoURL: c, spec: {helm: {valueFiles: [a.yaml]}}}")
    source = AppSource(repo_url="c", spec=SourceSpec(helm=Helm(value_files=("a.yaml",))))
    assert one.source == recorded(AppSources((source,))) == recorded(source)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("source: {}\nsources: [{}]", "it has both source and sources"),
        ("sources: []", "its list of sources is empty"),
        ("source: {ref: a}", "its source is the only one"),
        ("sources: [{spec: {path: a}}, {path: b}]", "source 2: a source has no field path"),
        ("sources: [{spec: {helm: {valuesFiles: []}}}]", "source 1: Helm has no field valuesFiles"),
        ("sources: [{spec: {helm: {parameters: [{key: a}]}}}]", "source 1: Parameter has no field key"),
        ("sources: [{spec: [1]}]", "does not describe a unit"),
        ("sources: [{spec: {helm: {value_files: [a], valueFiles: [b]}}}]", "valueFiles is said twice"),
        ("sources: [{spec: {helm: [[1]]}}]", "does not describe a unit"),
        ("sources: [{spec: {path: .}}, {folder: a}]", "source 2: its source is a folder of the runner"),
        ("sources: [{ref: a}]", "nothing would be rendered"),
    ],
)
def test_sources_that_cannot_be_meant_say_which_and_why(text: str, complaint: str) -> None:
    with pytest.raises(InvalidSpec, match=complaint):
        said(text)


def test_a_name_that_no_unit_can_have_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="an id has up to"):
        said(PLAIN, name="shop\n1")
