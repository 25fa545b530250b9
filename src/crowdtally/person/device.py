"""The public verb: perturb a history on the device where it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from crowdtally.core.numbers import Number
from crowdtally.core.privacy import Epsilon
from crowdtally.errors import UsageError
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.catalogue_file import read_catalogue
from crowdtally.person.history import History
from crowdtally.person.levels import Levels
from crowdtally.person.planning import Plan
from crowdtally.person.quantify import Policy, found_words, quantify
from crowdtally.person.sharing import Popularity
from crowdtally.person.store import Draw, Store


def perturb(
    history: Iterable[object],
    catalogue: Catalogue | Mapping[Any, Iterable[str]] | str | os.PathLike[str],
    *,
    epsilon: Number | Epsilon | Policy,
    levels: Levels | Mapping[str, object] | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    again: bool = False,
    popularity: Popularity | None = None,
    drop_unknown: bool = False,
) -> Draw:
    """The draw of a history: charged and stored before it is returned, or the stored one.

    Args:
        history: the ids of its items.
        catalogue: the public items and their categories, or a file of them.
        epsilon: what one item may lose, where no level says otherwise; a ``Policy`` finds it
            (S-PBQ, a reconstruction).
        levels: for categories with a level of their own: ``no``, ``all`` or an epsilon.
        store: the person's own folder; by default the user's.
        again: whether to draw anew, and be charged anew, where there is a draw already.
        popularity: a public weight of each item: which items stand for a group of alike ones.
        drop_unknown: whether to leave out items that the catalogue does not have.
    """
    public = _catalogue(catalogue)
    plan = plan_of(public, epsilon, Levels.of(levels))
    own = History.of(history, public, drop_unknown=drop_unknown)
    kept = store if isinstance(store, Store) else Store(store)
    return kept.perturb(own, plan, again=again, popularity=popularity)


def plan_of(catalogue: Catalogue, epsilon: Number | Epsilon | Policy, levels: Levels) -> Plan:
    """The plan of an ε, or of the one that a policy finds."""
    if not isinstance(epsilon, Policy):
        return Plan.of(catalogue, epsilon, levels)
    found = quantify(catalogue, epsilon, levels)
    return replace(Plan.of(catalogue, found, levels), found=found_words(found, epsilon))


def _catalogue(given: object) -> Catalogue:
    if isinstance(given, Catalogue):
        return given
    if isinstance(given, Mapping):
        return Catalogue.of(given)
    if isinstance(given, str | os.PathLike):
        return read_catalogue(given)
    raise UsageError(
        "a catalogue is a Catalogue, a mapping of items to their categories, or the path of a "
        f"file: received a {type(given).__name__}."
    )
