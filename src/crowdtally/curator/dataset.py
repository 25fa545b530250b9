"""Which dataset of the ledger a release is charged to."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from crowdtally.curator.dropped_rows import Tell
from crowdtally.curator.request.table_specs import Paid, unspent_words
from crowdtally.errors import InputError, UsageError
from crowdtally.ledger import Ledger, Reservation
from crowdtally.ledger.show import same_people
from crowdtally.records.locate import Sources
from crowdtally.records.names import one_name


@dataclass(frozen=True)
class Dataset:
    name: str
    sources: tuple[str, ...]
    """Resolved names of the records' files or table; none for records held in memory."""
    chosen: bool
    """Whether a person gave the name; else it is that of the source."""
    source: str | None = None
    """The records' label, without passwords; None for records held in memory."""


def dataset_of(sources: Sources, given: str | None, known: Iterable[str]) -> Dataset:
    """The dataset that a person gave, or else the one that is named after the source.

    ``known`` are the ledger's names: if another spelling of this source is among them, that one is
    charged.
    """
    if given is not None:
        return Dataset(given, _names(sources), True, _label(sources))
    located, files = sources.records, _names(sources)
    if located.label is None:
        raise UsageError(
            "records held in memory have no name to charge under: pass dataset='NAME', the same "
            "name for every release of the same records."
        )
    names = list(known)
    alike = [name for name in names if one_name(name) == located.label]
    if len(alike) > 1:
        _refuse(located.label, alike)
    others = [name for name in names if name not in alike and _files(name).intersection(files)]
    if others and not alike:
        _refuse(located.label, others)
    return Dataset(alike[0] if alike else located.label, files, False, located.label)


def counts_rho(ledger: Ledger, name: str) -> bool:
    """Whether ρ can be charged to a dataset: it counts by zCDP, or is not there yet.

    A dataset keeps its accountant: this cannot change between the question and the charge.
    """
    return name not in ledger.names() or ledger.balance(name).counts_by_zcdp


def tell_standing(charged: Reservation, tell: Tell) -> None:
    """Warn the curator where most of the limit is spent, or the same people are charged twice."""
    for words in (charged.after.warning(), same_people(charged.also)):
        if words is not None:
            tell(f"{words[0].upper()}{words[1:]}")


def tell_unspent(paid: Paid, tell: Tell) -> None:
    words = unspent_words(paid)
    if words is not None:
        tell(words)


def _names(sources: Sources) -> tuple[str, ...]:
    """Resolved names; none where nothing is there: that is refused after the budget is checked."""
    with suppress(InputError):
        return tuple(sorted(sources.records.origin.names))
    return ()


def _label(sources: Sources) -> str | None:
    with suppress(InputError):
        return sources.records.label
    return None


def _files(name: str) -> set[str]:
    if not glob.has_magic(name) or "://" in name:
        return set()
    return {str(Path(path).resolve()) for path in glob.iglob(name, recursive=True)}


def _refuse(label: str, datasets: list[str]) -> None:
    listed = " and ".join(map(repr, datasets))
    raise UsageError(
        f"records of {label!r} are charged to the dataset {listed} already, and one set of people "
        "has one budget: say which is meant with --dataset NAME (dataset='NAME' in Python)."
    )
