"""What a comparison recommends, and how its numbers are rounded."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest

from crowdtally.lab.comparison.advice import advise, recommendation
from crowdtally.lab.comparison.summary import (
    WORDS,
    Setting,
    Summary,
    alone,
    can_be_released,
    typed,
    with_error,
)
from crowdtally.lab.metrics import METRICS
from kit.lab import FACTS, LARGEST, compared, summary

# ---- Hand-made numbers, and what is to be said of them -------------------------------------------


def told(*summaries: Summary, **changes: object) -> str:
    facts = replace(FACTS, epsilons=("1",), **changes)  # type: ignore[arg-type]
    return recommendation(summaries, facts)


def test_a_clear_winner_is_named_with_its_bound_its_reason_and_what_to_type() -> None:
    words = told(
        summary("sra", 400, 2, bound=10),
        summary("hpa", 300, 2, bound=10),
        summary("hpa", 200, 2, bound=30),
    )
    assert words == (
        "At ε = 1, take hpa with at most 30 records per user for counts of items (mean absolute "
        "error 200.0 ± 2.0; next sra, 400.0 ± 2.0): --method hpa:max-records=30."
    )


@pytest.mark.parametrize(("best", "winner"), [(196.0, "sra"), (194.0, "hpa")])
def test_what_cannot_be_told_apart_goes_to_the_simpler(best: float, winner: str) -> None:
    """Of 5 keys each and errors of 2, 4.5 · √8 = 12.7 tells apart: 12 is a tie, 14 is none."""
    words = told(summary("hpa", best, 2), summary("sra", 208, 2))
    assert f"take {winner} " in words
    assert ("hpa with at most 10 records per user, 196.0 ± 2.0, cannot be told apart" in words) == (
        winner == "sra"
    )


def test_a_tie_with_a_method_that_is_less_simple_is_told_too() -> None:
    words = told(summary("sra", 200, 2), summary("hpa", 203, 2))
    assert "take sra " in words
    assert "hpa with at most 10 records per user, 203.0 ± 2.0, cannot be told apart" in words


def test_among_the_bounds_of_one_method_the_best_is_taken() -> None:
    words = told(summary("sra", 201, 5, bound=10), summary("sra", 200, 5, bound=30))
    assert "--method sra:max-records=30" in words
    assert "no other method that can be released was compared" in words


@pytest.mark.parametrize(("better", "other"), [("threshold", "filter"), ("filter", "threshold")])
def test_of_two_that_are_as_simple_the_better_is_taken(better: str, other: str) -> None:
    """Not the one whose name comes first, and neither is called less simple."""
    words = told(
        summary(f"sra/{better}", 200, 2), summary(f"sra/{other}", 203, 2),
        fields={f"sra/{name}": {"size": 9} for name in (better, other)},
    )  # fmt: skip
    assert f"take sra/{better} " in words
    assert "203.0 ± 2.0, cannot be told apart and is as simple)" in words


@pytest.mark.parametrize(("lengths", "judged"), [((1, 3), 3), ((1, 3, 10, 30), 10), ((30,), 30)])
def test_few_items_are_judged_by_the_longest_list_up_to_ten(
    lengths: tuple[int, ...], judged: int
) -> None:
    words = told(*(summary("sra", 0.5, 0.1, metric="precision", k=k) for k in lengths))
    assert f"share of the true top {judged} found" in words


def test_a_part_more_is_less_simple_than_another_bounding() -> None:
    assert "take hpa " in told(summary("sra/filter", 200), summary("hpa", 200))
    assert "take sra " in told(summary("sra+rank", 200), summary("sra", 200))


def test_counts_and_top_lists_may_have_different_winners() -> None:
    words = told(
        summary("sra", 200, 1, bound=30),
        summary("hpa", 300, 1, bound=10),
        summary("sra", 0.5, 0.01, bound=30, metric="precision", k=10),
        summary("hpa", 0.9, 0.01, bound=10, metric="precision", k=10),
        summary("hpa", 0.1, 0.01, bound=10, metric="precision", k=5),
        summary("sra", 0.9, 0.01, bound=30, metric="precision", k=5),
    )
    counts, lists = words.split("; take ")
    assert counts.startswith("At ε = 1, take sra with at most 30 ")
    assert counts.endswith(": --method sra:max-records=30")
    assert lists.startswith("hpa with at most 10 records per user for top lists of items")
    assert "share of the true top 10 found 0.900 ± 0.010" in lists
    assert lists.endswith(": --method hpa:max-records=10.")


def test_one_setting_for_several_purposes_is_told_once() -> None:
    words = told(
        summary("sra", 200), summary("sra", 0.9, 0.01, metric="precision", k=10),
        summary("sra", 20, table="edges"),
    )  # fmt: skip
    assert words.count("--method sra:max-records=10") == 1
    for purpose in ("counts of items (", "counts of items in contexts (", "top lists of items ("):
        assert purpose in words


def test_a_baseline_is_never_recommended_but_told_where_it_is_better() -> None:
    words = told(summary("lpa", 100, bound=None), summary("sra", 200))
    assert "take sra " in words
    assert "lpa, for comparison only, has 100.0 ± 1.0" in words
    assert "lpa" not in told(summary("lpa", 300, bound=None), summary("sra", 200))


def test_with_baselines_only_nothing_is_recommended() -> None:
    words = told(summary("lpa", 100, bound=None), summary("gs", 50, bound=None))
    assert words.startswith("Nothing is recommended: ")
    assert "(gs, lpa)" in words
    assert "--methods sra,hpa" in words
    assert told() == "Nothing was measured, so nothing is recommended."


def test_a_declared_bound_that_was_read_off_the_records_is_not_recommended() -> None:
    best, usual = summary("declared", 1, bound=LARGEST), summary("sra", 200)
    assert "take sra " in told(best, usual)
    assert "take declared " in told(summary("declared", 1, bound=50), usual)
    assert not can_be_released(Setting("declared", "1", 1), replace(FACTS, largest=0))


def test_what_was_not_measured_is_not_recommended() -> None:
    words = told(summary("sra", nan, nan), summary("hpa", 200))
    assert "take hpa " in words
    assert "sra" not in words
    assert told(summary("sra", nan, nan)).startswith("Nothing is recommended: ")


def test_without_a_standard_error_nothing_is_told_apart() -> None:
    words = told(summary("sra", 900, nan, keys=1), summary("hpa", 1, nan, keys=1))
    assert "take sra " in words
    assert "cannot be told apart with one sampling key" in words


def test_equal_numbers_are_ordered_by_name() -> None:
    numbers = [summary("dpsense", 5, 0), summary("hpa", 5, 0), summary("declared", 5, 0)]
    assert told(*numbers) == told(*reversed(numbers))


def test_every_epsilon_has_its_advice_and_the_sentence_that_of_one() -> None:
    summaries, facts = compared()
    advice = advise(summaries, facts)
    assert [one.epsilon for one in advice] == ["0.1"] * 3 + ["1"] * 3 + ["10"] * 3
    assert recommendation(summaries, facts).startswith("At ε = 1, ")


def test_all_parts_of_a_method_are_typed() -> None:
    name = "dpsense+rank/haar/filter"
    facts = replace(FACTS, fields={name: {"cap": 5, "size": 1000, "columns": "day"}})
    assert typed(Setting(name, "1", 100), facts) == (
        "--method dpsense:max-records=100,cap=5,choose=rank --summary filter:size=1000 "
        "--transform haar:columns=day"
    )
    assert typed(Setting("sra", "1", 3), replace(FACTS, count="users")) == (
        "--method sra:max-records=3 --count users"
    )


def test_every_metric_has_words() -> None:
    assert set(WORDS) == set(METRICS)


# ----  --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (234.1234, 1.987, "234.1 ± 2.0"),
        (234.1234, 19.87, "234 ± 20"),
        (12_345.0, 987.0, "12,340 ± 990"),
        (4.28e7, 3.0e5, "(4.280 ± 0.030) × 10⁷"),
        (2.1e-5, 3e-7, "(2.100 ± 0.030) × 10⁻⁵"),
        (0.9312, 0.0123, "0.931 ± 0.012"),
        (0.001, 0.0, "0.001 ± 0"),
        (0.0, 0.0, "0 ± 0"),
        (0.0, 0.25, "0.00 ± 0.25"),
        (-0.0001, 0.25, "0.00 ± 0.25"),
        (1.5, 30.0, "2 ± 30"),
        (123456.789, 0.0001, "123,457 ± 0"),
        (1.46984, 3e-17, "1.46984 ± 0"),
        (12.345678, 0.00042, "12.3457 ± 0.0004"),
        (999_999.6, 12.0, "1,000,000 ± 12"),
        (5.0, nan, "5"),
        (nan, 1.0, "–"),
        (float("inf"), 1.0, "–"),
    ],
)
def test_a_mean_and_its_error_end_at_the_same_place(mean: float, error: float, text: str) -> None:
    assert with_error(mean, error) == text


def test_a_number_without_an_error_has_four_digits() -> None:
    assert [alone(x) for x in (1234.5678, 0.25, 1e9)] == ["1,235", "0.25", "1 × 10⁹"]
