"""Whole releases with a ledger, draws and an engine of the test's own, or with nothing to count."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

import crowdtally as ct
from crowdtally.core import files
from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit
from crowdtally.curator import publish as main_line
from crowdtally.curator import repeat
from crowdtally.curator.converse import Released, converse
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.dataset import Dataset
from crowdtally.curator.method import method_of
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.request.table_specs import Paid
from crowdtally.format import Published, Staged
from crowdtally.lab.rehearse import Rehearsed
from crowdtally.ledger import Asked, Charge, Ledger, Part
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.reader.release import Release
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped, Engine

# ---- ``publish`` with a ledger, draws and an engine of the test's own ----------------------------


def publish(
    request: Request,
    dataset: str,
    target: Path,
    *,
    ledger: Ledger,
    draws: Draws,
    tell: Callable[[str], Any],
    start_engine: Callable[[], Engine] = DuckDBEngine,
    sources: Sequence[str] = (),
    chosen: bool = True,
    **more: Any,
) -> Published:
    """The release of ``request``, charged to ``dataset``, which is made if there is none."""
    charged = Dataset(dataset, tuple(sources), chosen)
    outside = main_line.Outside(
        charged, target, ledger, draws, tell, start_engine, **{"new_dataset": True} | more
    )
    return main_line.publish(request, outside)


def run_steps(request: Request, reading: Reading, draws: Draws) -> Released:
    """All that the questions of production release, without a ledger and without files."""
    method = method_of(request)
    return converse(method.ask(), partial(count, records=reading), Rehearsed(method), draws)


# ---- The main line with nothing to count: its real order, ledger, staging and messages, and no
#      noise
#
# A run costs a few milliseconds, so that it can be killed and raced a thousand times.


UNIT = PrivacyUnit("user", "user_id")
DATASET = "data"
_REQUEST = SimpleNamespace(
    records=SimpleNamespace(unit=UNIT, joins=(), weight=None),
    domain=None,
    lists=None,
    most_dropped=None,
    sources=None,
    paid=Paid("laplace", Epsilon.of(1), Delta()),
)


def _asked_of(_: object, *, output: Path | None, **asked: Any) -> Asked:
    """The request says nothing; where, what for and its id stay."""
    return Asked(output=None if output is None else str(output), **asked)


def _load(folder: Path) -> Published:
    """What ``_write`` wrote."""
    raw = (folder / "release.json").read_bytes()
    return Published(folder, json.loads(raw), sha256=hashlib.sha256(raw).hexdigest())


def _write(staged: Staged, metadata: Any, tables: Any) -> tuple[Any, str]:
    """One small file, flushed, instead of tables."""
    text = json.dumps(metadata)
    (staged.path / "release.json").write_text(text)
    files.flush(staged.path / "release.json")
    return metadata, hashlib.sha256(text.encode()).hexdigest()


class Talk:
    """Stands for a conversation: nothing is counted, and something happens instead of the noise."""

    dropped = Dropped(1, 0, 0)

    def __init__(self, happens: Callable[[], None]) -> None:
        self._happens = happens

    def finish(self, *_: object) -> Released:
        self._happens()
        return Released()


@contextmanager
def nothing_to_count(epsilon: Epsilon, steps: Callable[[], None] = lambda: None) -> Iterator[None]:
    """``bare_publish`` charges ``epsilon`` inside; ``steps`` happens instead of the noise."""

    def charge_of(*_: object, **__: object) -> Charge:
        part = Part("items", epsilon, "discrete-laplace")
        return Charge(secrets.token_hex(16), epsilon, (part,))

    method = SimpleNamespace(ask=lambda: None)
    fakes: dict[str, Any] = {
        "charge_of": charge_of,
        "asked_of": _asked_of,
        "prepare": lambda *_: None,
        "method_of": lambda _: method,
        "Conversation": lambda *_: Talk(steps),
        "declared": lambda *_: {},
        "describe": lambda _said, _request, _dataset, reservation, *_: {"entry": reservation.id},
    }
    with (
        mock.patch.multiple(main_line, **fakes),
        mock.patch.object(repeat, "load", _load),
        mock.patch.object(Staged, "write", _write),
    ):
        yield


def bare_publish(
    ledger: Ledger,
    target: Path,
    *,
    dataset: str = DATASET,
    tell: Callable[[str], None] = lambda _: None,
    **more: Any,
) -> Published:
    """The real ``publish`` of nothing."""
    return publish(
        _REQUEST, dataset, target,  # type: ignore[arg-type]
        ledger=ledger, draws=None, tell=tell,  # type: ignore[arg-type]
        start_engine=lambda: nullcontext(), **more,  # type: ignore[arg-type, return-value]
    )  # fmt: skip


def released(folder: Path) -> list[tuple[str, str]]:
    """The entry, and the hash of its file, of each release that somebody could find."""
    found = []
    for path in folder.glob("*/release.json"):
        if not path.parent.name.startswith("."):
            content = path.read_bytes()
            found.append((json.loads(content)["entry"], hashlib.sha256(content).hexdigest()))
    return found


# ---- Whole releases of small records with draws of one's own: silent, or with a given noise ------


class GivenNoise(SystemDraws):
    """The first table gets the first noise, the second the second; after that there is none."""

    def __init__(self, *noises: Iterable[int]) -> None:
        super().__init__()
        self._noises = [np.array(list(noise), dtype=np.int64) for noise in noises]

    def laplace(self, scale: Fraction, size: int) -> Any:
        noise = self._noises.pop(0) if self._noises else np.zeros(size, dtype=np.int64)
        assert len(noise) == size, "the noise given does not fit the table"
        return noise


def made(
    folder: Path,
    rows: pa.Table,
    domain: ct.Domain | None,
    *,
    draws: Draws | None = None,
    name: str = "out",
    roles: Mapping[str, Any] | None = None,
    **options: Any,
) -> Release:
    """A release of ``rows`` (columns user, item and contexts) in ``folder / name``."""
    contexts = [axis.name for axis in domain.contexts] if domain else []
    declared = {"user": "user", "item": "item", "contexts": contexts} | dict(roles or {})
    if declared["user"] is not None and "noise" not in options:
        options = {"method": ct.SRA()} | options  # unless a test is about another rule
    request = make_request(ct.read(rows, **declared), domain, **({"epsilon": 1} | options))
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    drawn = draws or SystemDraws()
    publish(request, "made", folder / name, ledger=ledger, draws=drawn, tell=lambda _: None)
    return ct.load(folder / name)


def visits(counts: Mapping[Any, int], *contexts: str) -> pa.Table:
    """A user of their own for each record of the cells (item, context, …)."""
    cells = [cell if isinstance(cell, tuple) else (cell,) for cell in counts]
    rows = [cell for cell, times in zip(cells, counts.values(), strict=True) for _ in range(times)]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("item", *contexts))}
    return pa.table({"user": [f"u{n}" for n in range(len(rows))], **columns})
