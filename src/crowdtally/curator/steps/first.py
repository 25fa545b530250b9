"""The first read of a release: exact, before the charge; it reads every record."""

from __future__ import annotations

from typing import Any

from crowdtally.curator.counting.reading import Read
from crowdtally.curator.steps.bounds import given_bounds, read_rows
from crowdtally.curator.steps.discovery import read_items
from crowdtally.curator.steps.tables import read_popularity, read_tables
from crowdtally.curator.steps.work import Work


def read_first(work: Work) -> Read[Any]:
    """What the first step of the release will add noise to, and the rows that fall out.

    Nothing is drawn but sampling keys, which privacy does not rest upon.
    """
    request, method = work.request, work.request.method
    if method.discover:
        return read_items(work)
    if method.popularity_records is not None:
        return read_popularity(work, method.popularity_records)
    if method.choose is not None:
        return read_rows(work, next(iter(request.layouts())))
    return read_tables(work, given_bounds(work))
