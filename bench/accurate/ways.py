"""Every way to spend ε that is compared: ``auto``, the seed methods, and one with hindsight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from accurate.files import Subject
from crowdtally.curator.bounding import METHODS
from crowdtally.curator.request.request import Request, make_request

DELTA = "1e-9"
LARGEST_CANDIDATE = 100
"""Of the bounds that DPSense and DPSense-S choose privately, as in their paper."""


@dataclass(frozen=True)
class Way:
    """One method with one setting."""

    kind: str
    """``auto``, ``old auto``, ``seed`` (told nothing about the records) or ``laplace`` (told one
    number)."""
    method: str
    """The aim of ``auto``, or a bounding."""
    bound: int | None = None
    """The bound per user, or the largest that the method may choose; None for ``auto``."""
    delta: str = "0"
    """δ of the release; 0 for pure ε."""

    def __str__(self) -> str:
        if self.kind == "laplace":
            return f"Laplace for the true maximum {self.bound}"
        if self.kind == "seed":
            return f"{self.method} {'≤ ' if self.method.startswith('dps') else ''}{self.bound}"
        return f"{self.kind} for {self.method}" + (f", δ {self.delta}" * (self.delta != "0"))


def autos(subject: Subject, epsilon: str) -> Iterator[Way]:
    """What is judged. There is nothing to recommend by where there are no contexts."""
    yield Way("auto", "counts")
    if subject.contexts:
        yield Way("auto", "recommend")
    elif epsilon == "1":
        yield Way("auto", "top")
    if subject.file.name == "MovieLens" and epsilon == "1":
        yield Way("auto", "counts", delta=DELTA)


def others(subject: Subject) -> Iterator[Way]:
    """What it is compared with.

    SRA and HPA have their papers' bounds; DPSense and DPSense-S choose theirs privately. Laplace
    noise for the true maximum keeps every record, and is told for free how many that are.
    """
    bound = 30 if subject.file.name == "MovieLens" else 10
    yield from (Way("seed", name, bound) for name in ("sra", "hpa"))
    largest = min(LARGEST_CANDIDATE, len(subject.held.domain.items))  # no row of theirs is longer
    yield from (Way("seed", name, largest) for name in ("dpsense", "dpsense-s"))
    yield Way("laplace", "sra", subject.held.largest)


def request_of(way: Way, subject: Subject, epsilon: str) -> Request:
    """The request of a way."""
    held, file = subject.held, subject.file
    fields: dict[str, Any] = {"max_records": way.bound}
    if way.kind == "auto":
        fields = {"aim": way.method, "repeats": None if file.repeats else False}
        if file.per_user and subject.contexts:
            fields["context_per_user"] = list(subject.contexts)
    elif way.method.startswith("dpsense"):
        fields["choose"] = "dpsense"
        if held.what == "records":  # the most of a user that counts in one cell
            fields["cap"] = 10 if file.repeats else 1
    method = METHODS.load("auto" if way.kind == "auto" else way.method)(**fields)
    return make_request(
        held.records, held.domain, epsilon=epsilon, delta=way.delta, count=held.what, method=method
    )
