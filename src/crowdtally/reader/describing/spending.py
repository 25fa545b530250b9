"""What was spent on the same records, before and with this release."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from crowdtally.published import Published
from crowdtally.reader.describing.promise import at_most
from crowdtally.values.rational import show


def spending_lines(published: Published) -> Iterator[str]:
    """The ledger's words on it: they were true when it was made."""
    charged = published.charged
    if not charged.spent_before:
        yield (
            f"It was the first release that this ledger charged to the dataset: ε "
            f"{show(charged.spent_after)} in all."
        )
    else:
        half = at_most(charged.spent_after, Fraction(1, 2))
        yield (
            f"ε {show(charged.spent_before)} had been spent on the dataset before; with this "
            f"release it is {show(charged.spent_after)}. By all of them together a belief of 50% "
            f"can become {half} at most."
        )
    if charged.limit is None:
        yield "No limit was set: nothing stops further releases of the same records."
    else:
        left = charged.limit - charged.spent_after
        yield (
            f"The limit was ε {show(charged.limit)}, of which {show(max(left, Fraction(0)))} were "
            "left."
        )
    yield (
        f"This is as it was when the release was made (ledger entry {charged.entry}). Later "
        "releases of the same records add to it, and only the ledger knows them."
    )
