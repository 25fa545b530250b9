"""What an audit found, as rows: one for each method, and for each part against its own share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

ABOUT = (
    "About the method, on made-up databases: what an attacker can prove about epsilon by watching "
    "many releases. No true record was read."
)
"""The first line of every output."""
MEANING = (
    "Every certified epsilon is a lower bound of what the method truly loses, on these databases; "
    "all of them hold together with a confidence of {confidence}. One above its claim refutes the "
    "claim. One below it proves nothing: privacy is proved in the notes beside the code."
)
NOTHING = (
    "A row with 0.000 certifies nothing: too few runs to tell the databases apart. Give it more "
    "--seconds."
)
WITHIN_DELTA = (
    "New items are paid for by delta alone: epsilon 0.000 is what a right claim shows there, and "
    "the certified delta stands beside the claimed one."
)
CONFIDENCE = 0.999
"""For all rows of one audit together."""


@dataclass(frozen=True)
class Row:
    """One attack that was carried through."""

    name: str
    """The method, and the part where it is one."""
    claim: float
    """The ε that it says it costs."""
    certified: float
    """The ε that it loses at least."""
    delta: float
    """The δ that it claims, which the certificate allows it."""
    runs: int
    """Held-out runs of each database."""
    pair: str
    """The databases."""
    event: str
    """What tells them apart."""
    seconds: float
    """How long it took."""
    certified_delta: float = 0.0
    """The δ that it has at least, at the claimed ε."""

    @property
    def ratio(self) -> float:
        """The certified ε over the claim."""
        return self.certified / self.claim

    @property
    def leaks(self) -> bool:
        """Whether the claim is refuted."""
        return self.certified > self.claim

    def sentence(self) -> str:
        """What is wrong, for a row that leaks."""
        allowed = f" (with delta {self.delta:g})" if self.delta else ""
        return (
            f"{self.name} leaks at least {self.certified:.3g} where {self.claim:.3g} is "
            f"claimed{allowed}: {self.pair}; {self.event}."
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"ratio": self.ratio, "leaks": self.leaks}


@dataclass(frozen=True)
class Audit:
    """All rows of one audit."""

    epsilon: str
    """The ε of every release that was attacked."""
    rows: tuple[Row, ...]
    """What was found, in the order it was asked for."""
    remarks: tuple[str, ...] = ()
    """What else there is to know."""

    @property
    def leaks(self) -> tuple[Row, ...]:
        """The rows whose claim is refuted."""
        return tuple(row for row in self.rows if row.leaks)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "about": ABOUT,
            "meaning": _meaning(),
            "epsilon": self.epsilon,
            "confidence": CONFIDENCE,
            "remarks": list(self.remarks),
            "rows": [row.as_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        """The table as text."""
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """The table as text, line by line."""
        yield ABOUT
        yield from self.remarks
        yield from _aligned([_HEAD, *map(_cells, self.rows)])
        yield _meaning()
        yield from self._about_zeros()
        yield from (row.sentence() for row in self.leaks)

    def _about_zeros(self) -> Iterator[str]:
        """Why rows certify nothing."""
        zeros = [row for row in self.rows if row.certified == 0]
        if any(not row.certified_delta for row in zeros):
            yield NOTHING
        if any(row.certified_delta for row in zeros):
            yield WITHIN_DELTA

    def markdown(self, title: str = "The audit") -> str:
        """The table as a page."""
        lines = [f"# {title}", "", ABOUT, "", *self.remarks, *([""] if self.remarks else [])]
        lines += [f"ε = {self.epsilon} for each release. {_meaning()}", ""]
        head = (*_HEAD, "seen by", "on")
        lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        for row in self.rows:
            cells = (*_cells(row), row.event, row.pair)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        lines += ["", *self._about_zeros(), *(f"**{row.sentence()}**" for row in self.leaks)]
        return "\n".join(lines).rstrip() + "\n"


_HEAD = ("method", "claim", "certified", "ratio", "delta", "runs")


def _meaning() -> str:
    return MEANING.format(confidence=f"{CONFIDENCE:.1%}")


def _cells(row: Row) -> tuple[str, ...]:
    delta = f"{row.delta:g}" if row.delta else "0"
    if row.certified_delta:
        delta += f" (≥ {row.certified_delta:.4f})"
    numbers = (f"{row.claim:.3g}", f"{row.certified:.3f}", f"{row.ratio:.2f}", delta)
    return (row.name, *numbers, f"{row.runs:,}")


def _aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *rest in table:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *numbers])
