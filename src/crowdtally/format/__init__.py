"""Published: the one door between those who hold records and those who read releases.

A release is a folder: ``release.json`` and Parquet tables. Nothing here asks questions of it, and
nothing here can see a record.

::

    noisy      a table with its noise on, as it is written
    folder     written whole, or not at all
    load       opened again: Published, whose metadata are parsed once into
    table        what is said about a table: its law, transform, publishing
    domain       the public lists
    metadata     guarantee, method, charge
    auto         the steps by which `auto` spent epsilon
    checks/    damage is seen
    parquet    the tables' files
    footer     what each of them says of its release
    packaging  datapackage.json: the folder as a Frictionless Data Package
    seal       release.json carries its own hash
    withdrawal a note beside it that calls the release back
"""

from __future__ import annotations

from crowdtally.format.folder import (
    Staged,
    check_target,
    refuse_existing,
    staging,
    temporary_target,
)
from crowdtally.format.load import SCHEMA, Published, load
from crowdtally.format.manifest import TableFacts
from crowdtally.format.tables import INTERVAL_LEVEL, NoisyTable
from crowdtally.format.withdrawal import WithdrawalNote, write_note

__all__ = [
    "INTERVAL_LEVEL",
    "SCHEMA",
    "NoisyTable",
    "Published",
    "Staged",
    "TableFacts",
    "WithdrawalNote",
    "check_target",
    "load",
    "refuse_existing",
    "staging",
    "temporary_target",
    "write_note",
]
