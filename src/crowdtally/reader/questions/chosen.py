"""What an asker names: values of contexts, and items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.reader.axes import Axes, AxisLookup, Ints, Mask, Value


def several(wanted: object) -> Iterable[object]:
    """The values that are wanted: one, or a list, array or Series of them."""
    if isinstance(wanted, list | tuple | set | frozenset | range):
        return wanted
    found = wanted.tolist() if hasattr(wanted, "tolist") else wanted
    return found if isinstance(found, list) else [wanted]


def how_many(k: object) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k must be a whole number of at least 1: received {k!r}.")
    return int(k)


def chosen_contexts(axes: Axes, context: Mapping[str, object]) -> dict[str, Mask]:
    """Where each context that is named has one of the values that are asked for."""
    return {name: _chosen(axes, name, value) for name, value in context.items()}


def _chosen(axes: Axes, name: str, value: object) -> Mask:
    contexts = axes.contexts
    if name == "k" and name not in contexts:
        raise UsageError(f"how many comes first, without a name: top({value!r}, …).")
    if not contexts:
        raise UsageError("this release has no contexts: ask for the top items overall.")
    if name not in contexts:
        raise UsageError(f"this release has no context {name!r}. {did_you_mean(name, contexts)}")
    axis = contexts[name]
    values = list(several(value))
    if not values:
        raise UsageError(
            f"no value of the context {name!r} is named: name one, or leave it out to sum over it."
        )
    return axis.among([axis.spelled(one) for one in values])


def places_of_items(item: AxisLookup, named: Iterable[object]) -> Ints:
    """The places of named items; one that is not listed is refused."""
    found = [_spelled(item, one) for one in named]
    if not found:
        return np.empty(0, dtype=np.int64)
    try:
        return item.places_of(found)
    except (KeyError, ValueError, OverflowError):  # which says which, and what comes near
        return np.array([item.place(one) for one in found], dtype=np.int64)


def _spelled(item: AxisLookup, value: object) -> Value:
    """As :meth:`AxisLookup.spelled`, without writing out a list of millions."""
    if isinstance(value, str) and item.axis.kind == "integer":
        digits = value.removeprefix("-")
        is_number = digits.isascii() and digits.isdecimal() and len(digits) < 20
        return int(value) if is_number and str(int(value)) == value else value
    return item.spelled(value)
