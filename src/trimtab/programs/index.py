"""Reads a page of a package index: where one file is, and which hash the index says it has.

Pure. Indexes answer in JSON if they can and in HTML otherwise, so both forms of the simple API are read.
"""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec
from msgspec import Struct

from trimtab.errors import Missing, SourceRefused, Unavailable
from trimtab.programs.pins import Pin

JSON = "application/vnd.pypi.simple.v1+json"
ACCEPT = f"{JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


class _File(Struct, frozen=True):
    filename: str
    url: str
    hashes: dict[str, str] = {}


class _Page(Struct, frozen=True):
    files: list[_File]


_PAGE: Final = msgspec.json.Decoder(_Page)


def file_url(page: bytes, *, content_type: str, base: str, pin: Pin) -> str:
    """The address of the pinned file; refused if the index offers another one under its name."""
    try:
        files = _json_files(page, pin) if "json" in content_type else _html_files(page)
        for file in files:
            if file.filename == pin.filename:
                return _checked(file, base, pin)
    except ValueError as exc:
        raise Unavailable(pin.project, "the package index names an address that is none") from exc
    reason = f"the package index holds no file {pin.filename}"
    raise Missing(pin.project, reason, "Use an index that mirrors all of PyPI.")


def page_url(index: str, project: str) -> str:
    """The address of a project's page."""
    return f"{index.rstrip('/')}/{project}/"


def is_address(text: str) -> bool:
    """Can somebody be asked over HTTP there?"""
    try:
        url = urlsplit(text)
        host, port = (url.hostname or "").removesuffix(".").encode("idna"), url.port
    except ValueError:  # a broken IPv6 address, a port out of range, a name that is too long
        return False
    return url.scheme in {"http", "https"} and host != b"" and port != 0


def _checked(file: _File, base: str, pin: Pin) -> str:
    offered = file.hashes.get("sha256", pin.sha256)
    if offered != pin.sha256:
        reason = f"the index offers {pin.filename} with another hash than the pinned one"
        raise SourceRefused(pin.project, reason, "Do not use this index.")
    address = urlsplit(urldefrag(urljoin(base, file.url)).url)
    page = urlsplit(base)
    if address.scheme not in {"http", "https"}:
        raise SourceRefused(pin.project, "the index sends us to an address that is not HTTP")
    if not is_address(address.geturl()):
        raise ValueError(address)
    # Credentials of the index are for its own server, and for nobody else.
    if (address.scheme, address.hostname, address.port) == (page.scheme, page.hostname, page.port):
        address = address._replace(netloc=page.netloc)
    return address.geturl()


def _json_files(page: bytes, pin: Pin) -> list[_File]:
    try:
        return _PAGE.decode(page).files
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        raise Unavailable(pin.project, "the package index answered with unreadable JSON") from exc


def _html_files(page: bytes) -> list[_File]:
    links = _Links()
    links.feed(page.decode("utf-8", "replace"))
    links.close()
    return [_linked(address) for address in links.addresses]


def _linked(address: str) -> _File:
    """A link of an index page: the path's last part is the file, the fragment its hash."""
    plain, fragment = urldefrag(address)
    kind, _, value = fragment.partition("=")
    filename = unquote(urlsplit(plain).path.rpartition("/")[2])
    return _File(filename, plain, {kind: value} if value else {})


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.addresses += [value for name, value in attrs if name == "href" and value]
