"""The ways in which a user proves who they are, and a server too, where these may change under way.

Files rotate: each of these reads its content again from time to time, and while a new one cannot be used
(found half-written, or between the writing of a certificate and its key) the last good one stands.
"""

from __future__ import annotations

import base64

from msgspec import Struct

from trimtab.errors import InvalidSpec, TrimtabError
from trimtab.kube.auth.certificates import ClientPair, authorities, client_pair, validity_problem
from trimtab.kube.auth.files import Content
from trimtab.kube.auth.impersonation import is_sendable
from trimtab.kube.auth.plugin import Plugin
from trimtab.kube.auth.redaction import Secret
from trimtab.tasks.clock import Clock


class Token:
    """A bearer token that may change."""

    def __init__(self, content: Content, *, subject: str, field: str) -> None:
        self._content = content
        self._subject = subject
        self._field = field
        self._read = content.current()
        self._token = self._parsed(self._read)

    def current(self) -> Secret:
        """The token; while a new one is unusable the last stands."""
        read = self._content.current()
        if read != self._read:  # every request asks, and a token is long: it is judged once
            self._read = read
            try:
                self._token = self._parsed(read)
            except TrimtabError:  # found half-written
                return self._token
        return self._token

    def reread(self) -> bool:
        """Look again now; is it another?"""
        return self._content.reread()

    def _parsed(self, read: bytes) -> Secret:
        text = read.decode(errors="replace").strip()
        if not text:
            raise InvalidSpec(self._subject, f"its {self._field} is empty", "Write a token to it")
        if not is_sendable(text):
            reason = f"its {self._field} holds line breaks or control characters, so it is no token"
            raise InvalidSpec(self._subject, reason, "Set it to a token")
        return Secret(text)


class Client:
    """A client certificate and key that may change."""

    def __init__(
        self, certificate: Content, key: Content, *, subject: str, names: tuple[str, str], clock: Clock
    ) -> None:
        self._certificate = certificate
        self._key = key
        self._subject = subject
        self._names = names
        self._clock = clock
        self._read = (certificate.current(), key.current())
        self._pair = client_pair(*self._read, subject=subject, names=names)
        self.current()

    def current(self) -> ClientPair:
        """The pair, if it is valid now; while a new one is unusable the last stands."""
        self._take()
        if validity_problem(self._pair, self._clock.now()) and self.reread():
            self._take()
        if problem := validity_problem(self._pair, self._clock.now()):
            remedy = "Renew the certificate" if "expired" in problem else "Check this machine's clock"
            raise InvalidSpec(self._subject, f"its {problem}", remedy)
        return self._pair

    def reread(self) -> bool:
        """Look again now; is anything another?"""
        return any([self._certificate.reread(), self._key.reread()])

    def _take(self) -> None:
        read = (self._certificate.current(), self._key.current())
        if read == self._read:
            return
        self._read = read
        try:
            self._pair = client_pair(*read, subject=self._subject, names=self._names)
        except TrimtabError:  # found between the writing of one and the other
            return


class Authorities:
    """The CA bundle that may change."""

    def __init__(self, content: Content, *, subject: str, field: str) -> None:
        self._content = content
        self._subject = subject
        self._field = field
        self._read = content.current()
        self._bundle = authorities(self._read, subject=subject, field=field)

    def current(self) -> str:
        """The bundle; while a new one is unusable the last stands."""
        read = self._content.current()
        if read != self._read:
            self._read = read
            try:
                self._bundle = authorities(read, subject=self._subject, field=self._field)
            except TrimtabError:  # found half-written
                return self._bundle
        return self._bundle

    def base64(self) -> str:
        """The bundle as exec plugins are told of it."""
        return base64.b64encode(self.current().encode()).decode()


class Identity(Struct, frozen=True, kw_only=True):
    """The ways in which one user proves who they are; most users have one."""

    basic: Secret | None = None
    token: Token | None = None
    client: Client | None = None
    plugin: Plugin | None = None
