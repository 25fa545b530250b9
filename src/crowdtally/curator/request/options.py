"""What a release is asked for beside its records, its public lists and its price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crowdtally.core.values import one_of, value
from crowdtally.errors import UsageError

AUTO = "auto"
"""What follows from the rest of a request, or from what is measured."""
NOISES = (AUTO, "laplace", "gaussian", "interval")
"""The noise that tables of counts can have; ``auto`` is the smaller of Laplace and Gaussian."""
COUNTED = ("records", "users")


@value
@dataclass(frozen=True)
class Options:
    """As they were given: the keywords of ``ct.release``, and the options of its command."""

    method: Any = None
    """How users are bounded and what is selected; None for ``auto`` where nothing names a method,
    else for a sample of at most 10 records of each user."""
    summary: Any = None
    """Which noisy counts are published; None for all of them."""
    transform: Any = None
    """What is published instead of cells; None for cells."""
    noise: str = AUTO
    """``laplace``, ``gaussian``, ``interval`` or ``auto``."""
    count: str = "records"
    """``records``, or ``users`` for distinct users in each cell."""
    pairs: bool = False
    """Whether pairs of items of one user are counted too."""

    def __post_init__(self) -> None:
        one_of(self.noise, NOISES, "--noise")
        one_of(self.count, COUNTED, "--count")
        if not isinstance(self.pairs, bool):
            kind = type(self.pairs).__name__
            raise UsageError(f"pairs is True or False: received a {kind}.")
        for called, given, has, example in (
            ("method", self.method, "__class__", "ct.SRA(max_records=10)"),
            ("summary", self.summary, "keeping", "ct.Filter(size=3000)"),
            ("transform", self.transform, "layout", 'ct.Dyadic("age")'),
        ):
            if isinstance(given, type) or not (given is None or hasattr(given, has)):
                raise UsageError(f"{called} is a value such as {example}: received {_kind(given)}.")

    @property
    def is_plain(self) -> bool:
        """Whether every cell is published as it is, and nothing but cells is counted."""
        leaves_out = self.summary is not None and self.summary.leaves_out
        transforms = self.transform is not None and self.transform.name != "none"
        return not (leaves_out or transforms or self.pairs)


def _kind(given: object) -> str:
    """What was received; an object itself is not shown, since it may be a frame of records."""
    if isinstance(given, type):
        return f"the class {given.__name__}, without brackets"
    return f"the text {given!r}" if isinstance(given, str) else f"a {type(given).__name__}"
