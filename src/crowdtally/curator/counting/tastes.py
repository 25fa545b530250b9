"""Users' rows → how much the users of each context like each feature, beyond the overall mean.

A user's row is (w_f·(P_uf − p̄_f)) over the features f, and β, in her one context. P_u is her own
mean profile. All of it is in whole numbers of 64 bits.

Contract: one user changes the table by at most g units in L1, in the cells of one context. The
proof is in ``steps/auto/contexts.md``.
"""

from __future__ import annotations

import numpy as np

from crowdtally.core.counts import Counts
from crowdtally.core.domain import PARTS
from crowdtally.core.profile import BETA, FINE, WEIGHT, Profile
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.rows import UNIT, Visits, refuse_several
from crowdtally.records.engine import Column, Rows, constant, either, smaller, sum_of

MOST = 2**12
"""The most that one user's records at one item count here."""


def count_tastes(visits: Visits, profile: Profile, contexts: int) -> Counts:
    """(feature, context), then (β, context): the sums of the users' scaled rows."""
    refuse_several(visits)
    engine, features = visits.engine, range(profile.size)
    sums = engine.materialise(_sums(visits, profile), f"profiles_{visits.key}")
    rows = engine.materialise(_centred(sums, profile), f"tastes_{visits.key}")
    scaled = {f"cell_{f}": _scaled(rows[f"v_{f}"], rows.whole) for f in features}
    scaled["cell_beta"] = (constant(GRID * BETA * FINE) // rows.whole).cast("int64")
    cells = rows.select("context", **scaled)
    totals = {name: cells[name].sum().cast("int64") for name in scaled}
    found = engine.arrays(cells.group_by("context").agg(**totals))
    table = np.zeros((profile.size + 1, contexts), dtype=np.int64)
    for place, name in enumerate(scaled):
        table[place, found["context"]] = found[name]
    return Counts(table.size, np.arange(table.size), table.ravel(), GRID, UNIT, signed=True)


def _sums(visits: Visits, profile: Profile) -> Rows:
    """(user, context, total, sum_f): her records, and her records times each feature's share."""
    kinds = profile.kinds[profile.items]
    columns = {"item": np.arange(len(kinds), dtype=np.int64)}
    columns |= {f"share_{f}": np.ascontiguousarray(kinds[:, f]) for f in range(profile.size)}
    rows = visits.rows.inner_join(visits.engine.load("item_features", columns), "item")
    amount = smaller(rows.amount, MOST)
    each = {f"sum_{f}": sum_of(amount * rows[f"share_{f}"]) for f in range(profile.size)}
    return rows.group_by("user", "context").agg(total=sum_of(amount), **each)


def _centred(sums: Rows, profile: Profile) -> Rows:
    """(context, v_f, whole): her weighted distance from the mean, and what her row is divided by.

    ``whole`` is at least the sum of |v_f| and β's, so the scaled row adds up to at most g.
    """
    values = {}
    for f, (mean, weight) in enumerate(zip(profile.means, profile.weights, strict=True)):
        share = (sums[f"sum_{f}"] * (FINE // PARTS) // sums.total).cast("int64")
        values[f"v_{f}"] = ((share - int(mean)) * int(weight)).cast("int64")
    rows = sums.select("context", **values)
    length = constant(BETA * FINE)
    for name in values:
        length = length + rows[name].abs()
    least = WEIGHT * FINE
    whole = either(length > least, length, constant(least)).cast("int64")
    return rows.select("context", *values, whole=whole)


def _scaled(value: Column, whole: Column) -> Column:
    """sgn(v)·⌊g·|v| / whole⌋: engines disagree about the division of negative numbers."""
    size = (value.abs() * GRID // whole).cast("int64")
    return either(value < 0, -size, size).cast("int64")
