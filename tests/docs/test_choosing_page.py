"""docs/choosing-epsilon.md: its numbers are computed again."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp

from crowdtally.core.numbers import show
from crowdtally.laws.conversion import PRIORS, odds, percent
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.describe.words import power_of_e
from kit.documents import ROOT

PAGE = (ROOT / "docs" / "choosing-epsilon.md").read_text(encoding="utf-8")
EPSILONS = [Fraction(e) for e in ("0.01", "0.1", "0.5", "1", "2", "3", "5", "8", "10")]


def beliefs() -> str:
    """The table of the page."""
    rows = []
    for epsilon in EPSILONS:
        found = [percent(odds(epsilon, prior)) for prior in PRIORS]
        found.append(percent(odds(2 * epsilon, Fraction(1, 2))))
        rows.append(f"| {show(epsilon)} | {power_of_e(epsilon)} | {' | '.join(found)} |")
    return "\n".join(rows)


def test_the_table_of_beliefs_is_right() -> None:
    assert beliefs() in PAGE, f"the table is\n{beliefs()}"


def test_the_table_rounds_up_and_not_far() -> None:
    """By plain floats, apart from the package."""
    rows = re.findall(r"^\| ([\d.]+) \| [\d.,]+ \| (.*%) \|$", PAGE, re.MULTILINE)
    assert len(rows) == len(EPSILONS)
    for epsilon, cells in rows:
        *three, histories = (float(cell.strip(" %")) for cell in cells.split("|"))
        true = [_at_most(p, float(epsilon)) for p in (0.01, 0.1, 0.5)]
        for shown, exact in zip([*three, histories], [*true, _at_most(0.5, 2 * float(epsilon))],
                                strict=True):  # fmt: skip
            assert exact - 1e-9 <= shown <= exact + 0.1


def _at_most(p: float, epsilon: float) -> float:
    return 100 * p * exp(epsilon) / (1 - p + p * exp(epsilon))


def test_the_noise_is_that_of_two_tables() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| ± (\d+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 5
    for epsilon, width in rows:
        law = DiscreteLaplace(10 / (Fraction(epsilon) / 2))
        assert law.half_width(Fraction(19, 20)) == int(width)


def test_what_is_said_of_ten_is_right() -> None:
    assert f"the factor is {power_of_e(Fraction(10))} and more" in PAGE
    assert f"may become {percent(odds(Fraction(10), Fraction(1, 100)))}." in PAGE
    assert f"one in {power_of_e(Fraction(10), 10)} stays below 10%" in PAGE
