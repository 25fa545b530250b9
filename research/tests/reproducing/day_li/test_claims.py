"""Each claim with numbers of which it holds, and with numbers of which it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import exp

import pytest

from crowdtally_research.reproducing.figure import Claim, Number, Numbers
from crowdtally_research.reproducing.papers.day_li import comparisons, experiment, figure1, panels
from crowdtally_research.reproducing.papers.day_li.comparisons import MAE, TOP
from crowdtally_research.reproducing.papers.day_li.experiment import METHODS, OURS, SETS, Set
from crowdtally_research.reproducing.papers.day_li.panels import BUDGETS, LARGE, SMALL, Budget

TIMES = (0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)
ERRORS = {"dpsense": 5.0, "dpsense-s": 4.0, "gs": 8.0, "alpa": 9.0, "lpa": 20.0, "auto": 2.0}
Change = Callable[[Number], Number]


def _quality(one: Set, times: float, budget: Budget) -> float:
    """In percent of the mean column count: what is kept, less a noise that grows with θ."""
    noise = 8.0 if budget is SMALL else 3.0
    return one.mean * (1 - exp(-times * 1.5) - noise * times / 100)


def made_for_1() -> Iterable[Number]:
    """Curves that are mirror images, of which everything holds that the paper says."""
    for one in SETS:
        for budget in BUDGETS:
            for times in TIMES:
                theta, quality = one.row_mean * times, _quality(one, times, budget)
                curves, averages = panels.curves(one.name), panels.averages(one.name)
                yield Number(curves, panels.quality_line(budget), theta, quality)
                yield Number(curves, panels.error_line(budget), theta, one.mean - quality)
                yield Number(averages, panels.average_line(budget), theta, one.mean / 2)
                yield Number(averages, panels.HALF, theta, one.mean / 2)
            for panel in (panels.GAP, panels.GAP_KEPT):
                yield Number(panel, panels.average_line(budget), one.title, 1.0)
            best = 2.0 if budget is SMALL else 3.0
            yield Number(panels.OPTIMUM, panels.error_line(budget), one.title, best)
            yield Number(panels.REGRET, panels.error_line(budget), one.title, 1.02)
        yield Number(panels.SAMPLING, panels.error_line(LARGE), one.title, 1.01)


def made_for_errors() -> Iterable[Number]:
    """Errors of which everything holds."""
    for one in SETS:
        for budget in BUDGETS:
            for method in METHODS:
                error = Number("", method, one.title, ERRORS[method], 0.1, 30)
                yield replace(error, panel=panels.over_all("mae", budget))
                right = replace(error, x=100, mean=1 - ERRORS[method] / 100, standard_error=0.001)
                yield replace(right, panel=panels.on_top("topk", one.name, budget))
            for line in ("dpsense-s", panels.BEST):
                yield Number(panels.scalings(budget), line, one.title, 1.12)
            for method, bias in (("dpsense", -10.0), ("dpsense-s", 1.0)):
                yield Number(panels.bias(budget), method, one.title, bias, 1.0, 30)
        top = panels.on_top("topk-mae", one.name, LARGE)
        yield Number(top, "alpa", 10, 900.0)
        yield Number(top, "alpa", one.columns, 9.0)


def changed(numbers: Iterable[Number], change: Change) -> Numbers:
    return Numbers(change(one) for one in numbers)


def where(panel: str, line: str, value: Callable[[Number], float]) -> Change:
    """Other means in the panels whose names begin so, of the lines whose names begin so."""

    def change(one: Number) -> Number:
        fits = one.panel.startswith(panel) and one.line.startswith(line)
        return replace(one, mean=value(one)) if fits else one

    return change


def _flatten(one: Number) -> Number:
    """The curve of ln 3 is that of ln 1.5."""
    if one.panel.startswith("theta-") and one.line == panels.error_line(LARGE):
        (owner,) = (s for s in SETS if panels.curves(s.name) == one.panel)
        return replace(one, mean=owner.mean - _quality(owner, float(one.x) / owner.row_mean, SMALL))
    return one


WRONG_1 = {
    "symmetric": where("average-", "average", lambda one: one.mean - float(one.x)),
    "close_to_half": where("gap", "average", lambda one: 30.0),
    "same_at_both": where("average-", "average, ln 3", lambda one: one.mean * 1.3),
    "same_optimum": where("theta-", "MAE", lambda one: float(one.x)),
    "good_enough": where("theta-", "MAE", lambda one: one.mean * (1 + float(one.x))),
    "lower_and_flatter": _flatten,
    "larger_bound": where("theta-", "MAE, ln 3", lambda one: float(one.x)),
    "between": where("optimum", "MAE, ln 3", lambda one: 0.8),
    "correlated": where("theta-", "MAE, ln 3", lambda one: -float(one.x) if "kos" in one.panel
                        or "trans" in one.panel else float(one.x)),
    "little_to_gain": where("regret", "MAE", lambda one: 1.4),
    "alike": where("sampling", "MAE", lambda one: 1.3),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_1)
def test_a_claim_of_figure_1_agrees_and_differs(name: str) -> None:
    judge = getattr(figure1, name)
    assert judge(Numbers(made_for_1())).verdict == "agrees"
    assert judge(changed(made_for_1(), WRONG_1[name])).verdict == "differs"
    assert judge in [claim.judge for claim in figure1.CLAIMS]


def test_no_claim_of_figure_1_is_forgotten() -> None:
    assert {claim.judge.__name__ for claim in figure1.CLAIMS} == set(WRONG_1)


def test_the_full_size_stands_for_a_set_that_was_made_smaller() -> None:
    place = f"Document{panels.FULL}"
    full = Number(panels.OPTIMUM, panels.quality_line(LARGE), place, 2.5)
    three = ("Document", "AOL", "Kosarak")
    small = where("optimum", "MAE, ln 3", lambda one: 0.8 if one.x in three else one.mean)
    assert figure1.between(changed(made_for_1(), small)).verdict == "differs"
    found = figure1.between(changed([*made_for_1(), full], small))
    assert found.verdict == "agrees"
    assert "Document 2.5" in found.found
    assert "0.05 of its rows" in found.found


WRONG_ERRORS = {
    "close_to_factor": where("scalings", "dpsense-s", lambda one: 1.4),
    "two_is_enough": where("scalings", panels.BEST, lambda one: 2.0),
    "underestimates": where("bias", "dpsense", lambda one: 0.5),
    "heavy_columns": where("topk-mae", "alpa", lambda one: 9.0),
}


@pytest.mark.parametrize("name", WRONG_ERRORS)
def test_a_claim_of_the_comparisons_agrees_and_differs(name: str) -> None:
    judge = getattr(comparisons, name)
    assert judge(Numbers(made_for_errors())).verdict == "agrees"
    assert judge(changed(made_for_errors(), WRONG_ERRORS[name])).verdict == "differs"


def _claim(claims: Iterable[Claim], words: str) -> Claim:
    (found,) = (one for one in claims if words in one.words)
    return found


def test_the_papers_methods_must_beat_all_others() -> None:
    claim = _claim(MAE.claims, "purpose")
    assert claim.judge(Numbers(made_for_errors())).verdict == "agrees"
    found = claim.judge(changed(made_for_errors(), where("mae", "gs", lambda one: 4.1)))
    assert found.verdict == "differs"  # within two standard errors is no difference
    assert "gs on AOL" in found.found


def test_a_share_is_better_where_it_is_larger() -> None:
    claim = _claim(TOP.claims, "purpose")
    assert claim.judge(Numbers(made_for_errors())).verdict == "agrees"
    found = claim.judge(changed(made_for_errors(), where("topk-", "lpa", lambda one: 1.0)))
    assert found.verdict == "differs"


def test_alpa_has_less_noise_than_lpa() -> None:
    claim = _claim(MAE.claims, "less noise")
    assert claim.judge(Numbers(made_for_errors())).verdict == "agrees"
    wrong = changed(made_for_errors(), where("mae", "alpa", lambda one: 40.0))
    assert claim.judge(wrong).verdict == "differs"


def test_what_is_missing_is_said_with_our_order() -> None:
    found = _claim(MAE.claims, "5.3").judge(Numbers(made_for_errors()))
    assert found.verdict == "cannot be checked"
    assert "Netflix: auto, dpsense-s, dpsense, gs, alpa, lpa" in found.found
    listed = _claim(TOP.claims, "5.4").judge(Numbers(made_for_errors()))
    assert "AOL: auto, dpsense-s, dpsense, gs, alpa, lpa" in listed.found


def test_table_2_says_where_a_look_alike_is_smaller() -> None:
    columns = ("rows", "columns", "most", "mean")
    same = [
        Number(panels.table(column), OURS, one.title, float(getattr(one, column)))
        for one in SETS
        for column in columns
    ]
    assert "all are the same" in experiment.made(Numbers(same)).found
    less = changed(same, lambda one: replace(one, mean=5.0) if one.x == "AOL" else one)
    found = experiment.made(less)
    assert (found.verdict, "AOL, Rows: 5 instead of" in found.found) == ("cannot be checked", True)
