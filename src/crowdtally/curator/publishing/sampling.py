"""One sample of a noisy table that is never built: all sparse publishings start here.

Contract. Relation: counts whose distance is within their bound. Output law: as if every one of the
N cells had been given independent noise of the law and then been kept or dropped by the rule,
listed in the order of the cells: a function of the dense table, at its price. Time and memory are
those of the listed cells and of the output, whatever N is. The proof is in ``empty.md``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.numbers import Integers, exact_sum
from crowdtally.curator.publishing.empty import empty_cells, empty_values, kept_by_chance
from crowdtally.curator.publishing.sizes import expected_size
from crowdtally.errors import UsageError
from crowdtally.laws.base import CellNoise
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.noise.draws import Draws

LARGEST_SAMPLE = 300_000_000
"""Expected kept empty cells beyond which a sample is refused: about 15 GB while it is drawn."""


def draw_sample(
    counts: Counts, law: CellNoise, keeping: Keeping, draws: Draws
) -> tuple[Integers, Integers]:
    """Returns (cells, noisy values) of the kept cells, sorted by cell.

    Of Gaussian noise what passes the cut is drawn, and sampled afterwards: post-processing.
    """
    refuse(counts, law, keeping)
    if keeping.samples and isinstance(law, GaussianNoise):
        whole = draw_sample(counts, law, replace(keeping, threshold=None), draws)
        return _by_chance(*whole, keeping, draws)
    cells, values = _occupied(counts, law, keeping, draws)
    empty = empty_cells(counts, law, keeping, draws)
    noise = empty_values(len(empty), law, keeping, draws)
    return _merged(cells, values, empty, noise)


def refuse(counts: Counts, law: CellNoise, keeping: Keeping) -> None:
    """Refuse, by public facts alone, what has no meaning or would not fit."""
    if counts.signed and keeping.sides == "one":
        raise UsageError(
            "one-sided publishing drops negative values, and here they are half of the "
            "information (Haar coefficients, sketch buckets): use two-sided publishing."
        )
    expected = expected_size(counts.size, law, keeping)
    if expected > LARGEST_SAMPLE:
        raise UsageError(
            f"of {counts.size} cells about {expected:.3g} empty ones would be published, and at "
            f"most {LARGEST_SAMPLE} fit: ask for a smaller size, or raise the cut or the threshold."
        )


def _by_chance(
    cells: Integers, values: Integers, keeping: Keeping, draws: Draws
) -> tuple[Integers, Integers]:
    """Each with min(w/τ, 1), w being its weight."""
    if keeping.threshold is None:
        return cells, values
    weights = np.abs(values) if keeping.sides == "two" else values
    kept = np.flatnonzero(kept_by_chance(weights, keeping.threshold, draws))
    return cells[kept], values[kept]


def _occupied(
    counts: Counts, law: CellNoise, keeping: Keeping, draws: Draws
) -> tuple[Integers, Integers]:
    """The listed cells: noise, then the rule, one by one."""
    noisy = exact_sum(counts.values, law.draw(draws, len(counts.values)))
    weights = np.abs(noisy) if keeping.sides == "two" else noisy
    passed = np.flatnonzero(weights >= keeping.least)
    found = counts.cells[passed], noisy[passed]
    return _by_chance(*found, keeping, draws) if keeping.samples else found


def _merged(
    cells: Integers, values: Integers, empty: Integers, noise: Integers
) -> tuple[Integers, Integers]:
    """Both lists as one, by cell: any other order would tell which cells were occupied."""
    together = np.concatenate([cells, empty])
    order = np.argsort(together, kind="stable")
    return together[order], np.concatenate([values, noise])[order]
