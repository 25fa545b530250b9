"""Sparse publishing: what it costs at N = 10^8, 10^9 and 10^18, and against every cell with noise.

n = 10^6 occupied cells, S = n, ε = 0.1, L = 1, FILTER-PRIORITY with the cut that N, S and ε give.
The counts are about 1000, so that nearly all pass the cut at every N: otherwise a larger N would
have less to publish, and look faster. The dense geometric mechanism is timed over 10^8 cells, block
by block, and scaled to 10^9. Runs alternate, and the best of each is taken. Bytes are those of the
arrays: 8 for a dense value, 16 for a sparse one and its cell.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from itertools import pairwise

import numpy as np

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.base import Charged, Summary
from crowdtally.curator.summaries.priority import prioritised
from crowdtally.curator.summaries.sparse import filter_cut, priority_threshold
from crowdtally.curator.summaries.threshold import sampled
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws

EPSILON = Epsilon.of("0.1")
SCALE = 1 / EPSILON.value
SMALL, MIDDLE, LARGE = 10**8, 10**9, 10**18
_BLOCK = 10**7


def occupied(cells: int, n: int) -> Counts:
    """``n`` distinct cells, spread over the domain, with counts about 1000."""
    rng = np.random.default_rng(7)
    numbers = np.unique(rng.integers(0, cells, n + n // 50))
    numbers = np.sort(rng.permutation(numbers)[:n])
    counts = np.maximum(1, rng.normal(1000, 200, n).round()).astype(np.int64)
    return Counts(cells, numbers, counts, l1_bound=1)


def sparse(counts: Counts, size: int) -> tuple[float, Summary]:
    """Seconds from the counts to the published cells, the choice of all parameters included."""
    start = time.perf_counter()
    law = DiscreteLaplace(SCALE)
    cut = filter_cut(counts.size, size, law)
    keeping = Keeping(cut, priority_threshold(counts.size, size, law, cut=cut))
    sample = sampled(Charged(counts, EPSILON, keeping), SystemDraws())
    summary = prioritised(sample, size, SystemDraws())
    return time.perf_counter() - start, summary


def dense(counts: Counts) -> float:
    """Seconds to give every cell its noisy count; the table is not kept."""
    draws = SystemDraws()
    start = time.perf_counter()
    ends = np.searchsorted(counts.cells, np.arange(0, counts.size + _BLOCK, _BLOCK))
    for block, (low, high) in enumerate(pairwise(ends)):
        noisy = draws.laplace(SCALE, min(_BLOCK, counts.size - block * _BLOCK))
        noisy[counts.cells[low:high] - block * _BLOCK] += counts.values[low:high]
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--occupied", type=lambda text: int(float(text)), default=10**6)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    n = arguments.occupied
    tables = {cells: occupied(cells, n) for cells in (SMALL, MIDDLE, LARGE)}
    times: dict[int, list[float]] = {cells: [] for cells in tables}
    summaries: dict[int, Summary] = {}
    for _ in range(arguments.repeats):
        for cells, counts in tables.items():
            seconds, summaries[cells] = sparse(counts, n)
            times[cells].append(seconds)
    measured = dense(tables[SMALL])
    scaled = measured * (MIDDLE / SMALL)
    best = {cells: min(seconds) for cells, seconds in times.items()}
    bytes_sparse = 16 * len(summaries[MIDDLE].cells)
    print(f"{'method':<22}{'N':>8}{'cut':>6}{'seconds':>10}{'cells':>12}{'short':>7}")
    for cells, summary in summaries.items():
        size, cut = len(summary.cells), summary.keeping.cut
        print(
            f"{'filter-priority':<22}{cells:>8.0e}{cut:>6}{best[cells]:>10.3f}{size:>12}"
            f"{summary.short!s:>7}"
        )
    print(f"{'dense, measured':<22}{SMALL:>8.0e}{'':>6}{measured:>10.3f}{SMALL:>12}")
    print(f"{'dense, scaled by 10':<22}{MIDDLE:>8.0e}{'':>6}{scaled:>10.3f}{MIDDLE:>12}")
    result = {
        "occupied": n,
        "flat": round(best[LARGE] / best[SMALL], 3),
        "ratio": round(scaled / best[MIDDLE], 1),
        "bytes_ratio": round(8 * MIDDLE / bytes_sparse, 1),
        "seconds": {f"{cells:.0e}": round(seconds, 3) for cells, seconds in best.items()},
        "dense_seconds_measured_at_1e8": round(measured, 2),
        "dense_seconds_scaled_to_1e9": round(scaled, 1),
        "bytes_filter_priority": bytes_sparse,
        "bytes_dense": 8 * MIDDLE,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
