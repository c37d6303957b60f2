"""What git's complaints mean."""

from __future__ import annotations

import pytest

from trimtab.errors import GitUnreachable, Missing, NotAllowed, SourceRefused, Throttled, TrimtabError
from trimtab.programs.limits import Limit, Limits, program_stopped
from trimtab.sources.repositories.complaints import Meaning, error_of, error_of_stop, meaning_of, with_word_of

#: the words of git 2.39, curl and OpenSSH, as they were met
WORDS: list[tuple[str, Meaning, type[TrimtabError]]] = [
    ("fatal: Authentication failed for 'https://h/a/'", Meaning.REFUSED, NotAllowed),
    (
        "fatal: could not read Username for 'https://h': terminal prompts disabled",
        Meaning.REFUSED,
        NotAllowed,
    ),
    (
        "unable to access 'https://h/a/': The requested URL returned error: 403",
        Meaning.REFUSED,
        NotAllowed,
    ),
    ("git@h: Permission denied (publickey).\nfatal: Could not read from remote", Meaning.REFUSED, NotAllowed),
    (
        "remote: Repository not found.\nfatal: repository 'https://h/' not found",
        Meaning.NO_REPOSITORY,
        Missing,
    ),
    ("fatal: 'a.git' does not appear to be a git repository", Meaning.NO_REPOSITORY, Missing),
    ("Host key verification failed.\nfatal: Could not read from remote", Meaning.HOST_KEY, SourceRefused),
    ("No ED25519 host key is known for h and you have requested", Meaning.HOST_KEY, SourceRefused),
    ("server certificate verification failed. CAfile: none", Meaning.CERTIFICATE, SourceRefused),
    ("SSL certificate problem: unable to get local issuer", Meaning.CERTIFICATE, SourceRefused),
    (
        "unable to access 'http://h/': The requested URL returned error: 302",
        Meaning.REDIRECT,
        SourceRefused,
    ),
    ("The requested URL returned error: 429", Meaning.THROTTLED, Throttled),
    ("fatal: remote error: upload-pack: not our ref 1111", Meaning.NOT_OFFERED, Missing),
    ("fatal: couldn't find remote ref refs/heads/x", Meaning.NOT_OFFERED, Missing),
    ("fatal: dumb http transport does not support shallow capabilities", Meaning.NO_SHALLOW, GitUnreachable),
    (
        "error: 11: hasDotdot: contains '..'\nfatal: fsck error in object",
        Meaning.HOSTILE,
        SourceRefused,
    ),
    (
        "Failed to connect to h port 1 after 0 ms: Couldn't connect",
        Meaning.UNREACHABLE,
        GitUnreachable,
    ),
    ("fatal: unable to access: Operation too slow. Less than 100 bytes", Meaning.UNREACHABLE, GitUnreachable),
    ("ssh: connect to host h port 22: Connection timed out", Meaning.UNREACHABLE, GitUnreachable),
    ("The requested URL returned error: 503", Meaning.UNREACHABLE, GitUnreachable),
    ("fatal: loose object 11 (stored in x) is corrupt", Meaning.DAMAGED, GitUnreachable),
    ("fatal: Unable to create '/m/shallow.lock': File exists.", Meaning.DAMAGED, GitUnreachable),
    ("fatal: early EOF\nfatal: invalid index-pack output", Meaning.DAMAGED, GitUnreachable),
    ("fatal: protocol error: bad line length character: <htm", Meaning.GARBLED, GitUnreachable),
    ("", Meaning.GARBLED, GitUnreachable),
]


@pytest.mark.parametrize(("words", "meaning", "kind"), WORDS)
def test_a_complaint_has_one_meaning_and_a_remedy(
    words: str, meaning: Meaning, kind: type[TrimtabError]
) -> None:
    assert meaning_of(words) is meaning
    error = error_of(meaning, "repository https://h/a", words)
    assert isinstance(error, kind)
    assert error.remedy
    assert meaning.value in error.reason


def test_an_error_tells_gits_own_words_without_secrets() -> None:
    words = "Cloning...\nremote: token c4n4ry-1 is wrong\nfatal: Authentication failed for 'https://h/a/'\n"
    error = error_of(Meaning.REFUSED, "repository https://h/a", words, secrets=["c4n4ry-1"])
    assert "c4n4ry" not in str(error)
    assert "Authentication failed" in str(error)
    assert "Cloning" not in str(error)


def test_that_git_may_ask_nobody_is_our_own_business_and_is_left_out() -> None:
    asking = (
        "error: unable to read askpass response from '/bin/false'\n"
        "fatal: could not read Username for 'https://h': terminal prompts disabled\n"
    )
    assert error_of(Meaning.REFUSED, "repository web", asking).reason == Meaning.REFUSED.value
    told = error_of(Meaning.REFUSED, "repository web", f"remote: the token has expired\n{asking}")
    assert told.reason == f"{Meaning.REFUSED.value} (remote: the token has expired)"


@pytest.mark.parametrize(
    ("limit", "kind", "words"),
    [
        ("wall", GitUnreachable, "within 60 seconds"),
        ("memory", SourceRefused, "repositories.memory"),
        ("file_size", SourceRefused, "repositories.largest_fetch"),
        ("output", SourceRefused, "says more than"),
    ],
)
def test_a_git_that_was_stopped_is_told_in_the_words_of_settings(
    limit: Limit, kind: type[TrimtabError], words: str
) -> None:
    stop = program_stopped("git", Limits(file_size=1 << 20), limit, used=1 << 30, stderr=b"c4n4ry")
    error = error_of_stop(stop, "repository https://h/a")
    assert isinstance(error, kind)
    assert words in str(error)
    assert "c4n4ry" not in str(error)


@pytest.mark.parametrize(
    ("meaning", "reason", "remedy"),
    [
        (
            Meaning.REFUSED,
            "the server wants a credential, and none was found for this address (fatal: no)",
            "Put one into ~/.config/trimtab/credentials.toml, ",
        ),
        (
            Meaning.NO_REPOSITORY,
            (
                "there is no such repository, or it is not shown without a credential, "
                "and none was found for this address (fatal: no)"
            ),
            "Mend the address, or put a credential into ~/.config/trimtab/credentials.toml, ",
        ),
    ],
)
def test_where_no_credential_was_shown_none_is_blamed_and_its_place_is_told(
    meaning: Meaning, reason: str, remedy: str
) -> None:
    error = error_of(meaning, "repository web", "fatal: no")
    told = with_word_of(error, "")
    assert (type(told), told.reason, told.remedy.startswith(remedy)) == (type(error), reason, True)
    shown = with_word_of(error, "entry 1")
    assert shown.args == ("repository web", f"{meaning.value} (fatal: no); shown was entry 1", error.remedy)
    elsewhere = error_of(Meaning.UNREACHABLE, "repository web", "fatal: no")
    assert with_word_of(elsewhere, "") is elsewhere
