"""Both forms of an index page lead to the pinned file, or to a clear refusal."""

from __future__ import annotations

import json
from typing import Protocol

import pytest

from trimtab.errors import Missing, SourceRefused, TrimtabError, Unavailable
from trimtab.programs.index import JSON, file_url, is_address, page_url
from trimtab.programs.pins import Pin

SHA = "ab" * 32
PIN = Pin(
    project="tool",
    filename="tool-1+2-py3-none-any.whl",
    size=1,
    sha256=SHA,
    members=("tool",),
    program_size=1,
    program_sha256=SHA,
    version=(1, 0, 0),
)
BASE = "https://me:word@mirror.example/simple/tool/"


class Form(Protocol):
    def __call__(self, url: str, **hashes: str) -> tuple[bytes, str]: ...


def in_json(url: str, **hashes: str) -> tuple[bytes, str]:
    other = {"filename": "other.whl", "url": "https://files.example/other.whl", "hashes": {}}
    file = {"filename": PIN.filename, "url": url, "hashes": hashes, "size": 5}
    return json.dumps({"meta": {"api-version": "1.1"}, "files": [other, file]}).encode(), JSON


def in_html(url: str, **hashes: str) -> tuple[bytes, str]:
    fragment = "".join(f"#{kind}={value}" for kind, value in hashes.items())
    page = (
        f'<!DOCTYPE html><a>no</a><a href="other.whl">other</a><br/><A data-x HREF="{url}{fragment}">any</a>'
    )
    return page.encode(), "text/html"


@pytest.mark.parametrize("form", [in_json, in_html])
@pytest.mark.parametrize(
    ("offered", "address"),
    [
        ("https://files.example/a/tool-1+2-py3-none-any.whl", None),
        ("https://files.example/a/tool-1%2B2-py3-none-any.whl", None),
        ("../../a/tool-1+2-py3-none-any.whl", "https://me:word@mirror.example/a/tool-1+2-py3-none-any.whl"),
        (
            "https://mirror.example/tool-1+2-py3-none-any.whl",
            "https://me:word@mirror.example/tool-1+2-py3-none-any.whl",
        ),
        ("http://mirror.example/tool-1+2-py3-none-any.whl", None),
        ("https://mirror.example:444/tool-1+2-py3-none-any.whl", None),
    ],
    ids=["elsewhere", "quoted", "relative", "same server", "other scheme", "other port"],
)
def test_the_file_is_found_and_credentials_stay_with_their_server(
    form: Form, offered: str, address: str | None
) -> None:
    page, content_type = form(offered, sha256=SHA)
    assert file_url(page, content_type=content_type, base=BASE, pin=PIN) == (address or offered)


@pytest.mark.parametrize("form", [in_json, in_html])
def test_a_file_without_a_hash_is_proved_later(form: Form) -> None:
    page, content_type = form("https://files.example/tool-1+2-py3-none-any.whl")
    assert file_url(page, content_type=content_type, base=BASE, pin=PIN).startswith("https://files.example/")


@pytest.mark.parametrize(
    ("page", "error"),
    [
        (in_json("https://files.example/tool-1+2-py3-none-any.whl", sha256="cd" * 32), SourceRefused),
        (in_html("https://files.example/tool-1+2-py3-none-any.whl", sha256="cd" * 32), SourceRefused),
        (in_json("file:///tool-1+2-py3-none-any.whl"), SourceRefused),
        (in_html("file:///etc/tool-1+2-py3-none-any.whl"), SourceRefused),
        (in_html("https://files.example/tool-1.whl"), Missing),
        ((b'{"files": []}', JSON), Missing),
        ((b"{", JSON), Unavailable),
        ((b'{"x":' + b"[" * 100_000, JSON), Unavailable),
        ((b'{"files": [{"filename": "\xff", "url": ""}]}', JSON), Unavailable),
        (in_json("http://[/tool-1+2-py3-none-any.whl"), Unavailable),
        (in_html("http://[/tool-1+2-py3-none-any.whl"), Unavailable),
        (in_json("http://files.example:port/tool-1+2-py3-none-any.whl"), Unavailable),
        (in_json(f"http://{'a' * 300}/tool-1+2-py3-none-any.whl"), Unavailable),
        ((b'{"files": 7}', JSON), Unavailable),
        ((b"\xff<<<a href=", "text/html"), Missing),
    ],
)
def test_anything_else_is_refused(page: tuple[bytes, str], error: type[TrimtabError]) -> None:
    with pytest.raises(error) as caught:
        file_url(page[0], content_type=page[1], base=BASE, pin=PIN)
    assert type(caught.value) is error
    assert "word" not in str(caught.value)


def test_a_page_has_one_address_however_the_index_is_written() -> None:
    assert page_url("https://i.example/simple", "tool") == page_url("https://i.example/simple/", "tool")


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("https://pypi.org/simple/", True),
        ("http://user:word@[::1]:8080", True),
        ("https://pypi.org.", True),
        ("", False),
        ("pypi.org/simple", False),
        ("ftp://pypi.org", False),
        ("http://[::1", False),
        ("http://host:99999", False),
        ("http://host:0", False),
        ("http://..", False),
        (f"http://{'a' * 300}", False),
    ],
)
def test_an_address_is_one_that_can_be_asked_over_http(text: str, *, good: bool) -> None:
    assert is_address(text) is good
