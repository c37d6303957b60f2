"""Where the settings file is looked for, and what is said of one that cannot be read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from trimtab.errors import InvalidSpec, Missing
from trimtab.interfaces.cli.configuration import default_path, entries_of, settings_of
from trimtab.interfaces.cli.verbs import Invocation, trimtab
from trimtab.settings import Settings


def written(path: Path, page_size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[cluster]\npage_size = {page_size}\n")
    return path


def called(environment: Mapping[str, str], config: Path | None = None, **overrides: str) -> Settings:
    return settings_of(Invocation(environment=environment, config=config, overrides=overrides))


def test_the_file_is_the_flags_or_the_environments_or_the_users(tmp_path: Path) -> None:
    written(tmp_path / "trimtab" / "config.toml", 1)
    user = {"XDG_CONFIG_HOME": str(tmp_path)}
    named = {**user, "TRIMTAB_CONFIG": str(written(tmp_path / "named.toml", 2))}
    flag = written(tmp_path / "flag.toml", 3)
    found = [called(user), called(named), called(named, flag)]
    assert [each.cluster.page_size for each in found] == [1, 2, 3]


def test_no_file_of_the_user_means_the_defaults(tmp_path: Path) -> None:
    assert called({"XDG_CONFIG_HOME": str(tmp_path)}).cluster == Settings().cluster
    assert called({"XDG_CONFIG_HOME": str(tmp_path)}).repositories.credentials_file.startswith(str(tmp_path))


def test_the_usual_place_is_below_the_home_folder() -> None:
    assert default_path({}) == Path.home() / ".config" / "trimtab" / "config.toml"


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"gone\.toml: it does not exist"):
        called({"TRIMTAB_CONFIG": str(tmp_path / "gone.toml")})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[cluster\n", "it is not TOML: Expected ']'"),
        (b"a = 1\na = 2\n", "it is not TOML: Cannot overwrite a value"),
        (b"\xff\xfe", "it is not UTF-8 text"),
        (b"a = " + b"[" * 10_000, "it is not TOML"),
        (b"a = " + b"9" * 5_000, "it is not TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_told_with_the_place(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "c.toml").write_bytes(content)
    with pytest.raises(InvalidSpec) as told:
        entries_of(tmp_path / "c.toml")
    assert told.value.subject == f"settings file {tmp_path / 'c.toml'}"
    assert told.value.reason.startswith(reason)


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InvalidSpec, match=f"settings file {place}: it is not a regular file"):
            entries_of(place)


def test_a_file_that_cannot_be_settings_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("# long\n" * (1 << 16))
    with pytest.raises(InvalidSpec, match="it is larger than 256 KiB"):
        entries_of(tmp_path / "c.toml")


def test_the_verb_shows_every_setting_with_its_origin(tmp_path: Path) -> None:
    file = written(tmp_path / "c.toml", 7)
    arguments = ["--config", str(file), "--setting", "cluster.attempts=2", "settings", "-o", "json"]
    done = CliRunner().invoke(trimtab, arguments, obj={"TRIMTAB_CLUSTER__CONCURRENCY": "3"})
    rows = {row["setting"]: (row["value"], row["origin"]) for row in json.loads(done.output)}
    assert rows["cluster.page_size"] == ("7", f"{file}: cluster.page_size")
    assert rows["cluster.concurrency"] == ("3", "environment variable TRIMTAB_CLUSTER__CONCURRENCY")
    assert rows["cluster.attempts"] == ("2", "--setting cluster.attempts")
    assert rows["cluster.request_timeout"] == ("30s", "default")


def test_the_verb_shows_a_table_to_people(tmp_path: Path) -> None:
    done = CliRunner().invoke(trimtab, ["settings"], obj={"XDG_CONFIG_HOME": str(tmp_path)})
    lines = done.output.splitlines()
    assert lines[0].split() == ["SETTING", "VALUE", "ORIGIN"]
    assert len({line.index(line.split()[1]) for line in lines}) == 1


def test_a_wide_list_of_settings_tells_of_defaults_and_of_their_variables() -> None:
    wide = ["--setting", "cluster.page_size=7", "settings", "-o", "wide"]
    heading, *rows = CliRunner().invoke(trimtab, wide, obj={}).output.splitlines()
    assert heading.split() == ["SETTING", "VALUE", "ORIGIN", "DEFAULT", "VARIABLE"]
    (row,) = (each.split() for each in rows if each.startswith("cluster.page_size"))
    assert (row[1], *row[-2:]) == ("7", "500", "TRIMTAB_CLUSTER__PAGE_SIZE")
