"""What every publishing answers: which cells it keeps, and how their noisy counts are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Keeping, Sides
from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.numbers import whole_number
from crowdtally.core.privacy import Price
from crowdtally.laws.base import CellNoise
from crowdtally.noise.draws import Draws

LARGEST_CUT = 1 << 40
LARGEST_SUMMARY = 200_000_000


@dataclass(frozen=True, eq=False)
class Charged:
    """Exact counts, and the public parameters that were charged for."""

    counts: Counts
    """Not yet private."""
    price: Price
    """The cost."""
    keeping: Keeping
    """What :meth:`Publishing.keeping` said."""
    tree: Dyadic | None = None
    """The tree whose nodes are counted, if a dropped node drops those below it."""


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy counts, safe to show to anyone."""

    values: NDArray[Any]
    """In the order of the cells, in units."""
    cells: NDArray[Any] | None
    """Numbers of the cells, ascending; None where all are there."""
    facts: Mapping[str, Any]
    """What ``release.json`` says about them."""


class Publishing(Protocol):
    """A public rule that says which noisy counts are published.

    Contract: for counts whose bounds are true, :meth:`draw` costs the unit that they are about no
    more than the price: ε, or ρ of zCDP. Everything else here follows from public numbers.
    """

    name: ClassVar[str]
    """What a person types."""
    takes: ClassVar[frozenset[str]]
    """The options of a release that are for it."""
    leaves_out: ClassVar[bool]
    """Whether it is a summary, of some cells only."""
    largest: ClassVar[int]
    """Published cells beyond which a request is refused: about 20 GB while they are written."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """From the options of a release; a UsageError says what is missing."""

    @property
    def sides(self) -> Sides:
        """Whether large negative noisy counts are kept too."""

    @property
    def size(self) -> int | None:
        """S: how many cells were asked for, about; None where nothing was."""

    @property
    def wanted(self) -> int | None:
        """S: the most cells that are published, where that is fixed."""

    def keeping(self, cells: int, law: CellNoise, *, tree: bool) -> Keeping:
        """The rule by which cells are kept, in units.

        Of the nodes of a ``tree`` those below a dropped one go too, before any are sampled.
        """

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        """The published noisy counts."""


def given_cut(options: Mapping[str, Any]) -> int | None:
    """κ as a count, where it was given."""
    cut = options["cut"]
    return None if cut is None else whole_number(cut, "--cut", 0, LARGEST_CUT)
