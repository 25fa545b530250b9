"""Whether a release appears is decided by public numbers, never by the records.

Each request below is accepted, with parameters as extreme as a person may type them. It must then
be released from every database alike: from an empty one, from one without a record in the domain,
from one user, and from many.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.integers import exact_product, repeated
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.choices.bounds import RowTable
from crowdtally.curator.choices.dpsense_s import DPSenseSChoice
from crowdtally.curator.summaries.priority import priority_summary
from crowdtally.curator.summaries.sparse import empty_values
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from kit.made import made
from kit.words import Seeded

ISSUE, LONG, LONGER = (f"{whole}.{'0' * zeros}1" for whole, zeros in ((100, 19), (1, 40), (3, 960)))
"""Decimals beyond 64 bits, beyond 128, and as long as may be typed: beyond any float."""
TINY, HUGE = "1e-390", "1e300"
DAYS = 5
DOMAIN = ct.Domain(["a", "b", "c"], {"day": range(DAYS)})


def town(*rows: tuple[str, str, int]) -> pa.Table:
    names, kinds = ("user", "item", "day"), (pa.string(), pa.string(), pa.int64())
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    pairs = zip(names, columns, kinds, strict=True)
    return pa.table({name: pa.array(list(column), kind) for name, column, kind in pairs})


DATABASES = {
    "empty": town(),
    "outside": town(("u", "not listed", 0)),
    "one user": town(("u", "a", 1)),
    "many": town(*((f"u{n % 300}", "abc"[n % 3], n % DAYS) for n in range(3000))),
}

_DYADIC, _HAAR = ({"transform": kind, "ordered": ["day"]} for kind in ("dyadic", "haar"))
_PRIORITY = {"publishing": "priority", "size": 2}
FORMS: dict[str, dict[str, Any]] = {
    "dense": {},
    "filter, largest cut": {"publishing": "filter", "cut": 2**40},
    "filter, one cell": {"publishing": "filter", "size": 1},
    "threshold of the issue": {"publishing": "threshold", "threshold": ISSUE},
    "threshold, longer": {"publishing": "threshold", "threshold": LONGER},
    "threshold, one side": {"publishing": "threshold", "threshold": LONG, "sides": "one"},
    "threshold, tiny": {"publishing": "threshold", "threshold": TINY},
    "threshold, huge": {"publishing": "threshold", "threshold": HUGE},
    "priority, longer": _PRIORITY | {"threshold": LONGER},
    "priority, tiny": _PRIORITY | {"threshold": TINY},
    "filter-priority": {"publishing": "filter-priority", "size": 2, "cut": 1, "threshold": LONGER},
    "dyadic, threshold": _DYADIC | {"publishing": "threshold", "threshold": LONGER},
    "dyadic, filter-priority": _DYADIC | {"publishing": "filter-priority", "size": 2, "cut": 1},
    "haar, threshold": _HAAR | {"publishing": "threshold", "threshold": LONG},
    "haar, priority": _HAAR | _PRIORITY | {"threshold": LONGER},
    "sketch": {"transform": "sketch", "buckets": 4},
}
_SCALED = {"max_records": 3, "choose": "dpsense"}
METHODS: dict[str, dict[str, Any]] = {
    "rank": {"choose": "rank"},
    "dpsense": {"bounding": "dpsense", "count": "users"} | _SCALED,
    "dpsense-s": {"bounding": "dpsense-s", "cap": 2, "scalings": "1,1.000001,2"} | _SCALED,
    "dpsense-s, one scaling": {"bounding": "dpsense-s", "cap": 2, "scalings": "1"} | _SCALED,
}
ALL, FURTHEST = "all", "furthest apart"
CHOSEN = {ALL: list(DATABASES), FURTHEST: ["empty", "many"]}
AT = [
    pytest.param(LONGER, ALL, id="a decimal"),
    pytest.param("1e20", FURTHEST, id="large"),
    pytest.param("1e20", ALL, id="large, all", marks=pytest.mark.long),
]
"""ε, and which databases: with the same code behind both, one ε goes through all of them."""


def check(folder: Path, domain: ct.Domain | None, chosen: str = ALL, **options: Any) -> None:
    """Released from every database; a refusal would raise."""
    for name in CHOSEN[chosen]:
        release = made(folder, DATABASES[name], domain, name=name, **options)
        assert release.folder == folder / name


@pytest.mark.parametrize(("epsilon", "chosen"), AT)
@pytest.mark.parametrize("form", FORMS)
def test_every_form(form: str, epsilon: str, chosen: str, tmp_path: Path) -> None:
    check(tmp_path, DOMAIN, chosen, epsilon=epsilon, **FORMS[form])


@pytest.mark.parametrize(("epsilon", "chosen"), AT)
@pytest.mark.parametrize("method", METHODS)
def test_every_method(method: str, epsilon: str, chosen: str, tmp_path: Path) -> None:
    sparse = {"publishing": "threshold", "threshold": ISSUE}
    check(tmp_path, DOMAIN, chosen, epsilon=epsilon, **METHODS[method], **sparse)


@pytest.mark.parametrize(
    "form", ["dense", "filter, one cell", "dyadic, filter-priority", "haar, priority", "sketch"]
)
def test_the_largest_quantities(form: str, tmp_path: Path) -> None:
    """l = C = 2^31: bounds of 2^62, and beyond 64 bits under a transform."""
    most = 2**31
    roles = {"quantity": "n", "max_quantity": most}
    for name, rows in DATABASES.items():
        bought = rows.append_column("n", pa.array([2**40] * len(rows), pa.int64()))
        release = made(
            tmp_path, bought, DOMAIN, name=name, roles=roles, epsilon="1e5", max_records=most,
            **FORMS[form],
        )  # fmt: skip
        bounds = [table["sensitivity"] for table in release.metadata["tables"]]
        factors = {"dyadic": 4, "haar": 4, "sketch": 5}.get(form.split(",")[0], 1)
        assert max(bounds) == most**2 * factors


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("delta", ["a thirtieth", "1e-300"])
@pytest.mark.parametrize("epsilon", ["1e-9", "3.1", "1e20", HUGE])
def test_discovery(epsilon: str, delta: str, noise: str, tmp_path: Path) -> None:
    """At 1e20 the δ that is reported has 10^19 zeros, and must not be written down."""
    thirtieth = f"0.0{'3' * 960}"
    check(
        tmp_path, None, ALL if delta == "a thirtieth" else FURTHEST, discover_items=True,
        noise=noise, epsilon=epsilon, delta=thirtieth if delta == "a thirtieth" else delta,
    )  # fmt: skip


def test_a_discovery_of_nothing_but_noise_is_refused(tmp_path: Path) -> None:
    for noise in ("laplace", "gaussian", "auto"):
        with pytest.raises(ct.UsageError, match="beyond any count"):
            check(
                tmp_path, None, discover_items=True, noise=noise, epsilon="1e-300", delta="1e-300"
            )


# ---- the same below whole releases, where a chance need not be waited for ------------------------


@pytest.mark.parametrize("values", [[], [0], [0, 0], [1], [-3]])
@pytest.mark.parametrize("factor", [0, 1, 2**63 - 1, 2**63, -(2**63), 10**40])
def test_products_of_any_factor(values: list[int], factor: int) -> None:
    made_of = exact_product(np.array(values, dtype=np.int64), factor)
    assert made_of.tolist() == [value * factor for value in values]


@pytest.mark.parametrize(
    ("value", "factor"),
    [(2**40, 2**23), (2**40, 2**24), (2**62, 2), (-(2**62), 3), (3, 2**62), (7, 2**61 - 1)],
)
def test_products_at_the_limit_of_64_bits(value: int, factor: int) -> None:
    assert exact_product(np.array([0, value]), factor).tolist() == [0, value * factor]
    assert exact_product(np.array([0, value]), -factor).tolist() == [0, -value * factor]


@pytest.mark.parametrize("size", [0, 2])
@pytest.mark.parametrize("number", [0, 2**63 - 1, 2**63, 10**40])
def test_one_number_many_times(number: int, size: int) -> None:
    assert repeated(number, size).tolist() == [number] * size


@pytest.mark.parametrize("threshold", [10**20, 10**40, Fraction(ISSUE), Fraction(LONGER)])
@pytest.mark.parametrize("size", [0, 40])
def test_values_of_empty_cells(threshold: Fraction | int, size: int) -> None:
    keeping = Keeping(0, Fraction(threshold))
    values = empty_values(size, DiscreteLaplace(Fraction(10)), keeping, SystemDraws(Seeded(3)))
    assert len(values) == size
    assert all(values != 0)


@pytest.mark.parametrize("threshold", ["1/2", LONG, LONGER, TINY, "5"])
def test_priorities_of_any_threshold(threshold: str) -> None:
    """More cells than are wanted, so that their priorities are compared."""
    counts = Counts(100, np.arange(100), np.full(100, 1000), 1)
    found = priority_summary(
        counts, Epsilon.of(1), SystemDraws(Seeded(5)), size=7, threshold=Fraction(threshold)
    )
    assert len(found.cells) == 7
    assert found.threshold is not None
    assert found.threshold > 900


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_scores_where_epsilon_is_beyond_64_bits(rows: int) -> None:
    """Rows of one cell err by nothing, as no rows do."""
    publish = Epsilon.of(10**20)
    choice = DPSenseSChoice(4, 3, Epsilon.of(1), publish, 1, (Fraction(1),))
    ones = np.ones(rows, dtype=np.int64)
    scores = choice.scores(RowTable(ones, 0 * ones, ones))
    assert scores.ravel().tolist() == [-4 * choice.grid * theta for theta in (1, 2, 3)]
