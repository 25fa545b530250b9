"""A person's history: which items of the catalogue are in it. It never leaves this package."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from crowdtally.errors import InputError, UsageError
from crowdtally.person.catalogue import Catalogue, Places


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """A set of items of one catalogue: private.

    An item counts once however often it is named: what is protected is that it is there. An empty
    history and one of the whole catalogue are values like any other, because refusing one would
    tell the recommender which it was.
    """

    catalogue: Catalogue
    """What its items are items of."""
    places: Places
    """Their places in the catalogue, ascending and distinct."""
    repeated: int = 0
    """How many further times an item was named; for the person's eyes alone."""
    unknown: int = 0
    """How many items were left out because the catalogue has none such; for the person's eyes."""

    @classmethod
    def of(
        cls, items: History | Iterable[object], catalogue: Catalogue, *, drop_unknown: bool = False
    ) -> History:
        """From item ids, text or integers as the catalogue spells them.

        Args:
            items: the ids, in any order.
            catalogue: the public catalogue.
            drop_unknown: whether to leave out items that the catalogue does not have; else they
                are refused.
        """
        if isinstance(items, History):
            if items.catalogue is not catalogue:
                raise UsageError(
                    "the history and the plan are of two catalogues: use one for both."
                )
            return items
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise UsageError(
                "a history is a list of item ids: received a "
                f'{type(items).__name__}; type for example ["Alien", "Heat"].'
            )
        named = [_id(item) for item in items]
        known = [place for item in named if (place := catalogue.place_of.get(item)) is not None]
        missing = len(named) - len(known)
        if missing and not drop_unknown:
            raise _not_there(named, catalogue, missing)
        places = np.unique(np.array(known, dtype=np.int64))
        return cls(catalogue, places, len(known) - len(places), missing)

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return "<History: private>"


def _id(item: object) -> str:
    """An item id as the catalogue's index spells it."""
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, bool) or not isinstance(item, str | int):
        raise UsageError(
            f"an item of a history is called by text or an integer: received a "
            f"{type(item).__name__}."
        )
    return str(item)


def _not_there(named: list[str], catalogue: Catalogue, missing: int) -> InputError:
    """Says where, and not what: a message travels further than a history does."""
    first = next(number for number, item in enumerate(named, 1) if item not in catalogue.place_of)
    return InputError(
        f"{missing} of the history's {len(named)} items are not in the catalogue, the first of "
        f"them item {first} of the history. Check that both spell ids alike (capitals, leading "
        "zeros, a heading in a file without one), take the catalogue that has them, or leave them "
        "out with --drop-unknown (in Python drop_unknown=True). Nothing was charged or released."
    )
