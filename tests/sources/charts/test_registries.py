"""What registries say, read with suspicion."""

from __future__ import annotations

import msgspec
import pytest

from trimtab.errors import SourceRefused
from trimtab.sources.charts.registries import (
    Challenge,
    Layer,
    challenge_in,
    layer_in,
    next_page,
    tag_of,
    tags_in,
    token_in,
    token_url,
    version_of_tag,
)

DIGEST = "cd" * 32
CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def manifest(*layers: dict[str, object]) -> bytes:
    return msgspec.json.encode({"schemaVersion": 2, "layers": layers})


def test_a_plus_sign_of_a_version_is_an_underscore_in_a_tag() -> None:
    assert (tag_of("1.0.0+b1"), version_of_tag("1.0.0_b1")) == ("1.0.0_b1", "1.0.0+b1")


def test_tags_are_told_page_by_page() -> None:
    assert tags_in(b'{"name":"web","tags":["1.0.0","1.1.0"]}', "web") == ("1.0.0", "1.1.0")
    assert tags_in(b'{"name":"web","tags":null}', "web") == ()
    assert next_page({"Link": '</v2/web/tags/list?last=1.1.0>; rel="next"'}) == "/v2/web/tags/list?last=1.1.0"
    assert next_page({}) == ""


def test_a_manifest_names_the_archive_among_its_layers() -> None:
    provenance = {"mediaType": "application/vnd.cncf.helm.chart.provenance.v1.prov", "digest": "x", "size": 1}
    chart = {"mediaType": CHART, "digest": f"sha256:{DIGEST}", "size": 7}
    assert layer_in(manifest(provenance, chart), "web") == Layer(digest=DIGEST, size=7)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"<html>",
        manifest(),
        manifest({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": f"sha256:{DIGEST}"}),
        manifest({"mediaType": CHART, "digest": "sha256:../../../etc/passwd", "size": 1}),
        manifest({"mediaType": CHART, "digest": f"sha512:{DIGEST}{DIGEST}", "size": 1}),
        manifest({"mediaType": CHART, "digest": f"sha256:{DIGEST}", "size": -1}),
    ],
)
def test_what_is_no_chart_is_refused(content: bytes) -> None:
    with pytest.raises(SourceRefused):
        layer_in(content, "web")


def test_a_token_is_asked_for_reading_one_repository() -> None:
    headers = ('Basic realm="x"', 'Bearer realm="https://auth.example/token",service="r.example",scope="all"')
    challenge = challenge_in(headers)
    assert challenge == Challenge(is_bearer=True, realm="https://auth.example/token", service="r.example")
    assert token_url(challenge, "team/web", "web") == (
        "https://auth.example/token?service=r.example&scope=repository%3Ateam%2Fweb%3Apull"
    )
    assert challenge_in(("Negotiate",)) is None


@pytest.mark.parametrize("realm", ["", "http://auth.example/token", "file:///etc/passwd", "https://a/#b"])
def test_a_password_goes_to_no_realm_that_is_not_safe(realm: str) -> None:
    with pytest.raises(SourceRefused):
        token_url(Challenge(is_bearer=True, realm=realm), "team/web", "web")


def test_a_token_is_one_word() -> None:
    assert token_in(b'{"token":"abc"}', "web") == token_in(b'{"access_token":"abc"}', "web") == "abc"
    for strange in (b"{}", b"[]", b'{"token":"a b"}', b'{"token":"a\\r\\nX: y"}'):
        with pytest.raises(SourceRefused):
            token_in(strange, "web")


def test_an_answer_that_is_nested_without_end_is_no_answer() -> None:
    deep = b'{"x":' + b"[" * 1_000_000
    for read in (tags_in, layer_in, token_in):
        with pytest.raises(SourceRefused, match="not that of a registry"):
            read(deep, "web")
