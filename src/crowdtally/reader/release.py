"""Release: a published folder, with questions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.published import Published
from crowdtally.reader import tables
from crowdtally.reader.asking.top import TopList
from crowdtally.reader.asking.top import top as _top


class Release:
    """A differentially private release. Asking it costs nothing: all of it is public."""

    def __init__(self, published: Published) -> None:
        self._published = published

    @property
    def metadata(self) -> Mapping[str, Any]:
        """``release.json``: guarantee, method, noise, domain, charge, versions."""
        return self._published.metadata

    @property
    def folder(self) -> Path:
        """Where the release lies."""
        return self._published.folder

    def top(self, k: int = 10, /, **context: object) -> TopList:
        """The k items with the largest noisy counts, overall or in a context.

        ``release.top(10, day="Monday")`` asks in one context; contexts not named are summed over.
        """
        return _top(self._published, k, context)

    def table(self, name: str = "items") -> Any:
        """A whole table as a DuckDB result: ``.df()``, ``.pl()`` or ``.fetchall()`` it."""
        known = [table["name"] for table in self.metadata["tables"]]
        if name not in known:
            raise UsageError(f"this release has no table {name!r}. {did_you_mean(name, known)}")
        return tables.relation(self._published.path(name))

    def save(self, folder: str | os.PathLike[str]) -> Release:
        """Copy the release to a new folder, atomically; never over an existing one."""
        return Release(self._published.save(folder))

    def __repr__(self) -> str:
        guarantee = self.metadata["guarantee"]
        names = ", ".join(f"{t['name']} ({t['cells']} cells)" for t in self.metadata["tables"])
        return f"<Release ε={guarantee['epsilon']} per {guarantee['unit']['kind']}: {names}>"
