"""PostgreSQL: reachable over TCP with the password and over its socket, one database per test."""

from __future__ import annotations

import pwd
from pathlib import Path

import asyncpg
import pytest

from testbed.postgres import Database, Postgres, copy_of, installation
from testbed.problems import PartFailed


def test_a_database_answers_over_tcp_and_over_the_socket(
    postgres_server: Postgres, postgres: Database
) -> None:
    question = "SELECT current_user, current_database(), inet_server_addr()"
    assert postgres_server.psql(postgres.url, question) == f"{postgres.user}|{postgres.name}|127.0.0.1"
    assert postgres_server.psql(postgres.socket_url, question) == f"{postgres.user}|{postgres.name}|"


def test_a_wrong_password_is_refused_over_tcp(postgres_server: Postgres, postgres: Database) -> None:
    wrong = postgres.url.replace(postgres.password, "wrong")
    with pytest.raises(PartFailed, match=r"password authentication failed"):
        postgres_server.psql(wrong, "SELECT 1")


async def test_asyncpg_reaches_it_both_ways(postgres: Database) -> None:
    for url in (postgres.url, postgres.socket_url):
        connection = await asyncpg.connect(url)
        assert await connection.fetchval("SELECT current_database()") == postgres.name
        await connection.close()


def test_a_role_owns_its_database_and_nothing_else(postgres_server: Postgres, postgres: Database) -> None:
    postgres_server.psql(postgres.url, "CREATE TABLE mine (id int)", "INSERT INTO mine VALUES (7)")
    assert postgres_server.psql(postgres.url, "SELECT id FROM mine") == "7"
    with pytest.raises(PartFailed, match="permission denied to create database"):
        postgres_server.psql(postgres.url, "CREATE DATABASE another")


def test_a_restart_keeps_data_and_port(postgres_server: Postgres, postgres: Database) -> None:
    postgres_server.psql(postgres.url, "CREATE TABLE kept AS SELECT 42 AS answer")
    postgres_server.server.restart()
    postgres_server.wait_until_ready()
    assert postgres_server.psql(postgres.url, "SELECT answer FROM kept") == "42"


def test_it_never_runs_as_root(postgres_server: Postgres) -> None:
    owner = (postgres_server.folder / "data").stat().st_uid
    assert pwd.getpwuid(owner).pw_name != "root"


def test_it_starts_from_a_folder_that_only_its_owner_may_enter(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    with Postgres(copy_of(installation(), private)) as server:
        assert server.run_sql("SELECT 1") == "1"
