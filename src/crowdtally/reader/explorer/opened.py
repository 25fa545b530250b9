"""A release that is served: opened once, its estimates made behind the first page."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.reader.asking.top import item_axis
from crowdtally.reader.estimating.believed import Ints
from crowdtally.reader.explorer.index import Index
from crowdtally.reader.explorer.kept import Kept
from crowdtally.reader.explorer.watched import Watched
from crowdtally.reader.lookup import AxisLookup
from crowdtally.reader.pages.source import Source
from crowdtally.reader.release import Release
from crowdtally.reader.report.facts import Facts
from crowdtally.web.gate import Refused
from crowdtally.web.pages import value

COMPUTING, READY, FAILED = "computing", "ready", "failed"
"""The state of what is made behind the first page."""
PATIENCE = 1.5
"""Seconds that a program's question waits for it."""
_Found = TypeVar("_Found")


@dataclass(eq=False)
class Opened:
    """A release under its name in addresses, and what is worked out from it once."""

    name: str
    """In addresses."""
    release: Release
    """The release, with its labels."""
    state: str = COMPUTING
    """Of the estimates."""
    _ready: threading.Event = field(default_factory=threading.Event)
    _index: Index | None = None
    _facts: Facts | None = None
    kept: Kept = field(default_factory=Kept)
    """Answers that were given before."""

    def __post_init__(self) -> None:
        self._served_withdrawn = self.release.withdrawn is not None
        self._watched = Watched(self.source.published)

    @cached_property
    def source(self) -> Source:
        """What its pages ask."""
        return self.release.source()

    @property
    def title(self) -> str:
        """What it is called."""
        of = self.source.published.charged.dataset or self.release.folder.name
        return f"Released counts of {value(of, 60)}"

    @property
    def is_ready(self) -> bool:
        """Whether estimates are there."""
        return self.state == READY

    def prepare(self) -> None:
        """Make the estimates, the search and the report's facts; in a thread of its own."""
        try:
            if self.source.has_items:
                self._index = self._made_index()
            self._facts = self.source.facts()
            self.state = READY
        except Exception:  # whoever asks is told why, by the question itself
            self.state = FAILED
        finally:
            self._ready.set()

    def _made_index(self) -> Index:
        believed, size = self.source.estimator.items, len(self.item)
        order: Ints = np.arange(size)
        if believed is not None and len(believed.believed) == size:
            order = np.argsort(-believed.believed.mean, kind="stable")
        names = [self.source.name(one) for one in self.item.axis.values.tolist()]
        return Index.of(names, order)

    @cached_property
    def item(self) -> AxisLookup:
        """The list of items."""
        return item_axis(self.source.axes)

    def look(self) -> None:
        """Refuse where it was called back or damaged since it was opened.

        Raises:
            Refused: it was withdrawn.
            InputError: a file of it was changed, replaced or taken away.
        """
        note = self.release.withdrawn
        if note is not None and not self._served_withdrawn:
            raise Refused(
                410,
                f"{note} Ask whoever published it for what takes its place. To look at it all the "
                "same, its folder can be served anew.",
            )
        self._watched.check()

    def wait(self) -> None:
        """Wait a moment for what is made behind the first page.

        Raises:
            Refused: it is not there yet.
        """
        if not self._ready.wait(PATIENCE):
            raise Refused(
                409,
                "The estimates of this release are being computed. Try again in a few seconds.",
                retry_after="2",
            )

    @property
    def index(self) -> Index:
        """The search."""
        self.wait()
        if not self.source.has_items:
            raise UsageError("this release has no items to search.")
        if self._index is None:  # it failed, and says why if it still does
            self._index = self._made_index()
        return self._index

    @property
    def facts(self) -> Facts:
        """What its report says."""
        self.wait()
        if self._facts is None:  # it failed, and says why if it still does
            self._facts = self.source.facts()
        return self._facts

    def remember(self, key: object, make: Callable[[], _Found]) -> _Found:
        """An answer, made once as long as it is asked again."""
        found: _Found = self.kept.get(key, make)
        return found
