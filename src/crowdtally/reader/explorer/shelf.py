"""The releases that are served, each under a name of its own in addresses."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from crowdtally.core.deadline import Patience, having
from crowdtally.errors import did_you_mean
from crowdtally.reader.explorer.opened import Opened
from crowdtally.reader.release import Release
from crowdtally.web.gate import Refused

LONGEST = 60
"""Letters of a name."""
_GRACE = 5.0
"""Seconds that what is being made has to end."""


class Shelf:
    """Open releases by name, in the order in which they were given."""

    def __init__(self, releases: Sequence[Release]) -> None:
        self._opened: dict[str, Opened] = {}
        self._patience = Patience()
        self._preparing: threading.Thread | None = None
        for release in releases:
            name = self._free(slug(release.folder))
            self._opened[name] = Opened(name, release)

    def _free(self, name: str) -> str:
        """The name, or the same with a number where another release has it."""
        number, found = 1, name
        while found in self._opened:
            number += 1
            found = f"{name}-{number}"
        return found

    def __iter__(self) -> Iterator[Opened]:
        return iter(self._opened.values())

    def __len__(self) -> int:
        return len(self._opened)

    def __getitem__(self, name: str) -> Opened:
        found = self._opened.get(name)
        if found is None:
            shown = name[:LONGEST]
            raise Refused(
                404, f"No release {shown!r} is served here. {did_you_mean(shown, self._opened)}"
            )
        return found

    def prepare(self, then: Callable[[Opened], object]) -> None:
        """Make what each release needs, one after the other, behind the first pages.

        Args:
            then: is done once the estimates of one are there.
        """

        def work() -> None:
            with having(self._patience):
                for one in self:
                    one.prepare()
                for one in self:
                    if one.is_ready:
                        with suppress(Exception):  # whoever asks is told why
                            then(one)

        self._preparing = threading.Thread(target=work, name="estimates", daemon=True)
        self._preparing.start()

    def close(self) -> None:
        """Stop what is being made, so that the program ends without it."""
        self._patience.end()
        if self._preparing is not None:
            self._preparing.join(_GRACE)


def slug(folder: Path) -> str:
    """A folder's name as it stands in an address.

    >>> slug(Path("/data/Visits 2026 (new)")), slug(Path("Über")), slug(Path("/"))
    ('visits-2026-new', 'ber', 'release')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    return plain[:LONGEST] or "release"
