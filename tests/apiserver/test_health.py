"""Health is told in a word, or check by check."""

from __future__ import annotations

from trimtab.apiserver import health


def test_health_is_told_in_a_word_unless_more_is_asked_for() -> None:
    assert health.told("/livez", ["etcd"], verbose=False) == "ok"


def test_every_check_is_told_and_which_were_left_out() -> None:
    first, *_, last = health.told("/livez", ["ping"], verbose=True).splitlines()
    assert (first, last) == ("[+]ping excluded: ok", "livez check passed")


def test_checks_that_do_not_exist_cannot_be_left_out() -> None:
    *_, warning, last = health.told("/readyz", ["b", "etcd", "a"], verbose=True).splitlines()
    assert warning == 'warn: some health checks cannot be excluded: no matches for "a","b"'
    assert last == "readyz check passed"


def test_each_check_has_a_path_of_its_own() -> None:
    assert health.is_check("/readyz/shutdown")
    assert health.is_check("/livez/poststarthook/rbac/bootstrap-roles")
    assert not health.is_check("/livez/shutdown")
    assert not health.is_check("/livez")
    assert not health.is_check("/nowhere/ping")
