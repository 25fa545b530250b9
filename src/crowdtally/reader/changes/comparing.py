"""``ct.changes``: what rose and what fell between two releases of one domain."""

from __future__ import annotations

import os
from collections.abc import Mapping

from crowdtally.reader.changes.change_list import ChangeList
from crowdtally.reader.release import Release
from crowdtally.values.rational import Number


def changes(
    earlier: Release | str | os.PathLike[str],
    later: Release | str | os.PathLike[str],
    /,
    *,
    fdr: Number = "0.05",
    of: str = "counts",
    k: int | None = None,
    context: Mapping[str, object] | None = None,
    **contexts: object,
) -> ChangeList:
    """Which items rose and which fell, beyond what noise and sampling explain.

    Of the items listed, a share of at most ``fdr`` has not changed, on average.

    Args:
        earlier: a release, or its folder.
        later: another of the same domain.
        fdr: the false discovery rate.
        of: ``"counts"``, or ``"shares"``: relative to the totals, so that twice the users are no
            change.
        k: how many items to list, the surest first; all that changed by default.
        context: values of contexts whose names are those of other parameters.
        contexts: ``day="Friday"``, or a list of values, which count together. Contexts that are
            not named are summed over.

    Raises:
        UsageError: the releases cannot be compared; the message says why, and what to do.
    """
    raise NotImplementedError
