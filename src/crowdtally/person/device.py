"""Perturb a history on the device where it is, and write the file for the recommender."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from crowdtally.core import files
from crowdtally.core.display import printable_json
from crowdtally.core.numbers import Number
from crowdtally.core.privacy import Epsilon
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.person.catalogue import Catalogue, Popularity, read_catalogue
from crowdtally.person.history import History
from crowdtally.person.levels import Levels
from crowdtally.person.perturbation import Perturbed
from crowdtally.person.plan import Plan, Policy, found_words, quantify
from crowdtally.person.store import Draw, Store
from crowdtally.person.words import guarantee


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


# The file for the recommender: the perturbed items, and nothing that tells where they come from.
#
# No time, no store, no entry of the ledger, no number of the draw. The fields are the same for
# every history, and items come in the catalogue's order. Where it is asked for, the noisy counts
# of the categories stand beside them: the items were made of these, so both together cost what
# they cost.

_JSON = ".json"


def as_json(made: Perturbed, plan: Plan, *, counts: bool = False) -> str:
    """One object: the items, ε, the guarantee in words, and perhaps the noisy counts."""
    cost, words = str(plan.cost), guarantee(plan)
    facts: dict[str, Any] = {"items": list(made.items), "epsilon": cost, "guarantee": words}
    if counts:
        facts["categories"] = made.noisy.by_category
    return printable_json(facts)


def _csv(made: Perturbed, plan: Plan) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([plan.catalogue.item_axis.name])
    writer.writerows([item] for item in made.items)
    return text.getvalue()


FORMS: Mapping[str, Callable[[Perturbed, Plan], str]] = {
    ".csv": _csv,
    _JSON: lambda made, plan: as_json(made, plan) + "\n",
    ".txt": lambda made, _: "".join(f"{item}\n" for item in made.items),
}
"""How a file is written, by its suffix."""


def checked_target(name: str | os.PathLike[str], *, counts: bool = False) -> Path:
    """Where to write, checked before anything is charged; only JSON can hold noisy counts."""
    path = Path(os.fspath(name))
    if counts and path.suffix.lower() != _JSON:
        raise UsageError(f"counts are written as JSON: end {str(path)!r} in {_JSON}.")
    if path.suffix.lower() not in FORMS:
        raise UsageError(
            f"{str(path)!r} ends in none of {', '.join(FORMS)}: its end says how it is written."
        )
    if os.path.lexists(path):
        raise UsageError(f"{str(path)!r} exists, and nothing is replaced: choose another name.")
    if not path.parent.is_dir():
        raise UsageError(f"{str(path.parent)!r} is not a folder: create it first.")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{str(path.parent)!r} may not be written to: choose another folder.")
    return path


def hand_over(made: Perturbed, plan: Plan, path: Path, *, counts: bool = False) -> None:
    """Write the file: whole and new, or not at all."""
    text = FORMS[path.suffix.lower()](made, plan)
    raw = (as_json(made, plan, counts=True) + "\n" if counts else text).encode()
    draft: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        draft = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        files.flush(draft)
        _named(draft, path, raw)
    except OSError as error:
        raise CrowdtallyError(
            f"{str(path)!r} cannot be written: {error.strerror or 'unknown reason'}. The draw is "
            "stored: run the same command again, with another name, and it is written without "
            "another charge."
        ) from error
    finally:
        if draft is not None:
            with contextlib.suppress(OSError):
                draft.unlink()


def _named(draft: Path, path: Path, raw: bytes) -> None:
    """Give a file its name; unlike a renaming this replaces nothing."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a memory stick has no links: then written once more, under its name
        with open(path, "xb") as file:
            file.write(raw)
        files.flush(path)
