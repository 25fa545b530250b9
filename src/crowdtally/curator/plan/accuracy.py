"""From accuracy to ε: the smallest ε whose noise interval is as narrow as somebody needs it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from crowdtally.core.layout import ITEMS
from crowdtally.core.numbers import exact, received, show
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.request.discover import Discovery
from crowdtally.curator.request.request import Request
from crowdtally.errors import UsageError
from crowdtally.format import INTERVAL_LEVEL
from crowdtally.laws.base import Combination, NoiseLaw
from crowdtally.laws.conversion import PRIORS, odds

LARGEST = Epsilon(Fraction(1000))
"""Beyond it nobody is protected: no larger ε is looked for."""
_DIGITS = 4
"""Significant decimal digits of ε."""
_SMALLEST = -15
"""The power of ten of the smallest ε."""
_TARGETS = "item, cell or sum:R, R the number of cells"


@dataclass(frozen=True)
class Target:
    """Of what the noise shall be small, and how small."""

    half_width: Fraction
    """N: the 95% noise interval is at most ±N."""
    cells: int | None = None
    """How many cells of the last table are summed; None for one item's count."""

    @classmethod
    def of(cls, half_width: object, of: str | None = None) -> Target:
        """From ``--half-width`` and ``--accuracy-of``; without the latter, an item's count.

        >>> Target.of("50", "sum:7")
        Target(half_width=Fraction(50, 1), cells=7)
        """
        wanted = exact(half_width, "--half-width")
        if wanted <= 0:
            raise UsageError(
                f"--half-width must be greater than 0: received {show(wanted)}. It is how far off "
                "a count may be by noise, such as 50."
            )
        return cls(wanted, _cells(of))

    @property
    def words(self) -> str:
        if self.cells is None:
            return "one item's count"
        return "one cell" if self.cells == 1 else f"a sum of {self.cells} cells"


def check_either(epsilon: object, half_width: object, of: object) -> None:
    """Refuse both ε and an accuracy, and neither."""
    if (epsilon is None) == (half_width is None):
        received = "neither" if epsilon is None else "both"
        raise UsageError(
            "give --epsilon E, or --half-width N to find the smallest that will do: received "
            f"{received}."
        )
    if of is not None and half_width is None:
        raise UsageError(
            "--accuracy-of says of what --half-width N is meant: give both, or neither."
        )


def _cells(of: str | None) -> int | None:
    text = of if isinstance(of, str) else ""
    if of is None or text == "item":
        return None
    if text == "cell":
        return 1
    kind, _, number = text.partition(":")
    if kind != "sum":
        raise UsageError(f"--accuracy-of takes {_TARGETS}: received {received(of)}.")
    if not (number.isascii() and number.isdecimal()) or len(number) > 18 or int(number) < 1:
        raise UsageError(
            "--accuracy-of sum:R needs a whole number of cells of at least 1, such as sum:7: "
            f"received {of!r}."
        )
    return int(number)


def width_of(request: Request, target: Target) -> Fraction:
    """Half the width of the 95% noise interval that a request would give the target, as a count."""
    law: NoiseLaw
    if request.discovery is not None:
        law, squares = _first_law(request, request.discovery, target), 1.0
    elif request.selection is not None:
        law, squares = request.selection.planned().law, 1.0
    else:
        table = request.tables[0 if target.cells is None else -1]
        law, cells = table.law, target.cells or 1
        dense = not table.publishing.leaves_out
        squares = table.transform.squares(table.cells, cells, dense=dense)
    return Fraction(law.reach(INTERVAL_LEVEL, Combination(squares, squares))) * law.unit


def _first_law(request: Request, found: Discovery, target: Target) -> NoiseLaw:
    """The noise of the items' table, which may have a public list; or of the last one."""
    tables = {table.name: table.law for table in request.bounded}
    tables |= {table.name: table.rule.law for table in found.tables}
    return tables[ITEMS.name] if target.cells is None else tables[found.tables[-1].name]


def check_target(request: Request, target: Target) -> None:
    """Refuse a target that a request does not have."""
    if target.cells is None:
        if not request.lists.has_items:
            raise UsageError(
                "a table of attributes has no items: say --accuracy-of cell, or --accuracy-of "
                "sum:R with the number of cells that a question sums over."
            )
        return
    if request.discovery is not None and target.cells == 1:
        return
    if request.discovery is not None:
        raise UsageError(
            "which cells will be discovered is not known, so nothing is summed: say --accuracy-of "
            "item, or --accuracy-of cell."
        )
    if request.selection is not None:
        raise UsageError(
            "which items --top selects is not known, so nothing is summed: say --accuracy-of item."
        )
    table = request.tables[-1]
    if target.cells > table.cells.size:
        raise UsageError(
            f"--accuracy-of sum:{target.cells} is more than the {table.cells.size} cells of the "
            f"table {table.name!r}: give at most that."
        )


def check_named(request: Request) -> None:
    """Refuse a target for a release whose noise follows from what it measures itself."""
    if isinstance(request.method.rule, Auto):
        raise UsageError(
            "--half-width asks for noise that is known beforehand, and auto decides its noise from "
            "what it measures: name a method, for example --method sra:max-records=10, or give "
            "--epsilon E with --guess-users and --guess-records to see the error to expect."
        )


def smallest_epsilon(request: Request, target: Target) -> Request:
    """The request with the smallest ε of four digits whose interval is within the target.

    Where a δ was offered and the noise left open, by the noise that needs the smaller ε.
    """
    check_target(request, target)
    ways = [request.bought_by(paid) for paid in request.paid.either()]
    return min([_smallest(way, target) for way in ways], key=lambda one: one.epsilon)


def _smallest(request: Request, target: Target) -> Request:
    """With one noise. Its intervals get no wider as ε grows, so halving finds it.

    An ε that is refused for its noise is one that misses.
    """
    if width_of(request.at(LARGEST), target) > target.half_width:
        raise UsageError(
            f"a noise interval of ±{show(target.half_width)} for {target.words} would need an "
            f"epsilon above {LARGEST}, which protects nobody: ask for a larger --half-width, or "
            f"{_lower(request)}."
        )
    low, high = -1, 9 * 10 ** (_DIGITS - 1) * (3 - _SMALLEST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _reaches(request, _nth(middle), target) else (middle, high)
    return request.at(_nth(high))


def _lower(request: Request) -> str:
    if request.selection is not None:
        return "lower --top"
    return "shorten the lists" if request.measured else "lower the bound"


def _nth(number: int) -> Epsilon:
    """The decimals of four digits from the smallest upwards.

    >>> str(_nth(9000 * 15 + 1)), str(_nth(9000 * 18))
    ('1.001', '1000')
    """
    first = 10 ** (_DIGITS - 1)
    tens, digits = divmod(number, 9 * first)
    return Epsilon((first + digits) * Fraction(10) ** (tens + _SMALLEST - _DIGITS + 1))


def _reaches(request: Request, epsilon: Epsilon, target: Target) -> bool:
    try:
        return width_of(request.at(epsilon), target) <= target.half_width
    except UsageError:
        return False


def accuracy_facts(request: Request, target: Target) -> dict[str, Any]:
    """What was asked for, what is reached, and what its ε means as odds, for JSON."""
    return {
        "half_width": show(target.half_width),
        "of": target.words,
        "reached": float(width_of(request, target)),
        "odds": [
            {"belief": show(prior), "at_most": show(odds(request.epsilon, prior))}
            for prior in PRIORS
        ],
    }
