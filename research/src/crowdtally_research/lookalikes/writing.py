"""A look-alike is made block by block and written to Parquet, whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crowdtally import durable
from crowdtally.curator.request.wording import python_words
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.lab.libraries import check_libraries
from crowdtally.lab.outputs import check_apart
from crowdtally_research.lookalikes.making import Maker
from crowdtally_research.lookalikes.parquet import write_items, write_records
from crowdtally_research.lookalikes.shapes import SHAPES
from crowdtally_research.lookalikes.statistics import Statistics, statistics_of

_SEEDS = 1 << 64


@dataclass(frozen=True)
class LookAlike:
    """Made-up records: where they lie, and what holds for them."""

    records: Path
    """Parquet: record_id, user_id, item_id, and the contexts."""
    items: Path
    """Parquet: the public list of items, item_id."""
    statistics: Statistics
    """The numbers that hold exactly."""
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
            durable.flush(written)
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
