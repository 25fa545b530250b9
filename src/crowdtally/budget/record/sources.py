"""Which sources a dataset was charged for, so that one source does not get two budgets unnoticed.

Without a name of its own a release is charged to one made from its source. A glob and a file inside
it then have two names for the same people. The ledger therefore keeps a hash of every source, and
refuses a *default* name where a source belongs to another dataset. A name that a person chose is
that person's word.

The event changes no sum. It is filed under the first digits of the hashes it holds, in the column
that otherwise says which reservation an entry is about: a lookup reads a 4096th of what the ledger
knows, and even a hundred thousand files make at most 4096 entries.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

from crowdtally.budget.record.canonical import Json
from crowdtally.budget.record.names import normal
from crowdtally.errors import UsageError

_HASH = re.compile(r"[0-9a-f]{32}")
_DIGITS = 3
_MOST_NAMED = 3


@dataclass(frozen=True)
class Sources:
    """A dataset was charged for sources that it had not met before."""

    kind: ClassVar[str] = "sources"
    version: ClassVar[int] = 1
    hashes: tuple[str, ...]
    """Of their names, ascending; all begin with the same digits."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hashes", tuple(self.hashes))
        if not self.hashes or not all(map(_HASH.fullmatch, self.hashes)):
            raise UsageError(
                "sources are recorded as hashes of 32 hexadecimal digits, at least one."
            )
        if list(self.hashes) != sorted(set(self.hashes)) or len(set(map(shelf, self.hashes))) > 1:
            raise UsageError(
                "hashes of sources are recorded once, in order, with equal beginnings."
            )

    @property
    def shelf(self) -> int:
        """Where it is filed."""
        return shelf(self.hashes[0])

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {"hashes": list(self.hashes)}


def hashed(source: str) -> str:
    """The hash of a source's resolved name: 128 bits, and one for every spelling of it.

    >>> hashed("/data/trips.parquet")
    '00ae65c33ede04765d2b241bc03dc3bf'
    """
    return sha256(normal(source).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def shelf(digest: str) -> int:
    """Where a hash is filed: below zero, since the numbers of reservations are above it."""
    return -1 - int(digest[:_DIGITS], 16)


def filed(hashes: Iterable[str]) -> Iterator[Sources]:
    """The events that record these hashes, one for each shelf."""
    shelves: dict[int, list[str]] = defaultdict(list)
    for digest in sorted(set(hashes)):
        shelves[shelf(digest)].append(digest)
    for found in shelves.values():
        yield Sources(tuple(found))


def distinct(sources: Sequence[str]) -> list[str]:
    """The sources, each once, if they are a list of names."""
    if isinstance(sources, str) or not all(isinstance(source, str) for source in sources):
        raise UsageError(
            "sources are a list of names, such as ['/data/trips.parquet']: received "
            f"a {type(sources).__name__}{'' if isinstance(sources, str) else ' of other things'}."
        )
    return list(dict.fromkeys(sources))


def require_no_overlap(dataset: str, others: Sequence[str]) -> None:
    """Refuse a default name where other datasets were charged for the same source."""
    if not others:
        return
    named = ", ".join(map(repr, others[:_MOST_NAMED]))
    more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    raise UsageError(
        f"these records, or some of them, belong to the budget of {named}{more} already, and "
        f"without a name this release would be charged to another one, {dataset!r}. The same "
        "people have one budget: say which one is meant, --dataset NAME (in Python "
        f"dataset='NAME'), such as --dataset {shlex.quote(others[0])}. Nothing was charged."
    )
