"""Recordings of a server's answers."""

from __future__ import annotations

from scripts.record_answers import steady

FIRST, SECOND = "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "6ba7b810-9dad-41d1-80b4-00c04fd430c8"


def test_two_recordings_of_the_same_answers_are_the_same() -> None:
    def recorded(first: str, second: str, version: int, address: str, time: str) -> str:
        told = f'{first} of {second}, {first}: "resourceVersion": "{version}" at {address} since {time}'
        return steady(told, given="")

    earlier = recorded(FIRST, SECOND, 7, "10.96.140.37", "2026-05-01T10:00:00Z")
    assert earlier == recorded(SECOND, FIRST, 12, "10.96.2.3", "2026-05-01T10:00:09Z")


def test_who_is_who_can_still_be_told() -> None:
    one, other, again = steady(f"{FIRST} {SECOND} {FIRST}", given="").split()
    assert one == again != other


def test_what_was_given_to_the_server_stays() -> None:
    text = f"{FIRST} 10.96.9.9 2026-01-02T03:04:05Z"
    assert steady(text, given=f"uid: {FIRST}, clusterIP: 10.96.9.9, at: 2026-01-02T03:04:05Z") == text


def test_words_that_are_the_same_every_time_stay() -> None:
    text = 'cannot parse "yesterday" as "2006-01-02T15:04:05Z07:00"; a dry run takes 10.96.0.0'
    assert steady(text, given="") == text
