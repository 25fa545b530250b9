"""What ``auto`` decides: shares of the price, bounds, the pilot; by hand, or by the formula."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf, sqrt
from typing import Any

import numpy as np
import pytest

from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.curator.methods.auto_rules import (
    KAPPA,
    SIZES,
    Bounds,
    Purse,
    Ranks,
    Setting,
    best_bounds,
    bound_inside,
    measured_kappa,
    of_the_pilot,
    shares_of,
    zoomed,
)
from crowdtally.inference.facts import Noisy
from crowdtally.inference.rows import BINS, BOUNDS, LARGEST_BOUND, RowLengths, bin_of
from crowdtally.laws.gaussian import GaussianNoise

# ---- shares --------------------------------------------------------------------------------------

ALL: dict[str, tuple[Any, ...]] = {
    "path": ("short", "rich", "long"), "aim": ("counts", "top", "recommend"),
    "rich": (False, True), "zoom": (False, True), "head": (False, True),
    "contexts": (False, True), "cells": (False, True),
}  # fmt: skip


def test_shares_are_the_whole_on_every_path() -> None:
    """Also where there is no head, and where cells are too many to be counted."""
    for values in product(*ALL.values()):
        given = dict(zip(ALL, values, strict=True))
        if given["zoom"] and (given["rich"] or given["path"] != "long"):
            continue  # of few users, or of many
        found = shares_of(**given)
        assert sum(found.values()) == 1
        assert all(isinstance(share, Fraction) and 0 < share < 1 for share in found.values())
        assert found["sizes"] == SIZES == Fraction(1, 40)


IN_CONTEXTS = {"contexts": True, "cells": True}
WANTED: list[tuple[str, str, dict[str, bool], dict[str, float]]] = [
    ("short", "counts", {}, {"items": 97.5}),
    ("short", "recommend", IN_CONTEXTS, {"items": 34.5, "edges": 60, "contexts": 3}),
    ("rich", "counts", {"rich": True}, {"pilot": 7, "items": 90.5}),
    (
        "rich", "counts", {"rich": True, **IN_CONTEXTS},
        {"pilot": 7, "items": 67.5, "edges": 20, "contexts": 3},
    ),
    (
        "rich", "recommend", {"rich": True, **IN_CONTEXTS},
        {"pilot": 7, "items": 47.5, "edges": 40, "contexts": 3},
    ),
    ("long", "counts", {}, {"total": 4.5, "head": 8.5, "items": 84.5}),
    ("long", "counts", {"head": False}, {"total": 4.5, "items": 93}),
    (
        "long", "counts", IN_CONTEXTS,
        {"total": 4.5, "head": 8.5, "items": 73.5, "edges": 8, "contexts": 3},
    ),
    (
        "long", "counts", {"contexts": True},
        {"total": 4.5, "head": 8.5, "items": 81.5, "contexts": 3},
    ),
    (
        "long", "counts", {"rich": True},
        {"pilot": 7, "total": 4.5, "head": 8.5, "items": 77.5},
    ),
    (
        "long", "counts", {"rich": True, **IN_CONTEXTS},
        {"pilot": 7, "total": 4.5, "head": 8.5, "items": 54.5, "edges": 20, "contexts": 3},
    ),
    ("long", "top", {}, {"total": 4.5, "head": 40, "items": 53}),
    (
        "long", "top", {"rich": True, **IN_CONTEXTS},
        {"pilot": 7, "total": 4.5, "head": 40, "items": 23, "edges": 20, "contexts": 3},
    ),
    (
        "long", "recommend", IN_CONTEXTS,
        {"total": 4.5, "head": 8.5, "items": 41.5, "edges": 40, "contexts": 3},
    ),
    ("long", "counts", {"zoom": True}, {"total": 4.5, "head": 8.5, "zoom": 35, "items": 49.5}),
    ("long", "top", {"zoom": True}, {"total": 4.5, "head": 40, "zoom": 35, "items": 18}),
    (
        "long", "recommend", {"zoom": True, **IN_CONTEXTS},
        {"total": 4.5, "head": 8.5, "zoom": 35, "items": 38.5, "edges": 8, "contexts": 3},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "aim", "given", "wanted"), WANTED)
def test_shares_are_those_that_are_documented(
    path: Any, aim: Any, given: dict[str, bool], wanted: dict[str, float]
) -> None:
    found = shares_of(path, aim, **{"head": True, **given})
    assert {name: float(share * 100) for name, share in found.items()} == {"sizes": 2.5, **wanted}


# ---- what is left, and the noise that it buys ----------------------------------------------------


def test_prices_are_exact_shares_of_what_is_left() -> None:
    third = Epsilon(Fraction(1, 3) * (1 - SIZES))
    purse = Purse(third, ones=True)
    shares = shares_of("long", "counts", rich=True, head=True)
    prices = {name: purse.price(share) for name, share in shares.items()}
    assert prices["head"] == Epsilon(Fraction(85, 3000))
    assert sum(price.value for name, price in prices.items() if name != "sizes") == third.value
    turned = Purse(Rho(Fraction(1, 50)), ones=True)  # it pays for all but the sizes
    assert sum(turned.price(s).value for n, s in shares.items() if n != "sizes") == Fraction(1, 50)


def test_noise_by_hand() -> None:
    half, left = Fraction(1, 2), 1 - SIZES
    pure = Purse(Epsilon(4 * left), ones=True)
    assert pure.deviation(half, 10) == pytest.approx(sqrt(2) * 10 / 2)
    assert pure.head_variance(half, 16) == 18 * 19 / 6 / 4
    assert pure.worth == 4
    for ones, size in ((True, 10), (False, 100)):
        gaussian = Purse(Rho(left / 4), ones)
        assert gaussian.deviation(half, 10) == pytest.approx(sqrt(size / (2 / 8)))
        assert gaussian.deviation(half, 10, once=False) == pytest.approx(sqrt(100 / (2 / 8)))
        assert gaussian.head_variance(half, 16) == 16 / (2 / 8)
        assert gaussian.worth == 1


# ---- bounds --------------------------------------------------------------------------------------


def lengths_of(users: dict[int, float], *, rich: bool = False, noise: float = 1e-9) -> RowLengths:
    """A histogram next to without noise: so many users have rows of this length."""
    bins = np.zeros(BINS)
    for length, number in users.items():
        bins[bin_of(length)] += number
    return RowLengths(bins, noise, 1.0 if rich else inf)


TWO = {2: 100.0, 4: 100.0}
"""600 records: 200 of them in rows of two, 400 in rows of four."""


def test_what_bounds_keep_by_hand() -> None:
    lengths = lengths_of(TWO)
    assert (lengths.records, lengths.users) == (pytest.approx(600), pytest.approx(200))
    assert lengths.kept(2) == (pytest.approx(400 / 600), pytest.approx(1 / 2 - 1 / 3))
    assert lengths.kept(3) == (pytest.approx(500 / 600), pytest.approx(2 / 5 - 1 / 3))
    assert lengths.kept(4) == (pytest.approx(1), pytest.approx(0))
    assert lengths.kept(3, above=2) == (pytest.approx(3 / 4), pytest.approx(0))
    assert lengths.records_up_to(2) == pytest.approx(200)


def expected(deviation: float, kappa: float, items: int, bounds: Bounds) -> float:
    """The error of the two kinds of rows by the formula of the specification."""
    theta, short = bounds.theta, bounds.short
    ranks = np.arange(1, items + 1) ** -0.8

    def noise(records: float, spread: float) -> float:
        c = records * ranks / ranks.sum()
        return float((c**2 * spread**2 / (c**2 + spread**2)).sum())

    def squares(records: float) -> float:
        return float(((records * ranks / ranks.sum()) ** 2).sum())

    if not short:
        left = [100 * min(2, theta), 100 * min(4, theta)]
        kept, shift = sum(left) / 600, left[0] / sum(left) - 1 / 3
        return noise(600, deviation * theta / kept) + (kappa * shift) ** 2 * squares(600)
    kept = min(4, theta) / 4
    error = noise(200, deviation * short) + noise(400, deviation * theta / kept)
    return error + (kappa * 0.5 * (1 - kept)) ** 2 * squares(400)


@pytest.mark.parametrize("deviation", [0.1, 1.0, 5.0, 20.0, 200.0])
@pytest.mark.parametrize("kappa", [KAPPA, 2.0])
@pytest.mark.parametrize("classes", [False, True])
def test_the_bound_errs_least(deviation: float, kappa: float, classes: bool) -> None:
    lengths = lengths_of(TWO)
    tried = [Bounds(theta) for theta in range(1, 7)]
    if classes:
        tried += [Bounds(theta, short) for short in (2, 3) for theta in range(short + 1, 7)]
    errors = {(one.theta, one.short): expected(deviation, kappa, 7, one) for one in tried}
    found = best_bounds(
        lengths, Ranks.of(7), lambda theta: deviation * theta, kappa, classes=classes
    )
    assert found.error == pytest.approx(min(errors.values()), rel=1e-6)
    assert errors[found.theta, found.short] == pytest.approx(found.error, rel=1e-6)


def test_a_bound_of_long_rows_keeps_a_share_of_the_records() -> None:
    """Where nearly all are in rows of 1000, no bound that leaves next to nothing is chosen."""
    lengths = lengths_of({1000: 5000.0})
    purse = Purse(Epsilon(Fraction(1, 1000)), ones=False)
    found = setting_of(5000, lengths, purse=purse).bounds("long", KAPPA)
    assert lengths.kept(found.theta)[0] >= 0.08
    assert lengths.kept(BOUNDS[BOUNDS.index(found.theta) - 1])[0] < 0.08
    nothing = setting_of(5000, lengths_of({}, noise=1.0), purse=purse)
    assert nothing.bounds("long", KAPPA).theta == 8, "it says nothing"


def test_two_classes_are_for_items_alone() -> None:
    """With contexts beside them there is one class, whatever it errs by."""
    lengths = lengths_of({2: 10**6, 10: 10**5, 50: 10**5, 300: 10**4}, rich=True, noise=10.0)
    purse = Purse(Epsilon(Fraction(1)), ones=False)
    alone, beside = (setting_of(100, lengths, cells=c, purse=purse) for c in (False, True))
    assert alone.bounds("rich", 2.0).short > 0
    assert beside.bounds("rich", 2.0).short == 0
    assert alone.bounds("long", 2.0).short == 0


def test_the_pilot_has_half_of_the_records_in_each_class() -> None:
    bounds = of_the_pilot(lengths_of({2: 100.0, 4: 100.0, 7: 100.0, 8: 1.0}))
    assert (bounds.short, bounds.theta) == (7, 8)  # of 1308 records half are in rows of up to 7
    long = of_the_pilot(lengths_of({1: 10.0, 9: 10.0}))
    assert long.short == 8
    assert long.theta > 8


# ---- the pilot -----------------------------------------------------------------------------------

SHORT, LONG = np.array([40.0, 30.0, 20.0, 10.0]), np.array([10.0, 20.0, 30.0, 40.0])


def kappa(short: Any = SHORT, long: Any = LONG, variance: float = 1e-6) -> float | None:
    law = GaussianNoise(Fraction(variance))
    return measured_kappa(lengths_of(TWO), 2, Noisy(short, law), Noisy(long, law), fourth=5)


def test_kappa_by_hand() -> None:
    """Of four items the first is left out: A = .01+.01+.09, and P = (.49+.64+.81)/9 of the rest."""
    assert kappa() == pytest.approx(1.5 * sqrt(0.11 / (1.94 / 9)), rel=1e-4)


def test_kappa_has_nothing_of_the_top_of_a_noisy_list() -> None:
    """An item is there because of its noise: what it says of tastes is noise too."""
    assert kappa(SHORT, SHORT) is None
    top = np.array([90.0, 30.0, 20.0, 10.0])
    assert kappa(top, SHORT * 1.5 + np.array([30, -15, -10, -5])) is None


def test_kappa_is_not_known_where_noise_hides_it() -> None:
    # A = 0.11 − 3v stands against 4v·√15, where v is that of both shares: 2·variance/100².
    limit = 0.11 / (3 + 4 * sqrt(15)) / 2 * 100**2
    assert kappa(variance=0.99 * limit) is not None
    assert kappa(variance=1.01 * limit) is None
    near = kappa(SHORT, SHORT + np.array([0, 0.5, -0.5, 0]))
    assert near == KAPPA, "no less than what is taken where it is not known"


# ---- the head ------------------------------------------------------------------------------------


MANY = lengths_of({2: 10.0**5, 30: 10.0**5})
"""Users enough to see each of so few items."""


def setting_of(
    items: int, lengths: RowLengths = MANY, aim: Any = "counts", *, cells: bool = False, **more: Any
) -> Setting:
    given = {"listed": True, "purse": Purse(Epsilon(1 - SIZES), ones=True), **more}
    return Setting(items, aim, cells, cells, lengths=lengths, **given)


def test_sizes_of_the_head() -> None:
    assert [setting_of(m).head for m in (3, 4, 63, 64, 10**5)] == [0, 1, 15, 16, 16]
    assert [setting_of(m, aim="top").head for m in (64, 400)] == [16, 16]
    assert setting_of(400, aim="recommend", cells=True).head == 16
    assert setting_of(400, listed=False).head == 0


def test_few_users_of_many_items_are_looked_at_twice() -> None:
    """At ε = 1 where users are fewer than half of the items; not where rows keep their norm."""
    users = round(MANY.users)
    assert not setting_of(2 * users - 1).zooms
    assert setting_of(2 * users + 1).zooms
    assert not setting_of(2 * users + 1, listed=False).zooms
    assert [setting_of(m, lengths_of({2: 5.0})).zooms for m in (29, 30)] == [False, True]
    assert not setting_of(2 * users + 1, replace(MANY, by_norm=True)).zooms
    few = setting_of(2 * users + 1, aim="recommend", cells=True)
    rich = lengths_of({2: 10.0**5, 30: 10.0**5}, rich=True)
    assert sum(few.shares("long").values()) == 1
    assert "zoom" in few.shares("long")
    assert "zoom" not in few.shares("short")
    assert "pilot" in setting_of(100, rich).shares("long")


def test_the_second_look_is_at_the_fewest_items_with_much_of_the_records() -> None:
    counts = np.array([1.0, 50, 2, 40, 3, 30, 4, 20, 5, 10])
    assert zoomed(counts, 1).tolist() == [1], "50 of 165 is more than 30%"
    assert zoomed(counts, 3).tolist() == [1, 3, 5]
    assert zoomed(np.ones(10), 1).tolist() == [0, 1, 2]
    assert zoomed(np.ones(10), 9).tolist() == [0, 1, 2, 3, 4], "never more than half"


def test_bounds_of_the_head_and_of_the_total() -> None:
    assert bound_inside(np.array([10.0, 20.0]), 15.0) == 4
    assert bound_inside(np.array([10.0, 21.0]), 15.0) == 5
    assert bound_inside(np.array([0.0]), 15.0) == 1
    assert bound_inside(np.array([1e18]), 1.0) == LARGEST_BOUND, "within 64 bits"
    dear, cheap = (Purse(Epsilon(Fraction(price)), ones=False) for price in ("1e6", "1e-6"))
    assert setting_of(9, lengths_of(TWO), purse=dear).bound_of_total() == 4
    assert setting_of(9, lengths_of(TWO), purse=cheap).bound_of_total() == 1


def test_a_path_without_kappa_is_that_of_less_error() -> None:
    """Once, with the head's noise in it; or again, where the bound of the rest is lower."""
    shares: list[str] = []
    for users in (10.0, 10**3, 10**5, 10**7):
        lengths = lengths_of({2: users, 12: users, 300: users / 30}, rich=True)
        purse = Purse(Epsilon(Fraction(1)), ones=True)
        setting = setting_of(200, lengths, purse=purse)
        once, again = setting.bounds("rich", KAPPA).error, setting.bounds("long", KAPPA).error
        noise = purse.head_variance(Fraction(85, 1000), 16)
        shares.append(setting.path_without_kappa())
        assert shares[-1] == ("rich" if once < again + 20 * noise else "long")
    assert len(set(shares)) == 2
    few = setting_of(3, lengths, purse=purse)
    assert few.path_without_kappa() == "rich", "there is no head, and more for the items"
