"""File, environment and flags become one value; a wrong one is told with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest
from msgspec import Struct
from msgspec.structs import replace

from trimtab.errors import InvalidSpec
from trimtab.settings import ClusterSettings, Settings, Size
from trimtab.settings.merge import DEFAULT, built, effective, fields_of, merged
from trimtab.settings.places import Usual

NOTHING: Mapping[str, str] = {}
PATH = "/etc/trimtab.toml"


def test_nothing_given_means_the_defaults() -> None:
    assert merged({}, {}, {}) == Settings()


@pytest.mark.parametrize(
    ("in_file", "in_environment", "as_flag", "holds"),
    [
        (None, None, None, 500),
        (1, None, None, 1),
        (1, "2", None, 2),
        (1, None, "3", 3),
        (None, "2", "3", 3),
        (1, "2", "3", 3),
        (1, "", None, 1),
    ],
)
def test_flags_beat_the_environment_which_beats_the_file_which_beats_the_default(
    in_file: int | None, in_environment: str | None, as_flag: str | None, holds: int
) -> None:
    file = {} if in_file is None else {"cluster": {"page_size": in_file}}
    environment = {} if in_environment is None else {"TRIMTAB_CLUSTER__PAGE_SIZE": in_environment}
    flags = {} if as_flag is None else {"cluster.page_size": as_flag}
    assert merged(file, environment, flags) == Settings(cluster=ClusterSettings(page_size=holds))


def test_layers_are_merged_field_by_field() -> None:
    settings = merged(
        {"cluster": {"page_size": 50, "request_timeout": "1m"}},
        {
            "TRIMTAB_CLUSTER__ATTEMPTS": "9",
            "PATH": "/bin",
            "TRIMTAB_CONFIG": "x",
            "TRIMTAB_SERVICE_HOST": "::1",
        },
        {"cluster.request_timeout": "1h30m"},
    )
    assert settings.cluster == replace(
        ClusterSettings(), page_size=50, attempts=9, request_timeout=timedelta(minutes=90)
    )


NOT_A_COUNT = "is not a whole number of at least 1"
NO_SUCH = "there is no such setting"
A_CACHE = "The default is ~/.cache/trimtab/programs"


@pytest.mark.parametrize(
    ("file", "subject", "reason", "remedy"),
    [
        ({"cluster": {"page_size": "1"}}, "cluster.page_size", f"'1' {NOT_A_COUNT}", "The default is 500"),
        ({"cluster": {"page_size": 0}}, "cluster.page_size", f"0 {NOT_A_COUNT}", "The default is 500"),
        ({"cluster": {"pagesize": 5}}, "cluster.pagesize", NO_SUCH, "Did you mean cluster.page_size?"),
        ({"clutser": {}}, "clutser", "there is no such group of settings", "Did you mean cluster?"),
        ({"size": 5}, "size", "there is no such group of settings", "`trimtab settings` lists them all"),
        ({"cluster": 5}, "cluster", "it is a group of settings", "Write [cluster] above them"),
    ],
)
def test_a_wrong_entry_of_the_file_is_told_with_its_path_even_where_a_flag_hides_it(
    file: Mapping[str, object], subject: str, reason: str, remedy: str
) -> None:
    with pytest.raises(InvalidSpec) as told:
        merged(file, {}, {"cluster.page_size": "5"}, path=PATH)
    assert told.value.args == (f"{PATH}: {subject}", reason, remedy)


@pytest.mark.parametrize(
    ("variable", "text", "reason", "remedy"),
    [
        ("TRIMTAB_CLUSTER__PAGE_SIZE", "many", f"'many' {NOT_A_COUNT}", "The default is 500"),
        ("TRIMTAB_CLUSTER__PAGESIZE", "5", NO_SUCH, "Did you mean TRIMTAB_CLUSTER__PAGE_SIZE?"),
        ("TRIMTAB_STORE__X", "5", NO_SUCH, "`trimtab settings` lists them all"),
        ("TRIMTAB_CLUSTER_PAGE_SIZE", "5", "it is not a setting", "Did you mean TRIMTAB_CLUSTER__PAGE_SIZE?"),
    ],
)
def test_a_wrong_variable_is_told_by_name(variable: str, text: str, reason: str, remedy: str) -> None:
    with pytest.raises(InvalidSpec) as told:
        merged({}, {variable: text}, {})
    assert told.value.args == (f"environment variable {variable}", reason, remedy)


@pytest.mark.parametrize(
    ("key", "text", "reason", "remedy"),
    [
        ("cluster.page_size", "-1", f"'-1' {NOT_A_COUNT}", "The default is 500"),
        ("programs.cache", "", "'' is not text with at least one character", A_CACHE),
        ("cluster.page-size", "1", NO_SUCH, "Did you mean cluster.page_size?"),
    ],
)
def test_a_wrong_flag_is_told_as_it_was_given(key: str, text: str, reason: str, remedy: str) -> None:
    with pytest.raises(InvalidSpec) as told:
        merged({}, {}, {key: text})
    assert told.value.args == (f"--setting {key}", reason, remedy)


def test_a_complaint_reads_as_one_sentence_and_a_remedy() -> None:
    with pytest.raises(InvalidSpec) as told:
        merged({}, {"TRIMTAB_CLUSTER__REQUEST_TIMEOUT": "soon"}, {})
    assert str(told.value) == (
        "environment variable TRIMTAB_CLUSTER__REQUEST_TIMEOUT: 'soon' is not a duration longer than zero, "
        "such as 30s, 5m or 1h30m. The default is 30s."
    )


def test_a_long_value_is_clipped_in_the_complaint() -> None:
    with pytest.raises(InvalidSpec) as told:
        merged({}, {}, {"cluster.page_size": "x" * 10_000})
    assert len(str(told.value)) < 200


def test_every_setting_tells_who_said_it() -> None:
    found = effective(
        Settings,
        {"cluster": {"page_size": 1}},
        {"TRIMTAB_CLUSTER__ATTEMPTS": "2"},
        {"cluster.concurrency": "3"},
        path=PATH,
    )
    origins = {one.field.key: one.origin for one in found}
    assert origins["cluster.page_size"] == "/etc/trimtab.toml: cluster.page_size"
    assert origins["cluster.attempts"] == "environment variable TRIMTAB_CLUSTER__ATTEMPTS"
    assert origins["cluster.concurrency"] == "--setting cluster.concurrency"
    assert origins["cluster.connect_timeout"] == DEFAULT


def test_what_nobody_set_lies_where_the_environment_has_such_files() -> None:
    homes = {
        "XDG_CACHE_HOME": "/var/cache/ann/",
        "XDG_CONFIG_HOME": "/etc/ann",
        "XDG_STATE_HOME": "state",  # not from the root: it counts as not given
    }
    found = effective(Settings, {"rendering": {"cache": "~/.cache/mine"}}, homes, {}, path=PATH)
    places = {one.field.key: (one.value, one.origin) for one in found}
    below = "default, below XDG_CACHE_HOME"
    assert places["programs.cache"] == ("/var/cache/ann/trimtab/programs", below)
    assert places["repositories.folder"] == ("/var/cache/ann/trimtab/repositories", below)
    assert places["rendering.cache"] == ("~/.cache/mine", f"{PATH}: rendering.cache")
    assert places["rendering.key"] == ("~/.local/state/trimtab/render.key", DEFAULT)
    credentials, origin = places["repositories.credentials_file"]
    assert (credentials, origin) == ("/etc/ann/trimtab/credentials.toml", "default, below XDG_CONFIG_HOME")
    assert isinstance(credentials, Usual), "nobody named it, so it may be absent"


class StoreGroup(Struct, frozen=True, kw_only=True):
    url: str | None = None
    cache: Size | None = 2**20
    verbose: bool = False


class TwoGroups(Struct, frozen=True, kw_only=True):
    cluster: ClusterSettings = ClusterSettings()
    store: StoreGroup = StoreGroup()


def test_further_groups_and_types_need_no_word_here() -> None:
    environment = {"TRIMTAB_STORE__CACHE": "64MiB", "TRIMTAB_STORE__VERBOSE": "yes"}
    found = effective(TwoGroups, {"store": {"url": "db"}}, environment, NOTHING, path=PATH)
    assert built(TwoGroups, found) == TwoGroups(store=StoreGroup(url="db", cache=2**26, verbose=True))


def test_a_setting_that_may_be_none_can_be_made_none() -> None:
    found = effective(TwoGroups, {"store": {"cache": "none"}}, NOTHING, NOTHING, path=PATH)
    assert built(TwoGroups, found) == TwoGroups(store=StoreGroup(cache=None))


def test_every_default_of_the_product_is_one_that_could_be_given() -> None:
    given = {field.key: field.shape.written(field.default) for field in fields_of(Settings)}
    assert merged({}, {}, given) == Settings()


def test_a_number_of_bytes_is_a_size() -> None:
    plain = [f.key for f in fields_of(Settings) if "bytes" in f.name and "size" not in f.shape.expected]
    assert plain == [], "declare them as Size, so that people can write 64MiB"
