"""Values from the command line: said once they are recorded, said again they are changed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from trimtab.app.tuning import Tuning, tuned
from trimtab.errors import InvalidSpec
from trimtab.sources.rendering.specs import Helm, Kustomize, Parameter, SourceSpec

CHART = SourceSpec(
    path="chart",
    helm=Helm(
        value_files=("live.yaml",),
        parameters=(Parameter(name="size", value="2"), Parameter(name="tag", value="1", force_string=True)),
        skip_crds=True,
    ),
)
IMAGES = ("web:1", "db=registry.example:5000/db:2", "registry.example:5000/api:1")
OVERLAY = SourceSpec(
    path="live",
    kustomize=Kustomize(name_prefix="a-", images=IMAGES),
)


def params(*pairs: tuple[str, str, bool]) -> tuple[Parameter, ...]:
    return tuple(Parameter(name=name, value=value, force_string=text) for name, value, text in pairs)


@pytest.mark.parametrize(
    ("said", "files", "parameters"),
    [
        (Tuning(), ("live.yaml",), (("size", "2", False), ("tag", "1", True))),
        (Tuning(values=("size=3",)), ("live.yaml",), (("size", "3", False), ("tag", "1", True))),
        (
            Tuning(values=("a.b=c=d",)),
            ("live.yaml",),
            (("size", "2", False), ("tag", "1", True), ("a.b", "c=d", False)),
        ),
        (Tuning(texts=("size=3",)), ("live.yaml",), (("size", "3", True), ("tag", "1", True))),
        (Tuning(values=("tag=",)), ("live.yaml",), (("size", "2", False), ("tag", "", False))),
        (
            Tuning(files=("/x.yaml", "y.yaml")),
            ("/x.yaml", "y.yaml"),
            (("size", "2", False), ("tag", "1", True)),
        ),
    ],
)
def test_a_value_of_a_chart_is_changed_by_naming_it_again(
    said: Tuning, files: tuple[str, ...], parameters: tuple[tuple[str, str, bool], ...]
) -> None:
    assert CHART.helm is not None
    expected = replace(CHART.helm, value_files=files, parameters=params(*parameters))
    assert tuned(CHART, said, "x") == replace(CHART, helm=expected)


@pytest.mark.parametrize(
    ("said", "images", "names"),
    [
        (Tuning(images=("web:2",)), ("web:2", *IMAGES[1:]), ("a-", "")),
        (Tuning(images=("web=other@sha256:1",)), ("web=other@sha256:1", *IMAGES[1:]), ("a-", "")),
        (
            Tuning(images=("registry.example:5000/api@sha256:1",)),
            (*IMAGES[:2], "registry.example:5000/api@sha256:1"),
            ("a-", ""),
        ),
        (Tuning(name_prefix="", name_suffix="-b"), IMAGES, ("", "-b")),
    ],
)
def test_an_image_or_a_name_of_an_overlay_is_changed_by_naming_it_again(
    said: Tuning, images: tuple[str, ...], names: tuple[str, str]
) -> None:
    expected = Kustomize(images=images, name_prefix=names[0], name_suffix=names[1])
    assert tuned(OVERLAY, said, "x") == replace(OVERLAY, kustomize=expected)


def test_what_was_recorded_is_forgotten_at_once_and_what_is_said_beside_it_holds() -> None:
    assert tuned(CHART, Tuning(reset=True), "x") == SourceSpec(path="chart")
    assert tuned(CHART, Tuning(reset=True, values=("a=1",)), "x") == SourceSpec(
        path="chart", helm=Helm(parameters=params(("a", "1", False)))
    )
    assert tuned(CHART, Tuning(reset=True, name_prefix="x-"), "x") == SourceSpec(
        path="chart", kustomize=Kustomize(name_prefix="x-")
    )


@pytest.mark.parametrize(
    ("spec", "said", "sentence"),
    [
        (
            SourceSpec(),
            Tuning(values=("a=1",), images=("web:1",)),
            "it is a chart or an overlay, and values for both are given",
        ),
        (OVERLAY, Tuning(values=("a=1",)), "it is recorded with values of a Kustomize overlay"),
        (CHART, Tuning(images=("web:1",)), "it is recorded with values of a Helm chart"),
        (SourceSpec(), Tuning(values=("secret",)), "it says no key=value"),
        (SourceSpec(), Tuning(texts=("=secret",)), "it says no key=value"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(
    spec: SourceSpec, said: Tuning, sentence: str
) -> None:
    with pytest.raises(InvalidSpec, match=sentence):
        tuned(spec, said, "source ./x")
