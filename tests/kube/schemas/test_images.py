"""Tags of container images."""

from __future__ import annotations

import pytest

from trimtab.kube.schemas.images import image_tag

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nginx", "latest"),
        ("nginx:1.27", "1.27"),
        ("nginx:latest", "latest"),
        ("registry:5000/nginx", "latest"),
        ("registry:5000/team/nginx:v1", "v1"),
        (f"nginx@{DIGEST}", ""),
        (f"nginx:latest@{DIGEST}", "latest"),
        ("Registry.example.com/nginx", "latest"),
        ("[::1]:5000/nginx:x", "x"),
        ("nginx:", ""),
        ("Bad Image", ""),
        ("UPPER", ""),
        ("", ""),
    ],
)
def test_the_tag_of_an_image_is_read(image: str, tag: str) -> None:
    assert image_tag(image) == tag
