"""Notes that several figures share."""

from __future__ import annotations

RUNS_NOTE = (
    "50 runs, each with data, noise and queries of its own: up to 500 random subsets of each size. "
    "auto: 20 runs, five on each of four tables, because counting ten million persons takes longer "
    "than all else."
)
AUTO_NOTE = (
    "auto is the real method on persons with one record each. It bounds nobody, spends 3% of ε on "
    "how long rows are and the rest on all cells, and a sum is that of the reader's estimates. "
    "Each estimate is near its own count; but where most cells are empty, an empty one is believed "
    "to hold a little, which adds up in sums over many cells. The noisy sum, which a reader is "
    "told beside the estimate, has no such bias, and about the noise of geometric; where persons "
    "are few per cell (density 0.01, Adult) twice that, because half of ε goes to a second look at "
    "the largest."
)
TIME_NOTE = (
    "Processor time, so that what else the machine does counts little. Noise is exact and drawn by "
    "compiled code; the paper's absolute times are of another machine and other code."
)
REAL_NOTE = (
    "Each unit of a count is one person with one record. The lists of values are those that occur "
    "in the file: an experiment's licence. Times and sizes are of 5 runs, errors of 50, those of "
    "auto of 20, with new noise and new queries in each."
)
