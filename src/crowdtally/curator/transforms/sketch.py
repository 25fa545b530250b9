"""The count sketch: every cell added, with a public sign, to one public bucket of each row.

Contract. If the table's counts have L1 bound L, the buckets have L·R: a record changes one bucket
of each of R rows by 1. The hashes are public and were fixed before the records were read. Buckets
are signed. Nothing is drawn here. The proof is in ``sketch.md``.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crowdtally.core.counts import Counts
from crowdtally.core.hierarchy import Dyadic, Sketching
from crowdtally.core.layout import Buckets, Layout
from crowdtally.core.numbers import group_equal, integers, whole_number
from crowdtally.errors import UsageError


@dataclass(frozen=True)
class SketchTransform:
    """A count sketch of R rows of B buckets."""

    name: ClassVar[str] = "sketch"
    takes: ClassVar[frozenset[str]] = frozenset({"buckets", "sketch_rows"})
    signed: ClassVar[bool] = True

    buckets: int
    """B."""
    rows: int
    """R."""
    seed: int
    """Of the hashes: public, and fixed before a count is seen."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> SketchTransform:
        """From ``buckets`` and ``sketch_rows``; the seed is fresh."""
        if options["buckets"] is None:
            raise UsageError("--transform sketch and --buckets B go together.")
        buckets = whole_number(options["buckets"], "--buckets", 1, 2**31)
        rows = whole_number(options["sketch_rows"], "--sketch-rows", 1, 1000)
        return cls(buckets, rows, secrets.randbits(62))

    @property
    def ordered(self) -> tuple[str, ...]:
        """It makes no ranges."""
        return ()

    def layout(self, cells: Layout) -> Buckets:
        """The buckets."""
        return Buckets(Sketching(cells.size, self.buckets, self.rows, self.seed))

    def factor(self, cells: Layout) -> int:
        """One bucket in each row."""
        return self.rows

    def l2_factor(self, cells: Layout) -> int:
        """Each of them by one."""
        return self.rows

    def apply(self, counts: Counts, cells: Layout) -> Counts:
        """Their sums."""
        return sketch_counts(counts, self.layout(cells).sketching)

    def tree(self, cells: Layout) -> Dyadic | None:
        """There is none."""
        return None

    def squares(self, cells: Layout, query: int, *, dense: bool) -> float:
        """Each row sums so many buckets, and the rows' mean is taken."""
        return query / self.rows

    def facts(self) -> dict[str, Any]:
        """All that its hashes follow from."""
        sizes = {"buckets": self.buckets, "rows": self.rows, "seed": self.seed}
        return {"kind": self.name, "ordered": []} | sizes


def sketch_counts(counts: Counts, sketching: Sketching) -> Counts:
    """The buckets that some listed cell falls into; bucket j of row i has number i·B + j."""
    if sketching.cells != counts.size:
        raise UsageError(
            f"the sketch hashes {sketching.cells} cells, and the table has {counts.size}."
        )
    values = counts.addable()
    numbers, sums = [], []
    for row in range(sketching.rows):
        bucket, sign = sketching.places(counts.cells, row)
        found = group_equal(bucket + row * sketching.buckets)
        numbers.append(found.numbers)
        sums.append(found.sums(values * sign))
    bound = counts.l1_bound * sketching.rows
    return Counts(
        sketching.size,
        np.concatenate(numbers),
        integers(np.concatenate(sums)),
        bound,
        counts.unit,
        signed=True,
        squared=counts.l1_bound**2 * sketching.rows,
    )
