"""What clients accept, and what they get."""

from __future__ import annotations

import pytest

from trimtab.apiserver.negotiation import (
    Form,
    check_shape,
    form_of,
    is_aggregated,
    partial,
    refusal_form,
)
from trimtab.kube.refusals import Refused

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA = Form(shape="PartialObjectMetadata")
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form()),
        ("*/*", Form()),
        ("application/json", Form()),
        (f"{PROTOBUF},application/json", Form()),
        (f"{TABLE},application/json", Form()),
        (TABLE, Form()),
        ("application/yaml", Form("application/yaml")),
        ("application/json;q=0.1, application/yaml;q=0.9", Form("application/yaml")),
        ("application/yaml;q=0.1, application/json;q=0", Form("application/yaml")),
        ("text/html, */*;q=0.8", Form()),
        (TABLE.replace("v1", "v1beta1"), Form()),
        ("application/json;pretty=1", Form(for_people=True)),
        ("application/json;as=Poem, application/*;q=0.1", Form()),
        (PARTIAL, METADATA),
        (PARTIAL.replace("v1", "v1beta1"), Form(shape="PartialObjectMetadata", version="v1beta1")),
        (
            f"{PARTIAL.replace('json', 'vnd.kubernetes.protobuf')},{PARTIAL}",
            METADATA,
        ),
    ],
)
def test_the_form_of_an_answer_is_what_the_client_accepts_first(accept: str, form: Form) -> None:
    assert form_of(accept) == form


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/*",
        "APPLICATION/JSON",
        PROTOBUF,
        "application/json;as=Nothing;g=x;v=v1",
        PARTIAL.replace("v1", "v9"),
        TABLE.replace("v1", "v9"),
        "application/json;v=v1",
        "application/json;stream=words",
    ],
)
def test_what_cannot_be_written_is_refused(accept: str) -> None:
    with pytest.raises(Refused) as refused:
        form_of(accept)
    assert refused.value.code == 406


def test_metadata_alone_is_cut_out_of_an_object() -> None:
    body = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{}}'
    head = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",'
    assert partial(body) == head + b'"metadata":{"name":"a"}}'


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form()),
        ("application/*", Form()),
        ("application/yaml", Form("application/yaml")),
        ("text/html", Form(for_people=True)),
        (PARTIAL, Form(for_people=True)),
        (f"{PARTIAL}, application/json;q=0.1", Form()),
    ],
)
def test_a_refusal_is_laid_out_where_it_cannot_be_written_as_wished(accept: str, form: Form) -> None:
    assert refusal_form(accept) == form


@pytest.mark.parametrize(
    ("shape", "listed", "told"),
    [
        ("", True, ""),
        ("PartialObjectMetadata", False, ""),
        ("PartialObjectMetadataList", True, ""),
        (
            "PartialObjectMetadata",
            True,
            "you requested PartialObjectMetadata, but the requested object is a list (*T)",
        ),
        (
            "PartialObjectMetadataList",
            False,
            "you requested PartialObjectMetadataList, but the requested object is not a list (*T)",
        ),
    ],
)
def test_metadata_is_had_of_what_there_is(shape: str, told: str, *, listed: bool) -> None:
    said = ""
    try:
        check_shape(Form(shape=shape), listed=listed, type_name="*T")
    except Refused as refused:
        said = refused.message
    assert said == told


def test_a_status_is_told_whole() -> None:
    body = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}'
    assert partial(body) == body


def test_aggregated_discovery_is_for_those_who_ask_for_it_first() -> None:
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert is_aggregated(f"{aggregated},application/json")
    assert not is_aggregated(f"application/json,{aggregated}")
