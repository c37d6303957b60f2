"""The process behind `testbed.gitserver`: smart HTTP, HTTPS and SSH over git's own programs.

Run as a file with the path of a JSON `Config`. It decides who may come in; everything else is done by
`git http-backend`, `git upload-pack` and `git receive-pack`.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import shlex
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import asyncssh
import msgspec
from aiohttp import web
from msgspec import Struct

CHUNK = 65536
SSH_USER = "git"
LFS_GRANT = "lfs-grant.json"
SSH_SERVICES = {"git-upload-pack": "upload-pack", "git-receive-pack": "receive-pack"}


class Config(Struct, frozen=True, kw_only=True):
    """What the process needs to know."""

    root: str  # the folder of bare repositories
    git: str
    http_port: int
    https_port: int
    ssh_port: int
    user: str
    password: str
    anonymous_read: bool
    certificate: str
    certificate_key: str
    host_key: str
    authorized_keys: str

    def environment(self) -> dict[str, str]:
        """What git programs see: nothing of this machine's own configuration."""
        return {"PATH": str(Path(self.git).parent), "HOME": self.root, "GIT_CONFIG_NOSYSTEM": "1"}


def may_enter(config: Config, authorization: str, *, writes: bool) -> bool:
    """Is this Authorization header good enough for reading, or for writing?"""
    credentials = base64.b64encode(f"{config.user}:{config.password}".encode()).decode()
    known = hmac.compare_digest(authorization.encode(), f"Basic {credentials}".encode())
    return known or (config.anonymous_read and not writes)


def cgi_variables(config: Config, request: web.Request) -> dict[str, str]:
    """A request as `git http-backend` wants to be told of it."""
    headers = request.headers
    told = {
        "GIT_PROJECT_ROOT": config.root,
        "GIT_HTTP_EXPORT_ALL": "1",
        "REQUEST_METHOD": request.method,
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query_string,
        "CONTENT_TYPE": headers.get("Content-Type", ""),
        "REMOTE_ADDR": request.remote or "",
        "GIT_PROTOCOL": headers.get("Git-Protocol", ""),
    }
    known = {"REMOTE_USER": config.user} if "Authorization" in headers else {}
    return {**config.environment(), **told, **known}


async def serve_http(config: Config, request: web.Request) -> web.StreamResponse:
    """Hand one request to `git http-backend` and its answer back."""
    writes = "git-receive-pack" in (request.query.get("service", ""), request.path.rpartition("/")[2])
    if not may_enter(config, request.headers.get("Authorization", ""), writes=writes):
        return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="testbed"'})
    backend = await asyncio.create_subprocess_exec(
        config.git,
        "http-backend",
        env=cgi_variables(config, request),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert backend.stdin and backend.stdout  # noqa: S101, PT018 - asked for above
    async with asyncio.TaskGroup() as both:
        both.create_task(_pump(request.content, backend.stdin))
        answer = both.create_task(_send_answer(request, backend.stdout))
    await backend.wait()
    return answer.result()


async def _send_answer(request: web.Request, backend: asyncio.StreamReader) -> web.StreamResponse:
    """What the backend says, headers first, as an HTTP answer."""
    headers: dict[str, str] = {}
    while line := (await backend.readline()).decode().strip():
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    status = int(headers.pop("Status", "200").split()[0])
    response = web.StreamResponse(status=status, headers=headers)
    await response.prepare(request)
    while chunk := await backend.read(CHUNK):
        await response.write(chunk)
    await response.write_eof()
    return response


def git_command(config: Config, command: str) -> tuple[str, ...]:
    """The program for what an SSH client asked to run; empty if it may not."""
    words = shlex.split(command)
    if len(words) != 2 or words[0] not in SSH_SERVICES:
        return ()
    path = (Path(config.root) / words[1].lstrip("/")).resolve()
    if not path.is_relative_to(Path(config.root).resolve()):
        return ()
    return (config.git, SSH_SERVICES[words[0]], str(path))


def lfs_grant(config: Config, command: str) -> bytes:
    """What a client is told who asks for files of Git LFS: what the repository has for that, if anything."""
    words = shlex.split(command)
    if len(words) != 3 or words[0] != "git-lfs-authenticate" or words[2] != "download":
        return b""
    grant = (Path(config.root) / words[1].lstrip("/") / LFS_GRANT).resolve()
    return grant.read_bytes() if grant.is_relative_to(Path(config.root).resolve()) and grant.exists() else b""


async def serve_ssh(config: Config, client: asyncssh.SSHServerProcess[bytes]) -> None:
    """Run one git service for an SSH client."""
    if grant := lfs_grant(config, client.command or ""):
        client.stdout.write(grant)
        client.exit(0)
        return
    command = git_command(config, client.command or "")
    if not command or client.get_extra_info("username") != SSH_USER:
        client.stderr.write(b"only git may be used here\n")
        client.exit(128)
        return
    protocol = _text(client.env).get("GIT_PROTOCOL", "")
    service = await asyncio.create_subprocess_exec(
        *command,
        env={**config.environment(), "GIT_PROTOCOL": protocol},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert service.stdin and service.stdout and service.stderr  # noqa: S101, PT018 - asked for above
    async with asyncio.TaskGroup() as pumps:
        asking = pumps.create_task(_pump(client.stdin, service.stdin))
        await _pump(service.stdout, client.stdout)
        await _pump(service.stderr, client.stderr)  # little enough to wait in the pipe
        asking.cancel()
    client.exit(await service.wait())


class _Reader(Protocol):
    async def read(self, n: int) -> bytes: ...


class _Writer(Protocol):
    def write(self, data: bytes) -> None: ...
    async def drain(self) -> None: ...


async def _pump(reader: _Reader, writer: _Writer) -> None:
    """Move bytes until one side has no more, or wants no more."""
    try:
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
    except (OSError, asyncssh.Error):
        return
    finally:
        if isinstance(writer, asyncio.StreamWriter):
            writer.close()


def _text(environment: Mapping[Any, Any]) -> dict[str, str]:
    """Environment variables as text, however the client's library spelled them."""
    return {
        (name.decode() if isinstance(name, bytes) else str(name)): (
            value.decode() if isinstance(value, bytes) else str(value)
        )
        for name, value in environment.items()
    }


async def serve(config: Config) -> None:
    """Serve on all three ports until killed."""
    app = web.Application()

    async def answer(request: web.Request) -> web.StreamResponse:
        return await serve_http(config, request)

    async def attend(client: asyncssh.SSHServerProcess[bytes]) -> None:
        await serve_ssh(config, client)

    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(config.certificate, config.certificate_key)
    await web.TCPSite(runner, "127.0.0.1", config.http_port, reuse_address=True).start()
    await web.TCPSite(runner, "127.0.0.1", config.https_port, ssl_context=tls, reuse_address=True).start()
    await asyncssh.listen(
        "127.0.0.1",
        config.ssh_port,
        server_host_keys=[config.host_key],
        authorized_client_keys=config.authorized_keys,
        process_factory=attend,
        encoding=None,
        reuse_address=True,
    )
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Config)))
