"""No schema has helm open another document, however it is spelled: helm was asked what it opens."""

from __future__ import annotations

import pytest

from trimtab.sources.rendering.schemas import objection_to

OUTSIDE = "refers to another document"


@pytest.mark.parametrize(
    ("schema", "objection"),
    [
        (b"", ""),
        (b'{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}', ""),
        (b'{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://a.example/x"}', ""),
        (b'{"properties": {"a": {"$ref": "#/definitions/b"}, "$ref": {"type": "string"}}}', ""),
        (b'{"maximum": ' + b"9" * 5000 + b"}", ""),
        (b'{"$ref": "file:///etc/passwd"}', OUTSIDE),
        (b'{"$re\\u0066": "file:///etc/passwd"}', OUTSIDE),
        (b'{"$dynamicRef": "http://169.254.169.254/"}', OUTSIDE),
        (b'{"$recursiveRef": "http://169.254.169.254/"}', OUTSIDE),
        (b'{"$schema": "http://169.254.169.254/"}', OUTSIDE),
        (b'{"$schema": "http://json-schema.org.evil/"}', OUTSIDE),
        (b'{"$ref": "other.json", "$ref": "#"}', OUTSIDE),
        (b'{"title": "\xff", "allOf": [{"$ref": "other.json"}]}', OUTSIDE),
        (b'{"maximum": ' + b"9" * 5000 + b', "$ref": "other.json"}', OUTSIDE),
        (b"[" * 200_000, "is nested too deep"),
        (b"{", "is no JSON"),
    ],
)
def test_what_a_schema_refers_to_is_known(schema: bytes, objection: str) -> None:
    found = objection_to(schema)
    assert found.startswith(objection) if objection else found == ""
