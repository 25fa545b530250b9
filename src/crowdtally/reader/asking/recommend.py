"""What to recommend: popular or special in some contexts, or beside an item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.reader.asking.also import also
from crowdtally.reader.asking.chosen import chosen_contexts, how_many, places_of_items, several
from crowdtally.reader.asking.recommended import POPULAR, SPECIAL, Recommendations
from crowdtally.reader.asking.special import recommendations, special
from crowdtally.reader.asking.special_lines import value_words
from crowdtally.reader.asking.top import item_axis, top_in
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.believed import Ints
from crowdtally.reader.estimating.estimator import Estimator
from crowdtally.reader.lookup import Mask

_SHOWN = 4
"""Values of one context that are named in words."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for."""

    k: object = 10
    """How many."""
    by: object = POPULAR
    """What the list goes by."""
    contexts: Mapping[str, object] = field(default_factory=dict)
    """The value, or values, of each context that is named."""
    without: object = ()
    """Items that are left out."""
    like: object = None
    """The item that others go together with; None: none."""
    raw: bool = False
    """Whether noisy counts alone decide."""


def recommend(axes: Axes, estimator: Estimator, wanted: Wanted) -> Recommendations:
    """The k best items where the contexts have these values, or beside an item."""
    k = how_many(wanted.k)
    if wanted.by not in (POPULAR, SPECIAL):
        suggestion = did_you_mean(str(wanted.by), (POPULAR, SPECIAL))
        raise UsageError(
            f"a list goes by what is popular or special, not {wanted.by!r}. {suggestion}"
        )
    if wanted.by == SPECIAL and wanted.raw:
        raise UsageError(
            "what is special follows from estimates: leave out --raw (in Python raw=True), or ask "
            "--by popular."
        )
    item = item_axis(axes)
    without = np.unique(places_of_items(item, several(wanted.without)))
    if wanted.like is not None:
        return _beside(axes, estimator, wanted, k, without)
    box = chosen_contexts(axes, wanted.contexts)
    if wanted.by == SPECIAL:
        found = special(axes, estimator, k, box, without)
    else:
        listed = top_in(axes, estimator, k, box, raw=wanted.raw, without=without)
        found = recommendations(listed, POPULAR)
    return replace(found, where=_words(axes, box))


def _beside(
    axes: Axes, estimator: Estimator, wanted: Wanted, k: int, without: Ints
) -> Recommendations:
    if wanted.contexts:
        raise UsageError(
            "pairs of items are not counted in contexts: ask --like ITEM without --context (in "
            "Python item=… alone)."
        )
    (place,) = places_of_items(item_axis(axes), [wanted.like]).tolist()
    found = also(axes, estimator, place, k, without, by=str(wanted.by), raw=wanted.raw)
    return replace(found, where=f"beside {value_words(wanted.like)}")


def _words(axes: Axes, box: Mapping[str, Mask]) -> str:
    """Where a list holds: ``in day = Saturday or Sunday``."""
    parts = []
    for name, mask in box.items():
        values = axes.contexts[name].axis.values[mask].tolist()
        named = " or ".join(map(value_words, values[:_SHOWN]))
        more = f" or {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
        parts.append(f"{value_words(name)} = {named}{more}")
    return f"in {', '.join(parts)}" if parts else ""
