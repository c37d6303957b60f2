"""The class of an error alone says who moves next."""

from __future__ import annotations

import pytest

from trimtab import errors
from trimtab.errors import Retry, Throttled, TrimtabError


@pytest.mark.parametrize(
    ("error", "retry", "http_status", "exit_code"),
    [
        (errors.UserError, Retry.NEVER, 400, 2),
        (errors.InvalidSpec, Retry.NEVER, 422, 2),
        (errors.RenderFailed, Retry.NEVER, 422, 2),
        (errors.SourceRefused, Retry.NEVER, 403, 2),
        (errors.NotAllowed, Retry.NEVER, 403, 2),
        (errors.Conflict, Retry.NEVER, 409, 2),
        (errors.Missing, Retry.USUAL_RHYTHM, 404, 3),
        (errors.Unavailable, Retry.BACKOFF, 503, 4),
        (errors.ClusterUnreachable, Retry.BACKOFF, 503, 4),
        (errors.GitUnreachable, Retry.BACKOFF, 503, 4),
        (errors.StoreUnavailable, Retry.BACKOFF, 503, 4),
        (errors.Throttled, Retry.BACKOFF, 503, 4),
    ],
)
def test_the_class_fixes_retry_http_status_and_exit_code(
    error: type[TrimtabError], retry: Retry, http_status: int, exit_code: int
) -> None:
    assert (error.retry, error.http_status, error.exit_code) == (retry, http_status, exit_code)


def test_an_error_reads_as_object_reason_and_remedy() -> None:
    error = errors.RenderFailed("app shop/web", "chart 'web' needs a value for image.tag", "Set image.tag")
    assert str(error) == "app shop/web: chart 'web' needs a value for image.tag. Set image.tag."


def test_an_error_without_remedy_ends_after_the_reason() -> None:
    assert str(errors.Missing("branch main", "it does not exist")) == "branch main: it does not exist."


def test_being_throttled_remembers_how_long_to_wait() -> None:
    assert Throttled("cluster a", "too many requests", after=2.5).after == 2.5
