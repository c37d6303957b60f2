"""Git servers on loopback: smart HTTP with basic authentication, HTTPS, and SSH with a key.

One process (`testbed.gitserve`) serves all three from one folder of bare repositories.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from msgspec import Struct

from testbed.certificates import Authority
from testbed.gitserve import SSH_USER, Config
from testbed.part import Part
from testbed.problems import PartFailed, PartMissing
from testbed.processes import Process

SERVER = Path(__file__).with_name("gitserve.py")
BRANCH = "main"


class HttpRepository(Struct, frozen=True, kw_only=True):
    """An empty bare repository, reachable by HTTP and HTTPS with a user's password."""

    path: Path
    url: str  # without credentials
    https_url: str
    user: str
    password: str
    ca_file: Path  # who vouches for the HTTPS server

    @property
    def url_with_credentials(self) -> str:
        """The HTTP address with user and password inside."""
        return self.url.replace("://", f"://{self.user}:{self.password}@", 1)


class SshRepository(Struct, frozen=True, kw_only=True):
    """An empty bare repository, reachable by SSH with a private key."""

    path: Path
    url: str
    key: Path
    known_hosts: Path

    @property
    def ssh_command(self) -> str:
        """What to put into GIT_SSH_COMMAND: this key, this host key, nothing of the user's own."""
        options = (
            "-F /dev/null -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes",
            f"-o UserKnownHostsFile={self.known_hosts} -o GlobalKnownHostsFile=/dev/null -i {self.key}",
        )
        return " ".join(("ssh", *options))


class GitServer(Part):
    """One Git server with any number of repositories."""

    def __init__(self, *, anonymous_read: bool = False) -> None:
        """With `anonymous_read`, everybody may fetch by HTTP; pushing always takes the password."""
        self.git = program("git")
        super().__init__("git")
        self.root = self.folder / "repositories"
        self.root.mkdir()
        self.user, self.password = "somebody", secrets.token_hex(16)
        self._http, self._https, self._ssh = (self._reserve_port() for _ in range(3))
        self.authority = Authority(self.folder / "certs")
        self.key = write_ssh_key(self.folder / "client")
        self.known_hosts = self._write_known_hosts(write_ssh_key(self.folder / "host"))
        config = self.folder / "config.json"
        config.write_bytes(msgspec.json.encode(self._config(anonymous_read=anonymous_read)))
        self.server = Process(
            "git-server", [sys.executable, "-P", str(SERVER), str(config)], folder=self.folder
        )

    @property
    def processes(self) -> tuple[Process, ...]:
        """The one process that serves everything."""
        return (self.server,)

    def _bring_up(self) -> None:
        self.server.start()
        self.server.wait_until(self._listens, what="opening its ports")

    def create_repository(self) -> Path:
        """A fresh, empty bare repository with the default branch `main`."""
        path = self.root / f"{secrets.token_hex(4)}.git"
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        command = [self.git, "init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PartFailed("git init", done.stderr.strip())
        return path

    def over_http(self, path: Path) -> HttpRepository:
        """How to reach a repository by HTTP and HTTPS."""
        return HttpRepository(
            path=path,
            url=f"http://127.0.0.1:{self._http}/{path.name}",
            https_url=f"https://127.0.0.1:{self._https}/{path.name}",
            user=self.user,
            password=self.password,
            ca_file=self.authority.certificate,
        )

    def over_ssh(self, path: Path) -> SshRepository:
        """How to reach a repository by SSH."""
        program("ssh")
        return SshRepository(
            path=path,
            url=f"ssh://{SSH_USER}@127.0.0.1:{self._ssh}/{path.name}",
            key=self.key,
            known_hosts=self.known_hosts,
        )

    def _listens(self) -> bool:
        return all(_accepts(port) for port in (self._http, self._https, self._ssh))

    def _config(self, *, anonymous_read: bool) -> Config:
        certificate = self.authority.server("git-server")
        return Config(
            root=str(self.root),
            git=self.git,
            http_port=self._http,
            https_port=self._https,
            ssh_port=self._ssh,
            user=self.user,
            password=self.password,
            anonymous_read=anonymous_read,
            certificate=str(certificate.certificate),
            certificate_key=str(certificate.key),
            host_key=str(self.folder / "host"),
            authorized_keys=str(self.folder / "client.pub"),
        )

    def _write_known_hosts(self, host_key: Path) -> Path:
        path = self.folder / "known_hosts"
        public = host_key.with_suffix(".pub").read_text()
        path.write_text(f"[127.0.0.1]:{self._ssh} {public}\n")
        return path


def write_ssh_key(path: Path) -> Path:
    """Make a new Ed25519 key pair: the private key at `path`, the public one beside it as `.pub`."""
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    path.touch(mode=0o600)
    path.write_bytes(private)
    path.with_suffix(".pub").write_bytes(public + b"\n")
    return path


def program(name: str) -> str:
    """A program of this machine that tests need and we do not bring."""
    found = shutil.which(name)
    if not found:
        package = {"ssh": "openssh-client"}.get(name, name)
        raise PartMissing(name, "there is none on PATH", f"Install your system's package `{package}`.")
    return found


def _accepts(port: int) -> bool:
    """Does somebody listen on this loopback port?"""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True
