"""What annotations and units say about how objects are written and pruned."""

from __future__ import annotations

import pytest

from trimtab.engine.sync.options import (
    Consent,
    ObjectOptions,
    SyncOptions,
    check_words,
    delete_consent,
    idle_words,
    object_options,
    odd_words,
    option_list,
    prune_consent,
    sync_options,
    unknown_words,
    value_of,
    wave_of,
    written_server_side,
)
from trimtab.errors import InvalidSpec
from trimtab.kube.cluster import Propagation

ARGOCD, OURS = "argocd.argoproj.io/sync-options", "trimtab.dev/sync-options"


@pytest.mark.parametrize(
    ("annotations", "odd"),
    [
        ({}, ()),
        ({"trimtab.dev/sync-wave": " -3 ", OURS: "Prune=false,Replace=true"}, ()),
        ({"trimtab.dev/sync-wave": "soon"}, ("trimtab.dev/sync-wave: soon",)),
        ({"helm.sh/hook-weight": "9" * 12}, (f"helm.sh/hook-weight: {'9' * 12}",)),
        ({OURS: "Prun=false"}, ("Prun=false",)),
        ({OURS: "Prune=false,Prune=true"}, ("Prune=true after Prune=false",)),
        ({OURS: "Prune=false", ARGOCD: "Prune=confirm"}, ("Prune=confirm after Prune=false",)),
    ],
)
def test_what_means_nothing_or_contradicts_itself_is_told(
    annotations: dict[str, str], odd: tuple[str, ...]
) -> None:
    assert odd_words(annotations) == odd


@pytest.mark.fact("S54")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        (" , ,", ()),
        ("Prune=false", ("Prune=false",)),
        (" Prune=false ,Replace=true", ("Prune=false", "Replace=true")),
        ("Prune=false,Prune=false", ("Prune=false",)),
    ],
)
def test_options_are_trimmed_and_told_once(text: str, words: tuple[str, ...]) -> None:
    assert option_list(text) == words


@pytest.mark.fact("S54")
@pytest.mark.parametrize(
    ("words", "value"),
    [
        ((), None),
        (("Prune",), None),
        (("Prune=",), ""),
        (("Prune=false", "Prune=true"), "false"),
        (("PruneLast=true",), None),
    ],
)
def test_the_first_value_of_a_key_wins_and_a_bare_key_has_none(
    words: tuple[str, ...], value: str | None
) -> None:
    assert value_of(words, "Prune") == value


@pytest.mark.parametrize(
    ("words", "unknown"),
    [
        (["Prune=false", "Prune=confirm", "PruneLast=true", "PrunePropagationPolicy=orphan"], ()),
        (["RespectIgnoreDifferences=true", "Delete=false", "FailOnSharedResource=true"], ()),
        (
            ["Prun=false", "Prune=maybe", "Prune", "replace=true"],
            ("Prun=false", "Prune=maybe", "Prune", "replace=true"),
        ),
        (["PrunePropagationPolicy=Foreground"], ("PrunePropagationPolicy=Foreground",)),
    ],
)
def test_words_that_are_no_option_or_no_value_of_one_are_found(
    words: list[str], unknown: tuple[str, ...]
) -> None:
    assert unknown_words(words) == unknown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["Prune=true", "PrunLast=true"],
            "sync option PrunLast=true: there is no such option. There is PruneLast, Prune, ",
        ),
        (["prunelast=true"], "sync option prunelast=true: there is no such option. There is PruneLast, "),
        (["Foo"], "sync option Foo: there is no such option. There is ApplyOutOfSyncOnly, "),
        (
            ["Prune=maybe"],
            "sync option Prune=maybe: it has no such value. There is Prune=true or Prune=false or ",
        ),
        (
            ["Force=true"],
            "sync option Force=true: only an object says it, of itself. Write it into its annotation ",
        ),
        (["Delete=false"], "sync option Delete=false: only an object says it, of itself. "),
    ],
)
def test_a_word_that_means_nothing_is_refused_with_those_there_are_the_likeliest_first(
    words: list[str], sentence: str
) -> None:
    with pytest.raises(InvalidSpec) as refused:
        check_words(words)
    assert str(refused.value).startswith(sentence)


def test_what_only_objects_say_is_not_among_what_is_offered() -> None:
    with pytest.raises(InvalidSpec) as refused:
        check_words(["Forced=true"])
    assert "Force," not in refused.value.remedy
    assert idle_words(["Force=true", "Prune=false", "Foo"]) == ("Force=true", "Foo")


def test_words_that_mean_something_are_not_refused() -> None:
    check_words(["Prune=confirm", "PrunePropagationPolicy=orphan", "FailOnSharedResource=true"])


def test_our_annotation_is_read_before_argo_cds() -> None:
    both = {ARGOCD: "Prune=false,Replace=true", OURS: "Prune=confirm"}
    found = object_options(both)
    assert (found.prune, found.replace) == (Consent.CONFIRM, True)


def test_an_object_without_options_asks_for_nothing_unusual() -> None:
    found = object_options({})
    asked = (found.prune, found.prune_last, found.replace, found.force, found.validate, found.server_side)
    assert asked == (None, False, False, False, True, None)
    assert not found.skip_rehearsal_of_missing_kind


def test_every_option_of_a_unit_can_be_set() -> None:
    words = [
        "Prune=confirm", "PruneLast=true", "PrunePropagationPolicy=orphan", "Replace=true",
        "ServerSideApply=false", "Validate=false", "SkipDryRunOnMissingResource=true",
        "ApplyOutOfSyncOnly=false", "CreateNamespace=true", "RespectIgnoreDifferences=true",
    ]  # fmt: skip
    assert sync_options(words) == SyncOptions(
        prune=Consent.CONFIRM,
        prune_last=True,
        propagation=Propagation.ORPHAN,
        replace=True,
        server_side=False,
        validate=False,
        skip_rehearsal_of_missing_kinds=True,
        out_of_sync_only=False,
        create_namespace=True,
        respect_ignore_differences=True,
    )


def test_what_an_operation_does_not_say_is_as_the_unit_says() -> None:
    unit = SyncOptions(prune_last=True, create_namespace=True)
    assert sync_options([], unit) == unit
    assert sync_options(["CreateNamespace=false", "Nonsense=true", "PruneLast=perhaps"], unit) == SyncOptions(
        prune_last=True
    )


@pytest.mark.fact("S45")
@pytest.mark.parametrize(
    ("words", "propagation"),
    [
        ((), Propagation.FOREGROUND),
        (("PrunePropagationPolicy=background",), Propagation.BACKGROUND),
        (("PrunePropagationPolicy=nonsense",), Propagation.FOREGROUND),
    ],
)
def test_deletion_is_in_the_foreground_unless_the_option_says_otherwise(
    words: tuple[str, ...], propagation: Propagation
) -> None:
    assert sync_options(words).propagation is propagation


@pytest.mark.fact("S18")
@pytest.mark.parametrize(
    ("own", "unit", "consent"),
    [
        ("", Consent.YES, Consent.YES),
        ("", Consent.NO, Consent.NO),
        ("Prune=true", Consent.NO, Consent.YES),
        ("Prune=false", Consent.YES, Consent.NO),
        ("Prune=confirm", Consent.NO, Consent.CONFIRM),
    ],
)
def test_an_objects_word_on_pruning_beats_its_units(own: str, unit: Consent, consent: Consent) -> None:
    assert prune_consent(ObjectOptions(option_list(own)), SyncOptions(prune=unit)) is consent


@pytest.mark.fact("S22")
@pytest.mark.parametrize(
    ("own", "unit", "applied"),
    [
        ("", True, True),
        ("", False, False),
        ("ServerSideApply=true", False, True),
        ("ServerSideApply=false", True, False),
    ],
)
def test_an_objects_word_on_server_side_apply_beats_its_units(
    own: str,
    unit: bool,  # noqa: FBT001 - a column of the table
    applied: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert written_server_side(ObjectOptions(option_list(own)), SyncOptions(server_side=unit)) is applied


@pytest.mark.fact("S52")
@pytest.mark.parametrize(
    ("annotations", "wave"),
    [
        ({}, 0),
        ({"argocd.argoproj.io/sync-wave": "-3"}, -3),
        ({"argocd.argoproj.io/sync-wave": " 4 "}, 4),
        ({"argocd.argoproj.io/sync-wave": "x"}, 0),
        ({"argocd.argoproj.io/sync-wave": "1.5"}, 0),
        ({"argocd.argoproj.io/sync-wave": "--1"}, 0),
        ({"argocd.argoproj.io/sync-wave": "99999999999999999999"}, 0),
        ({"argocd.argoproj.io/sync-wave": "x", "helm.sh/hook-weight": "2"}, 2),
        ({"helm.sh/hook-weight": "5"}, 5),
        ({"argocd.argoproj.io/sync-wave": "1", "helm.sh/hook-weight": "5"}, 1),
        ({"trimtab.dev/sync-wave": "7", "argocd.argoproj.io/sync-wave": "1"}, 7),
    ],
)
def test_the_wave_is_the_first_number_of_ours_argo_cds_and_helms(
    annotations: dict[str, str], wave: int
) -> None:
    assert wave_of(annotations) == wave


@pytest.mark.parametrize(
    ("annotations", "consent"),
    [
        ({}, Consent.YES),
        ({"trimtab.dev/sync-options": "Prune=false"}, Consent.NO),
        ({"argocd.argoproj.io/sync-options": "Delete=false"}, Consent.NO),
        ({"trimtab.dev/sync-options": "Delete=confirm"}, Consent.CONFIRM),
        ({"trimtab.dev/sync-options": "Prune=confirm,Delete=false"}, Consent.NO),
        ({"helm.sh/resource-policy": "keep"}, Consent.NO),
        ({"helm.sh/resource-policy": "delete"}, Consent.YES),
    ],
)
def test_an_object_goes_with_its_unit_unless_anything_it_says_forbids_that(
    annotations: dict[str, str], consent: Consent
) -> None:
    assert delete_consent(object_options(annotations), annotations) is consent
