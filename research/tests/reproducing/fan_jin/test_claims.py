"""Each claim of the paper, held against numbers that agree with it and against some that do not."""

from __future__ import annotations

import pytest

from crowdtally_research.reproducing.figure import Judged, Number, Numbers
from crowdtally_research.reproducing.papers.fan_jin.shared import Check, judged, larger, worse
from reproducing.fan_jin.stated import FIGURES, STATED, At, numbers

MEN = "men under 25"
TOP = "top gowalla"

DIFFER: list[tuple[str, int, dict[At, float]]] = [
    ("5", 0, {("popularity foursquare", "popularity of hpa", 20.0): 0.55}),
    ("5", 1, {("popularity netflix", "popularity of hpa", 20.0): 0.65}),
    ("5", 2, {("popularity foursquare", "popularity of hpa", 100.0): 0.35}),
    ("5", 3, {("popularity netflix", "popularity of hpa", 100.0): 0.7}),
    ("6", 0, {("l items 1", "sra", 1.0): 0.1}),
    ("6", 1, {("l items 1", "hpa", 30.0): 1.2, ("l items 1", "hpa", 20.0): 1.0}),
    ("6", 2, {("l edges 1", "sra", 5.0): 1.2, ("l edges 1", "sra", 10.0): 1.0}),
    ("6", 3, {("l items 0.1", "sra", 100.0): 0.1}),
    ("6", 4, {("l edges 1", "sra", 50.0): 0.1}),
    ("7", 0, {("items mse", "dft", "Netflix"): 200.0}),
    ("7", 1, {("items mse", "gs", "Gowalla"): 25.0}),
    ("7", 1, {("items mse", "gs", "MovieLens"): 1.5}),
    ("7", 2, {("items mse", "dft", "Gowalla"): 3.0}),
    ("7", 2, {("items mse", "hpa", "Netflix"): 0.5}),
    ("7", 3, {("items kl", "hpa", "Foursquare"): 6.0}),
    ("7", 4, {("items kl", "sra", "Netflix"): 4.0}),
    ("7", 5, {("items kl", "gs", "Gowalla"): 0.4}),
    ("7", 6, {("items kl", "hpa", "MovieLens"): 0.9}),
    ("7", 7, {("items kl_reversed", "hpa", "MovieLens"): 0.9}),
    ("7", 8, {("items precision", "gs", "Netflix"): 0.3}),
    ("7", 9, {("items precision", "sra", "Gowalla"): 0.25}),
    ("7", 10, {("items precision", "hpa", "Netflix"): 0.9}),
    ("7", 11, {("items precision", "hpa", "MovieLens"): 0.9}),
    ("7", 11, {("items precision", "hpa", "Gowalla"): 0.5}),
    ("8", 0, {("edges mse", "gs", "Netflix"): 200.0}),
    ("8", 1, {("edges mse", "gs", "MovieLens"): 3.0}),
    ("8", 2, {("edges mse", "gs", "Netflix"): 1.0}),
    ("8", 3, {("edges kl", "gs", "Netflix"): 6.0}),
    ("8", 4, {("edges kl", "sra", "Gowalla"): 4.0}),
    ("8", 5, {("edges kl", "dft", "Netflix"): 0.4}),
    ("8", 6, {("edges kl", "hpa", "Netflix"): 0.9}),
    ("8", 7, {("edges kl_reversed", "hpa", "Netflix"): 0.9}),
    ("8", 8, {("edges precision", "sra", "Foursquare"): 0.05}),
    ("8", 9, {("edges precision", "hpa", "Gowalla"): 0.95}),
    ("8", 10, {("edges precision", "sra", "MovieLens"): 0.6}),
    ("9", 0, {(TOP, "hpa", 1.0): 0.8}),
    ("9", 1, {(TOP, "hpa", 1000.0): 1.0}),
    ("9", 2, {(TOP, "sra", 1000.0): 0.95}),
    ("9", 3, {(TOP, "sra", 1000.0): 0.1}),
    ("9", 4, {(TOP, "gs", 1.0): 0.05}),
    ("9", 5, {(TOP, "lpa", 1000.0): 0.0}),
    ("9", 6, {(TOP, "dft", 50.0): 0.95}),
    ("9", 7, {(TOP, line, 1000.0): 0.4 for line in ("lpa", "dft", "gs")}),
    ("10", 0, {("kept", "hpa", "MovieLens"): 0.6}),
    ("10", 1, {("kept", "sra", "Netflix"): 0.06}),
    ("11", 0, {("moved", "hpa", "Sun"): -1.0}),
    ("11", 1, {("moved", "sra", "Mon"): -5.0}),
    ("table5", 1, {("found", "hpa", MEN): 5.0}),
    ("table5", 2, {("found", "sra", MEN): 0.0}),
    ("table5", 3, {("found", "hpa", MEN): 2.0}),
]


@pytest.mark.parametrize("figure", STATED)
def test_a_claim_agrees_where_everything_is_as_stated(figure: str) -> None:
    for claim in FIGURES[figure].claims:
        judged = claim.judge(numbers(figure))
        assert judged.verdict == "agrees", (claim.words, judged.found)
        assert judged.found.endswith(".")


@pytest.mark.parametrize(("figure", "place", "changed"), DIFFER)
def test_a_claim_differs_where_one_number_contradicts_it(
    figure: str, place: int, changed: dict[At, float]
) -> None:
    assert changed.keys() <= STATED[figure].keys()
    claim = FIGURES[figure].claims[place]
    judged = claim.judge(numbers(figure, changed))
    assert judged.verdict == "differs", (claim.words, judged.found)
    assert judged.found.endswith(".")


def test_every_claim_is_contradicted_by_some_numbers() -> None:
    tried = {(figure, place) for figure, place, _ in DIFFER}
    every = {(f.name, place) for f in FIGURES.values() for place, _ in enumerate(f.claims)}
    # The movies themselves have tests of their own.
    assert every - tried == {("table5", 0), ("table5", 4)}


def test_no_difference_counts_that_is_within_the_margin() -> None:
    sra_closer = FIGURES["7"].claims[6]
    clear, unclear = (numbers("7", error=error) for error in (0.1, 0.2))
    assert sra_closer.judge(clear).verdict == "agrees"
    assert sra_closer.judge(unclear).verdict == "differs"  # 0.5 is less than 2·√2·0.2


def test_an_error_that_is_far_larger_is_worse_however_uncertain_it_is() -> None:
    """A mean of many good runs and few very bad ones has an error nearly as large as itself."""
    small, large = Number("p", "sra", 1.0, 10.0, 0.1, 20), Number("p", "dft", 1.0, 90.0, 60.0, 20)
    assert not larger(large, small)
    assert worse(large, small)
    assert not worse(Number("p", "dft", 1.0, 15.0, 4.0, 20), small)


def test_a_claim_about_several_data_sets_says_where_it_fails_and_why() -> None:
    checks = [Check("Here", True, "1"), Check("There", False, "2")]
    found = judged(checks, "Because.")
    assert found == Judged(
        "differs", "Not on There: 2; it holds on Here: 1. What may be behind it: Because."
    )
    assert judged(checks[:1], "Because.") == Judged("agrees", "Here: 1.")
    assert judged([Check("", False, "3 of 10")]) == Judged("differs", "3 of 10.")


def test_a_week_in_which_nothing_moves_says_nothing() -> None:
    still = {at: 0.1 * (at[1] == "sra") for at in STATED["11"]}
    judged = FIGURES["11"].claims[0].judge(numbers("11", still))
    assert judged.verdict == "cannot be checked"


def test_movies_without_titles_cannot_be_checked() -> None:
    made = [Number("lists", "truth", 1.0, 1.0, text="item 7"), Number("found", "hpa", MEN, 5.0)]
    first, hpa, sra, _, others = FIGURES["table5"].claims
    for claim in (first, hpa, sra, others):
        assert claim.judge(Numbers(made)).verdict == "cannot be checked"


def test_another_true_list_differs_and_so_does_another_place() -> None:
    first, *_, others = FIGURES["table5"].claims
    every = list(numbers("table5"))
    swapped = {1.0: 2.0, 2.0: 1.0}
    turned = [
        Number(n.panel, n.line, swapped.get(float(n.x), n.x), n.mean, text=n.text)
        if n.line == "truth"
        else n
        for n in every
    ]
    assert first.judge(Numbers(turned)).verdict == "differs"
    far = [
        Number(n.panel, n.line, n.x, 60.0, text=n.text) if n.text.startswith("Men in") else n
        for n in every
    ]
    assert others.judge(Numbers(far)).verdict == "differs"
