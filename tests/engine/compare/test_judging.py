"""What is said of an object that could not be judged."""

from __future__ import annotations

import pytest

from trimtab.engine.compare.judging import problem_of
from trimtab.errors import InvalidSpec, NotAllowed
from trimtab.resources.keys import ResourceKey

SECRET = ResourceKey("", "Secret", "shop", "token")
NO_RIGHT = (
    'secrets "token" is forbidden: User "ann" cannot get resource "secrets" in API group "" in the namespace'
    ' "shop"'
)


def test_a_missing_right_is_told_of_secrets_too_as_it_quotes_nothing_of_them() -> None:
    assert NO_RIGHT in problem_of(NotAllowed("get Secret shop/token", NO_RIGHT), SECRET)


@pytest.mark.parametrize(
    "words",
    [
        'secrets "token" is forbidden: exceeded quota: few, hunter2',
        f'admission webhook "guard" denied the request: hunter2 {NO_RIGHT}',
        f"{NO_RIGHT}: hunter2",
        'Invalid value: "hunter2"',
    ],
)
def test_other_words_about_secrets_are_not_repeated(words: str) -> None:
    told = problem_of(InvalidSpec("apply Secret shop/token", words), SECRET)
    assert "hunter2" not in told
    assert "InvalidSpec" in told
    other = ResourceKey("", "ConfigMap", "shop", "settings")
    assert words in problem_of(InvalidSpec("apply", words), other)


@pytest.mark.parametrize("key", [SECRET, ResourceKey("apps", "Deployment", "shop", "web")])
def test_the_object_is_not_named_once_more_as_whoever_tells_it_names_it(key: ResourceKey) -> None:
    error = InvalidSpec(str(key), "the cluster knows no such kind of apps/v9", "Install its definition")
    assert str(key) not in problem_of(error, key)
    elsewhere = ResourceKey("apps", "Deployment", "shop", "other")
    assert problem_of(error, elsewhere) == str(error)
