"""A small town of records with recognisable secrets, and a watch on what a command leaves behind.

A message that repeats a user id or a value of a record repeats one of ``SECRETS``.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from crowdtally.ledger import Ledger
from kit.command import Ended, crowdtally

SECRETS = ("Zaphod", "Xanadu", "Qwghlm", "unspoken", "8675309")
"""Pieces of user ids, items, contexts, notes and numbers that stand in the records alone."""
PUBLIC = ("user_id", "place", "place_id", "weekday", "note", "price", "visit", "count")


def records(rows: int = 240) -> pa.Table:
    """Records of 37 users; a quarter have an item outside the list, a third an odd weekday."""
    return pa.table(
        {
            "user_id": [f"Zaphod-{i % 37}" for i in range(rows)],
            "place": [("bar", "cafe", "park", "Xanadu")[i % 4] for i in range(rows)],
            "place_id": [i % 5 for i in range(rows)],
            "weekday": [("Mon", "Tue", "Qwghlm")[i % 3] for i in range(rows)],
            "note": ["12" if i % 3 else "unspoken" for i in range(rows)],
            "price": [1.5 * i for i in range(rows)],
            "visit": [8675309_000 + i for i in range(rows)],
            "count": [1] * rows,
        }
    )


@dataclass(frozen=True)
class Town:
    """A folder with records, lists and a ledger, and commands run in it."""

    folder: Path
    """The current folder of every command."""
    ledger: Path
    """The ledger, outside the folder."""
    scratch: Path
    """Where temporary files go, outside the folder."""

    @classmethod
    def entered(cls, base: Path, patch: pytest.MonkeyPatch) -> Town:
        """A new town, with its folder, ledger and scratch in use until the test ends."""
        town = cls.build(base)
        patch.chdir(town.folder)
        patch.setenv("CROWDTALLY_LEDGER", str(town.ledger))
        patch.setenv("TMPDIR", str(town.scratch))
        patch.setattr(tempfile, "tempdir", None)  # read $TMPDIR anew
        return town

    @classmethod
    def build(cls, base: Path) -> Town:
        """Records as Parquet and CSV, a list of places, nothing else."""
        town = cls(base / "town", base / "budget" / "ledger.sqlite", base / "scratch")
        for folder in (town.folder, town.ledger.parent, town.scratch):
            folder.mkdir()
        table = records()
        pyarrow.parquet.write_table(table, town.folder / "records.parquet", compression="none")
        pyarrow.csv.write_csv(table, town.folder / "records.csv")
        town.write("places.csv", "place\nbar\ncafe\npark\n")
        return town

    def write(self, name: str, content: str | bytes) -> Path:
        """A file in the town."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def table(self, name: str, **columns: object) -> Path:
        """A Parquet file in the town."""
        pyarrow.parquet.write_table(pa.table(columns), self.folder / name)
        return self.folder / name

    def arguments(self, records: str = "records.parquet", **options: str | None) -> list[str]:
        """A whole ``release``, of a dataset that may be new; an option set to None is left out."""
        given = {
            "user": "user_id", "item": "place", "items": "places.csv", "epsilon": "1",
            "output": "out", "max_records": "10",
        } | options  # fmt: skip
        pairs = [(f"--{k.replace('_', '-')}", v) for k, v in given.items() if v is not None]
        return ["release", records, *(word for pair in pairs for word in pair), "--new-dataset"]

    def charged(self) -> list[str]:
        """Every entry of the ledger; none where there is no ledger."""
        return (
            list(map(repr, Ledger.open(self.ledger, create=True).entries()))
            if self.ledger.exists()
            else []
        )

    def state(self) -> dict[str, str]:
        """Every file, folder and link with its content, and every temporary one."""
        found = {}
        for base in (self.folder, self.scratch):
            for path in sorted(base.rglob("*")):
                if path.is_symlink():
                    content = os.readlink(path)
                elif path.is_file():
                    content = hashlib.sha256(path.read_bytes()).hexdigest()
                else:
                    content = "folder"
                found[str(path)] = content
        return found

    def refuses(self, arguments: list[str], code: int, *words: str) -> Ended:
        """Check that the command ends with ``code``, says ``words``, and leaves nothing behind."""
        entries, state = self.charged(), self.state()
        ended = crowdtally(*arguments)
        self.check(ended, code, *words)
        assert self.state() == state, f"something was written\n{ended}"
        assert self.charged() == entries, f"something was charged\n{ended}"
        return ended

    @staticmethod
    def check(ended: Ended, code: int, *words: str) -> None:
        """The exit code, a message on stderr alone, all the words in it and no secret."""
        assert ended.code == code, str(ended)
        assert ended.out == "", str(ended)
        assert "Traceback" not in ended.err, str(ended)
        assert "unforeseen" not in ended.err, str(ended)
        for word in words:
            assert word in ended.err, f"{word!r} is not said\n{ended}"
        for secret in SECRETS:
            assert secret not in ended.err, f"{secret!r} is told\n{ended}"
