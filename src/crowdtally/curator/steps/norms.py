"""The norm that rows are scaled to, chosen privately for its share of ρ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from crowdtally.core.numbers import show
from crowdtally.core.privacy import Rho
from crowdtally.curator.choosing.norms import NormChoice
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.counting.rows import row_norms
from crowdtally.curator.pricing import zcdp
from crowdtally.curator.request.split import CHOOSE
from crowdtally.curator.steps.step import Bound, Reading, Released
from crowdtally.curator.table import Table
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class ChooseNorm:
    """θ for each table, from a noisy histogram of how long its rows are."""

    tables: tuple[Table, ...]
    """The tables, which share the cost evenly."""
    most: int
    """The largest candidate."""
    rho: Rho
    """What the histograms cost together."""
    cap: int
    """The most that a user counts in one cell."""

    def parts(self) -> Sequence[Part]:
        """All histograms together: a user is in one bin of each."""
        variance = self._choice(self.tables[0]).variance
        facts = {"rule": "histogram", "sigma2": show(variance), "l2_squared": len(self.tables)}
        return [Part(CHOOSE, None, "discrete-gaussian", facts, rho=self.rho)]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → how many users have which norm, for each table by its own cells."""
        engine, prepared = reading.engine, reading.prepared
        widths = [prepared.width_of(table.cells.size) for table in self.tables]
        reads = [row_norms(engine, prepared, self.cap, width=width) for width in widths]
        return Read([one.found for one in reads], reads[0].dropped)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """A bound for each table."""
        bounds = {
            table.name: Bound(self._choice(table).pick(norms, draws))
            for table, norms in zip(self.tables, counted.found, strict=True)
        }
        return replace(released, bounds=bounds)

    def _choice(self, table: Table) -> NormChoice:
        share = Rho(self.rho.value / len(self.tables))
        return NormChoice(table.cells.size, self.most, share, zcdp(table.price), self.cap)
