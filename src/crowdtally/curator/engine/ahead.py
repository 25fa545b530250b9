"""Copying rows in blocks: the next one is fetched while the last one is written."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TypeVar

import duckdb

Block = TypeVar("Block")


def ahead(blocks: Generator[Block, None, None]) -> Generator[Block, None, None]:
    """The same blocks in order, each fetched in another thread while the one before is used.

    What ``blocks`` raises is raised here, and it is closed when this generator is.

    >>> list(ahead(block for block in "abc"))
    ['a', 'b', 'c']
    """
    with closing(blocks), ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = thread.submit(next, blocks, None)
            yield block


@contextmanager
def at_once(into: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """One transaction for all blocks: else each is first written to a log, and flushed."""
    into.begin()
    try:
        yield
    except BaseException:
        into.rollback()
        raise
    into.commit()
