"""The count sketch: every cell added, with a public sign, to one public bucket of each row.

Contract. If the table's counts have L1 bound L, the buckets have L·R: a record changes one bucket
of each of R rows by 1. The hashes are public and were fixed before the records were read. Buckets
are signed. Nothing is drawn here. The proof is in ``sketch.md``.
"""

from __future__ import annotations

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.values.counts import Counts
from crowdtally.values.integers import grouped, integers
from crowdtally.values.sketching import Sketching


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
        found = grouped(bucket + row * sketching.buckets)
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
    )
