"""How good an estimate is, in the numbers of the papers: each a function of truth and estimate.

::

    cells          mse, mae, mre
    lists          precision, top_mae, top_mre: of the true top k
    distributions  kl, kl_reversed, context_distance
    queries        subset_error, range_error: a public workload
    registry       every metric by name, and all of them for one table

A metric that is not defined on a table (a list longer than the table, a relative error where
nothing was counted) is None, never NaN.
"""

from crowdtally.lab.metrics.cells import SANITY_BOUND, mae, mre, mse
from crowdtally.lab.metrics.distributions import context_distance, kl, kl_reversed
from crowdtally.lab.metrics.lists import precision, top_mae, top_mre
from crowdtally.lab.metrics.queries import range_error, subset_error
from crowdtally.lab.metrics.registry import METRICS, Compared, Metric, measured

__all__ = [
    "METRICS",
    "SANITY_BOUND",
    "Compared",
    "Metric",
    "context_distance",
    "kl",
    "kl_reversed",
    "mae",
    "measured",
    "mre",
    "mse",
    "precision",
    "range_error",
    "subset_error",
    "top_mae",
    "top_mre",
]
