"""The file for the recommender: the perturbed items, and nothing that tells where they come from.

No time, no store, no entry of the ledger, no number of the draw. The fields are the same for every
history, and items come in the catalogue's order. Where it is asked for, the noisy counts of the
categories stand beside them: the items were made of these, so both together cost what they cost.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from crowdtally.core import files
from crowdtally.core.display import printable_json
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.person.perturbing import Perturbed
from crowdtally.person.planning import Plan
from crowdtally.person.words import guarantee

_JSON = ".json"


def as_json(made: Perturbed, plan: Plan, *, counts: bool = False) -> str:
    """One object: the items, ε, and the guarantee in words.

    Args:
        made: what was drawn.
        plan: everything public about it.
        counts: whether the noisy counts of the categories are in it too.
    """
    facts: dict[str, Any] = {
        "items": list(made.items),
        "epsilon": str(plan.cost),
        "guarantee": guarantee(plan),
    }
    if counts:
        facts["categories"] = dict(zip(made.noisy.categories, made.noisy.values, strict=True))
    return printable_json(facts)


def _csv(made: Perturbed, plan: Plan) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([plan.catalogue.item_axis.name])
    writer.writerows([item] for item in made.items)
    return text.getvalue()


def _lines(made: Perturbed, plan: Plan) -> str:
    return "".join(f"{item}\n" for item in made.items)


FORMS: Mapping[str, Callable[[Perturbed, Plan], str]] = {
    ".csv": _csv,
    _JSON: lambda made, plan: as_json(made, plan) + "\n",
    ".txt": _lines,
}
"""How a file is written, by its suffix."""


def checked_target(name: str | os.PathLike[str], *, counts: bool = False) -> Path:
    """Where to write, as far as it can be told before anything is charged.

    Args:
        name: of the file.
        counts: whether noisy counts shall be in it, which only JSON has a place for.
    """
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
    """Write the file: whole and new, or not at all.

    Args:
        made: what was drawn.
        plan: everything public about it.
        path: where to, as :func:`checked_target` found it.
        counts: whether the noisy counts of the categories are in it too.
    """
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
