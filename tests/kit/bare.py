"""The main line with nothing to count: its real order, ledger, staging and messages, and no noise.

A run costs a few milliseconds, so that it can be killed and raced a thousand times.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from crowdtally.core import files
from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit
from crowdtally.curator import publish as main_line
from crowdtally.curator import repeat
from crowdtally.curator.converse import Released
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.request.table_specs import Paid
from crowdtally.format import Published, Staged
from crowdtally.ledger import Asked, Charge, Ledger, Part
from crowdtally.records.engine import Dropped
from kit.publishing import publish

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


def _write(staged: Staged, metadata: Any, tables: Any) -> str:
    """One small file, flushed, instead of tables."""
    text = json.dumps(metadata)
    (staged.path / "release.json").write_text(text)
    files.flush(staged.path / "release.json")
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def nothing_to_count(epsilon: Epsilon, steps: Callable[[], None] = lambda: None) -> Iterator[None]:
    """``bare_publish`` charges ``epsilon`` inside; ``steps`` happens instead of the noise."""

    def charge_of(*_: object, **__: object) -> Charge:
        part = Part("items", epsilon, "discrete-laplace")
        return Charge(secrets.token_hex(16), epsilon, (part,))

    def finish(*_: object) -> Released:
        steps()
        return Released()

    nothing = SimpleNamespace(count=lambda *_: Read(None, Dropped(1, 0, 0)))
    fakes: dict[str, Any] = {
        "charge_of": charge_of,
        "asked_of": _asked_of,
        "prepare": lambda *_: None,
        "steps_of": lambda _: (nothing,),
        "finish": finish,
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
