"""Make a look-alike block by block and write it as Parquet, whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core import files
from crowdtally.curator.request.wording import python_words
from crowdtally.errors import CrowdtallyError, UsageError, check_libraries
from crowdtally.lab.methods import check_apart
from crowdtally_research.lookalikes.drawing import (
    SHAPES,
    Popularity,
    distinct,
    records_per_user,
    returning,
)
from crowdtally_research.lookalikes.statistics import Statistics, statistics_of

# The records of a look-alike, in blocks of whole users.

_BLOCK = 2_000_000
"""Records that are made at a time; the last user of a block may exceed it."""
_TASTE = 0.4
"""By how much kinds of users differ in what they like: a deviation of the logarithm."""


class Maker:
    """Makes the records of one look-alike; the same seed makes the same."""

    def __init__(self, numbers: Statistics, seed: int) -> None:
        self.numbers = numbers
        self._seed = seed
        self._shape = SHAPES[numbers.name]
        rng = np.random.default_rng([seed, 0])
        self._sizes = records_per_user(
            numbers.users, numbers.records, fewest=numbers.fewest, most=numbers.most,
            spread=self._shape.spread,
        )  # fmt: skip
        rng.shuffle(self._sizes)
        shares = self._shape.contexts.kinds
        self._kinds = rng.choice(len(shares), numbers.users, p=shares).astype(np.int8)
        self._popularity = Popularity(self._weights(rng, len(shares)))

    @property
    def contexts(self) -> Mapping[str, tuple[str, ...]]:
        """The public values of each context."""
        return self._shape.contexts.values

    def _weights(self, rng: np.random.Generator, kinds: int) -> NDArray[np.float64]:
        """A row for each kind of user; an item's number says nothing about its popularity."""
        weights = rng.permutation(self._shape.skew.weights(self.numbers.items))
        if kinds == 1:
            return weights[np.newaxis]
        rows = weights * np.exp(_TASTE * rng.standard_normal((kinds, len(weights))))
        return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)

    def blocks(self) -> Iterator[dict[str, NDArray[Any]]]:
        """The columns of some users' records, mixed with each other, until all had their turn."""
        ends = np.cumsum(self._sizes)
        start = number = 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + _BLOCK)) + 1
            number += 1
            yield self._block(np.random.default_rng([self._seed, number]), start, stop)
            start = stop

    def _block(self, rng: np.random.Generator, start: int, stop: int) -> dict[str, NDArray[Any]]:
        sizes = self._sizes[start:stop]
        kinds = self._kinds[start:stop].astype(np.int32)
        users, items = self._draw(rng, sizes, kinds)
        mixed = rng.permutation(len(users))
        users, items = users[mixed], items[mixed]
        codes = self._shape.contexts.codes(rng, users + np.int32(start), items, kinds[users])
        return {
            "user_id": users + np.int32(start + 1),
            "item_id": items + np.int32(1),
            **codes,
        }

    def _draw(
        self, rng: np.random.Generator, sizes: NDArray[np.int64], kinds: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        if self._shape.returns is None:
            return distinct(rng, self._popularity, sizes, kinds)
        return returning(rng, self._popularity, sizes, kinds, self._shape.returns)


# The Parquet files of a look-alike; both say in their metadata that they are made up.

MADE_UP = (
    "Made up: these records are nobody's. Only their numbers follow what papers print of real data."
)
_ROW_GROUP = 1 << 19


def write_items(path: Path, numbers: Statistics) -> None:
    """The public list, in the order of the numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    listed = pa.table({"item_id": np.arange(1, numbers.items + 1, dtype=np.int32)})
    with path.open("xb") as sink:
        pq.write_table(listed.replace_schema_metadata(_told()), sink)


def write_records(path: Path, maker: Maker, say: Callable[[str], None]) -> None:
    """All records, a block in memory at a time; ``say`` is told how far it has come."""
    import pyarrow.parquet as pq

    total = maker.numbers.records
    written = 0
    schema = _schema(maker)
    with path.open("xb") as sink, pq.ParquetWriter(
        sink, schema, compression="snappy", use_dictionary=["item_id", *maker.contexts],
        column_encoding={"record_id": "DELTA_BINARY_PACKED", "user_id": "PLAIN"},
    ) as writer:  # fmt: skip
        for block in maker.blocks():
            table = _table(schema, maker, block, written)
            writer.write_table(table, row_group_size=_ROW_GROUP)
            written += len(table)
            say(f"making {total:,} records, {written * 100 // total}% done")


def _told() -> dict[str, str]:
    return {"crowdtally": MADE_UP}


def _schema(maker: Maker) -> Any:
    import pyarrow as pa

    columns = {"record_id": pa.int64(), "user_id": pa.int32(), "item_id": pa.int32()}
    coded = {name: pa.dictionary(pa.int8(), pa.string()) for name in maker.contexts}
    return pa.schema({**columns, **coded}, metadata=_told())


def _table(schema: Any, maker: Maker, block: dict[str, NDArray[Any]], first: int) -> Any:
    import pyarrow as pa

    rows = len(block["user_id"])
    columns = {"record_id": pa.array(np.arange(first, first + rows, dtype=np.int64))}
    for name, column in block.items():
        array = pa.array(column)
        if name in maker.contexts:
            array = pa.DictionaryArray.from_arrays(array, pa.array(maker.contexts[name]))
        columns[name] = array
    return pa.table(columns, schema=schema)


# A look-alike is made block by block and written to Parquet, whole or not at all.

_SEEDS = 1 << 64


@dataclass(frozen=True)
class LookAlike:
    """Made-up records: where they lie, and what holds for them."""

    records: Path
    """Parquet: record_id, user_id, item_id, and the contexts."""
    items: Path
    """Parquet: the public list of items, item_id."""
    statistics: Statistics
    seed: int
    """The same seed makes the same records."""

    @property
    def contexts(self) -> Mapping[str, tuple[str, ...]]:
        """The public values of each context."""
        return SHAPES[self.statistics.name].contexts.values

    def release_arguments(self) -> list[str]:
        """What to type after ``crowdtally`` to release it."""
        words = ["release", str(self.records), "--user", "user_id", "--item", "item_id"]
        words += ["--items", str(self.items), "--record-id", "record_id"]
        for name, values in self.contexts.items():
            words += ["--context", name, "--values", f"{name}={','.join(values)}"]
        folder = self.records.with_name(f"{self.records.stem}-release")
        return [*words, "--epsilon", "1", "--new-dataset", "-o", str(folder)]


def lookalike(
    name: str, output: str | os.PathLike[str], *, scale: object = 1, seed: int = 1
) -> LookAlike:
    """Write made-up records with the statistics that papers print of a dataset.

    Beside ``FILE.parquet`` stands ``FILE.items.parquet``, the public list of items.

    Args:
        name: a look-alike, such as ``netflix``.
        output: the Parquet file to write; it must not exist, the folder around it must.
        scale: the share of users and records, exact: ``0.1``; the list of items stays whole.
        seed: the same seed makes the same records, with the same versions of the libraries.

    Raises:
        UsageError: the name, the scale, the seed or the path is wrong; nothing was written.
        CrowdtallyError: the disk did not take it; nothing is left there.
    """
    with python_words():
        planned = plan(name, Path(output), scale, seed)
        write(planned)
    return planned


def plan(name: str, output: Path, scale: object, seed: int) -> LookAlike:
    """What would be written; refuses what cannot be."""
    numbers = statistics_of(name, scale)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _SEEDS:
        raise UsageError(
            f"--seed must be a whole number of at least 0 and below 2^64: received {seed!r}."
        )
    items = output.with_name(f"{output.stem}.items.parquet") if output.name else output
    for path in (output, items):
        _check_target(path)
    check_libraries()
    return LookAlike(output, items, numbers, seed)


def write(planned: LookAlike, progress: Callable[[str], None] | None = None) -> None:
    """Make the records and the list of items, both whole or neither.

    Args:
        planned: what to make.
        progress: called, now and then, with what is being done.
    """
    say = progress or (lambda words: None)
    with _beside(planned.records) as part:
        maker = Maker(planned.statistics, planned.seed)
        write_items(part(planned.items), planned.statistics)
        write_records(part(planned.records), maker, say)


def _check_target(path: Path) -> None:
    check_apart(path)
    if path.exists() or path.is_symlink():
        raise UsageError(
            f"{str(path)!r} exists, and a look-alike never replaces anything: choose another file."
        )
    if path.suffix != ".parquet":
        raise UsageError(
            f"{str(path)!r} will be a Parquet file: give a name that ends in .parquet."
        )
    if not path.parent.is_dir():
        raise UsageError(f"{str(path.parent)!r} is not a folder: create it first.")


@contextmanager
def _beside(target: Path) -> Iterator[Callable[[Path], Path]]:
    """Hands out names to write to, which become the final names at the end, or are removed."""
    parts: dict[Path, Path] = {}

    def part(final: Path) -> Path:
        parts[final] = final.with_name(f".{final.name}.{secrets.token_hex(8)}.part")
        return parts[final]

    placed: list[Path] = []
    try:
        yield part
        for final, written in parts.items():
            files.flush(written)
            _check_target(final)
            os.rename(written, final)
            placed.append(final)
    except BaseException as error:
        for path in (*parts.values(), *placed):
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise CrowdtallyError(
                f"{str(target)!r} cannot be written: {error.strerror or 'unknown reason'}. "
                "Check the path, its permissions and the free space."
            ) from error
        raise
