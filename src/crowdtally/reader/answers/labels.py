"""Labels and categories of items, from a public catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crowdtally.core.display import some
from crowdtally.errors import InputError
from crowdtally.reader.answers.columns import LABELS

_FEW = 3


@dataclass(frozen=True, eq=False)
class Labels:
    """What a public catalogue says about items."""

    labels: Mapping[Any, str | None]
    """The label of each item; None where the catalogue has none."""
    categories: Mapping[Any, str | None] | None = None
    """The category of each, where the catalogue has categories."""
    source: str = "the dictionary of labels"
    """Where they come from, for messages."""

    @classmethod
    def of(cls, labels: Mapping[Any, str | None]) -> Labels:
        """From a dictionary of labels.

        Raises:
            InputError: a label is not text that a file could hold.
        """
        made = {one: None if of is None else str(of) for one, of in labels.items()}
        bad = [one for one, of in made.items() if of is not None and not _is_unicode(of)]
        if bad:
            raise InputError(
                f"{cls.source} has labels that are not text in Unicode, of {some_items(bad)}."
            )
        return cls(made)

    @property
    def columns(self) -> tuple[str, ...]:
        """Which columns they add to an answer."""
        return LABELS if self.categories is not None else LABELS[:1]

    def beside(self, item: Any) -> dict[str, str | None]:
        """What stands beside an item."""
        categories = {} if self.categories is None else self.categories
        return {"label": self.labels[item], "category": categories.get(item)}

    def refuse_missing(self, items: Iterable[Any]) -> None:
        """Every item must have its place in the catalogue."""
        missing = [item for item in items if item not in self.labels]
        if not missing:
            return
        raise InputError(
            f"{self.source} misses {some_items(missing)}. Add a row for each; a label may be left "
            "empty."
        )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def some_items(items: Sequence[Any]) -> str:
    """How many items, and a few of them: the release lists them for everybody.

    >>> some_items(["a"]), some_items(range(5))
    ("1 item of the release ('a')", '5 items of the release (0, 1, 2 … and 2 more)')
    """
    what = "1 item" if len(items) == 1 else f"{len(items):,} items"
    return f"{what} of the release ({some(items[:_FEW], len(items))})"
