"""What a comparison is asked for: every slip is told before a record is read."""

from __future__ import annotations

import pytest

from crowdtally.errors import UsageError
from crowdtally.lab.comparison.plan import (
    Runs,
    bounds_of,
    check_names,
    epsilons_of,
    given_options,
    jobs_of,
    names_of,
    spelled,
)


@pytest.mark.parametrize(
    ("runs", "keys", "noises"),
    [(2, 2, 1), (3, 3, 1), (4, 2, 2), (6, 2, 3), (8, 2, 4), (10, 5, 2), (20, 5, 4), (30, 10, 3)],
)
def test_runs_are_keys_times_noises(runs: int, keys: int, noises: int) -> None:
    assert Runs.of(runs) == Runs(keys, noises)
    assert Runs.of(runs).total == runs


@pytest.mark.parametrize("runs", [1, 0, -3])
def test_a_standard_error_needs_two_runs(runs: int) -> None:
    with pytest.raises(UsageError, match=r"--runs must be 2 or more.*received"):
        Runs.of(runs)


@pytest.mark.parametrize("given", ["20", 2.0, True, None])
def test_runs_are_a_whole_number(given: object) -> None:
    with pytest.raises(UsageError, match="whole number"):
        Runs.of(given)


def test_epsilons_are_exact_in_every_spelling() -> None:
    assert [str(e) for e in epsilons_of("0.1, 1/3,2")] == ["0.1", "1/3", "2"]
    assert epsilons_of([0.1, "1/3", 2]) == epsilons_of("0.1,1/3,2")
    assert epsilons_of(1) == epsilons_of("1")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("1,,2", "empty entry"),
        ("1,2,", "empty entry"),
        ("", "empty entry"),
        ([], "empty entry"),
        ("0", "greater than 0"),
        ("1,-2", "greater than 0"),
        ("abc", "abc"),
        ("1,1.0", "names 1 twice"),
        ("0.5,1/2", "names 0.5 twice"),
    ],
)
def test_a_fault_in_a_list_of_epsilons_is_told(given: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        epsilons_of(given)


def test_bounds_are_sorted_and_whole() -> None:
    assert bounds_of("30,1,10") == (1, 10, 30)
    assert bounds_of([5, 3]) == (3, 5)
    assert bounds_of(7) == (7,)
    assert bounds_of(None) is None
    for given in ("1,,3", "ten", "1.5", "-1", True, "3,3"):
        with pytest.raises(UsageError, match="--max-records"):
            bounds_of(given)
    with pytest.raises(UsageError, match="between 1 and"):
        bounds_of("0")


def test_jobs_are_one_or_more() -> None:
    assert jobs_of(3) == 3
    assert jobs_of(None) >= 1
    with pytest.raises(UsageError, match=r"--jobs must be a whole number.*received 0"):
        jobs_of(0)


def test_a_method_has_one_name() -> None:
    """Two spellings would be run twice, and advice would tell them apart."""
    assert spelled(("sra/dense", "hpa/none/filter", "lpa")) == ("sra", "hpa/filter", "lpa")
    assert spelled(None) is None
    with pytest.raises(UsageError, match="names sra twice, as sra and sra/dense"):
        spelled(("sra", "sra/dense"))


def test_methods_by_name() -> None:
    assert names_of("sra, hpa+rank") == ("sra", "hpa+rank")
    assert names_of(["sra ", " lpa"]) == ("sra", "lpa")
    assert names_of("all") is None
    with pytest.raises(UsageError, match="name no other beside it"):
        names_of("all,sra")
    with pytest.raises(UsageError, match="names sra twice"):
        names_of("sra,sra")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("srra", "Did you mean 'sra'"),
        ("dtf", "Did you mean the method 'dft'"),
        ("sra+rnak", "unknown --choose 'rnak'"),
        ("sra/sparse", "has the form 'sparse'"),
    ],
)
def test_an_unknown_method_is_told_with_what_was_meant(name: str, words: str) -> None:
    with pytest.raises(UsageError) as told:
        check_names([name])
    assert words in str(told.value)
    assert "lpa" in str(told.value)


@pytest.mark.parametrize("name", ["bounding", "choose", "publishing"])
def test_what_a_comparison_tries_itself_is_not_given(name: str) -> None:
    with pytest.raises(UsageError, match=f"tries every --{name} itself"):
        given_options({name: {"bounding": "hpa", "choose": "rank", "publishing": "filter"}[name]})
