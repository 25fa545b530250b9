"""Draws as they are kept, and when two requests are the same."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from crowdtally.core import files
from crowdtally.core.numbers import show
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Charged, LedgerError
from crowdtally.person.catalogue import Popularity
from crowdtally.person.history import History, NoisyCategories
from crowdtally.person.perturbation import Perturbed
from crowdtally.person.plan import Plan

# A draw as it is kept: what leaves the device and what is public about it, never the history.

FORMAT = 1
_FILE = "draw.json"
_LEAST_ROOM = 1 << 18


def encoded(made: Perturbed, plan: Plan) -> bytes:
    """The bytes of a draw: equal for equal draws, without time, place or key."""
    facts = {
        "format": FORMAT,
        "catalogue_sha256": plan.catalogue.sha256,
        "epsilon": str(plan.cost),
        "levels": plan.levels.as_json(),
        "categories": list(made.noisy.categories),
        "rates": [show(rate) for rate in plan.rates],
        "noisy_counts": list(made.noisy.values),
        "items": list(made.items),
    }
    return json.dumps(facts, ensure_ascii=False, indent=1).encode() + b"\n"


def decoded(raw: bytes) -> Perturbed:
    facts: dict[str, Any] = json.loads(raw)
    if facts["format"] != FORMAT:
        raise ValueError("a draw of another format")
    noisy = NoisyCategories(tuple(facts["categories"]), tuple(facts["noisy_counts"]))
    return Perturbed(noisy, tuple(facts["items"]))


class Unfinished:
    """A draw that is being made, in a folder that nobody takes for a finished one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder.resolve() / f".draw.{secrets.token_hex(8)}.part"
        """Where it is written; the ledger knows it, and gives no charge back while it is there."""
        self.marked = False
        """Whether it is paid for and whole: then it stays, and gets its name sooner or later."""

    def write(self, raw: bytes) -> str:
        """Write and flush it; returns its SHA-256, for the ledger."""
        _written(self.path / _FILE, raw)
        files.flush(self.path)
        return hashlib.sha256(raw).hexdigest()

    def place(self, name: str) -> None:
        """Give it the name that its charge has, in one step."""
        _named(self.path, self.path.parent / name)


@contextmanager
def unfinished(folder: Path) -> Iterator[Unfinished]:
    """A new folder to draw into; removed at the end, unless its draw was paid for and is whole."""
    draft = Unfinished(folder)
    try:
        draft.path.mkdir(mode=0o700)
        room = draft.path / "room"
        _written(room, bytes(_LEAST_ROOM))  # a full disk shows now, before anything is charged
        room.unlink()
    except OSError as error:
        shutil.rmtree(draft.path, ignore_errors=True)
        raise CrowdtallyError(
            f"{str(folder)!r} cannot be written: {error.strerror or 'unknown reason'}. Check its "
            "permissions and the free space. Nothing was charged or released."
        ) from error
    try:
        yield draft
    finally:
        if not draft.marked:
            shutil.rmtree(draft.path, ignore_errors=True)


def kept(folder: Path, charged: Charged, *, settle: bool = True) -> Perturbed:
    """The draw of a published charge, byte for byte.

    A draw that a killed run left whole gets its name; with ``settle=False`` nothing is changed.
    Refused where it is gone or has another hash: drawing it again would be a second draw.
    """
    target = folder / charged.charge.release_id
    staged = charged.staged
    left = Path(staged.path) if staged is not None and staged.is_here else None
    if left is not None and not os.path.lexists(target) and _matches(left, charged):
        if settle:
            _named(left, target)
        else:
            target = left
    if not _matches(target, charged):
        raise LedgerError(
            f"the draw of this request is no longer in {str(target)!r} as it was made (entry "
            f"{charged.id}): it was deleted or changed. Put it back from a backup; or draw anew, "
            "which is charged anew, with --again. Nothing was charged or released now."
        )
    return decoded((target / _FILE).read_bytes())


def _matches(folder: Path, charged: Charged) -> bool:
    try:
        raw = (folder / _FILE).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(raw).hexdigest() == charged.sha256


def _written(file: Path, raw: bytes) -> None:
    """A new file of the owner's own, flushed."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(raw)
    files.flush(file)


def _named(draft: Path, target: Path) -> None:
    try:
        draft.rename(target)
        files.flush(target.parent)
    except OSError as error:
        if not target.exists():  # else another run of the same request named it first
            raise CrowdtallyError(
                f"{str(target)!r} cannot be written: {error.strerror or 'unknown reason'}."
            ) from error


# When two requests are the same: by a keyed hash, since a plain one could be guessed at.


def fingerprint(
    key: bytes, history: History, plan: Plan, popularity: Popularity | None = None
) -> str:
    """HMAC-SHA256 of the history as a set, the catalogue, each category's level, the popularity.

    Items of withheld groups are left out: having them changes nothing, not even this.
    """
    used = [group.places for group in (*plan.groups, *plan.passed)]
    places = np.intersect1d(history.places, np.concatenate(used)).tolist()
    levels, weights = plan.levels.each(plan.catalogue.categories, plan.epsilon), None
    if popularity is not None:
        weights = sorted((str(item), float(one).hex()) for item, one in popularity.items())
    request = {
        "catalogue": plan.catalogue.sha256,
        "levels": list(map(str, levels)),
        "popularity": weights,
        "items": sorted(str(plan.catalogue.items[place]) for place in places),
    }
    return hmac.new(key, json.dumps(request).encode(), "sha256").hexdigest()


def draws_of(look_up: Callable[[str], Charged | None], mark: str) -> Iterator[Charged]:
    """All charges that were made for one request: the first draw, the second, and so on."""
    number = 1
    while (found := look_up(request_id(mark, number))) is not None:
        yield found
        number += 1


def request_id(mark: str, number: int) -> str:
    return f"{mark}-{number}"
