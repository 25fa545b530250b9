"""Published: the one door between those who hold records and those who read releases.

A release is a folder: ``release.json`` and Parquet tables. Nothing here asks questions of it, and
nothing here can see a record.

::

    parse       bytes to structs and back, by kinds of fields; the seal
    entries     the public lists, and what is said about each table
    manifest    release.json as a whole: guarantee, method, charge
    agreement   fields that must agree
    tables      the tables' Parquet files, and their footers
    contents    every row of a table against the manifest
    datapackage the folder as a Frictionless Data Package
    folder      written whole, or not at all
    load        opened again: Published
    withdrawal  a note beside it that calls the release back
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
