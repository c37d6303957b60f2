"""What clients accept, and what they get."""

from __future__ import annotations

import pytest

from trimtab.apiserver.negotiation import Form, form_of, is_aggregated, partial
from trimtab.kube.refusals import Refused

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
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
        (PARTIAL, Form(partial=True)),
        (f"{PARTIAL.replace('json', 'vnd.kubernetes.protobuf')},{PARTIAL}", Form(partial=True)),
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


def test_a_status_is_told_whole() -> None:
    body = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}'
    assert partial(body) == body


def test_aggregated_discovery_is_for_those_who_ask_for_it_first() -> None:
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert is_aggregated(f"{aggregated},application/json")
    assert not is_aggregated(f"application/json,{aggregated}")
