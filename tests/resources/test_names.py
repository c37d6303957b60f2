"""A namespace is called by a DNS label, whoever judges the name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.schemas.validation.names import dns_label
from trimtab.resources.names import is_namespace_name


@pytest.mark.parametrize("name", ["a", "0", "shop", "shop-2", "a--b", "a" * 63])
def test_what_a_namespace_may_be_called(name: str) -> None:
    assert is_namespace_name(name)


@pytest.mark.parametrize("name", ["", "Shop", "-a", "a-", "a.b", "a_b", "a b", "a\n", "é", "٣", "a" * 64])
def test_what_a_namespace_may_not_be_called(name: str) -> None:
    assert not is_namespace_name(name)


@given(st.text(alphabet="aZ0-._ \né", max_size=4) | st.text(alphabet="a-", min_size=62, max_size=65))
def test_it_is_the_rule_by_which_the_server_judges(name: str) -> None:
    assert is_namespace_name(name) == (dns_label(name) == ())
