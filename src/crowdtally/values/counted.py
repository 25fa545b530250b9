"""What a count counts once users were bounded, in words: for readers, for plans, for remarks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from crowdtally.values.rational import show

NOISE_ONLY = "noise intervals cover the noise only, not what this leaves out"


@dataclass(frozen=True)
class Counted:
    """What is counted of one user in one table.

    >>> print(Counted("records", 10).words())
    at most 10 records of each user are counted
    >>> print(Counted("records", 10, quantity=20).words())
    at most 10 records of each user are counted, each at most 20 times
    >>> print(Counted("users", 1, everywhere=True).words())
    each user is counted once in each of their cells, however many these are
    >>> print(Counted("users", 7, scaled=True).words())
    each user is counted at most once in a cell, and their row scaled down to a sum of at most 7
    >>> print(Counted("users", 7, scaled=True, norm="l2").words())
    each user is counted at most once in a cell, and their row scaled down to a norm of at most 7
    """

    what: Literal["records", "users"]
    """What a count counts."""
    bound: int | None
    """l or θ; None where there is none: each row is a person of its own."""
    scaled: bool = False
    """Whether rows are scaled down instead of sampled."""
    cap: int = 1
    """r: how often a user counts in one cell, where rows are scaled."""
    scaling: Fraction = Fraction(1)
    """s: what scaled rows are multiplied by."""
    pairs: bool = False
    """Whether pairs of what is kept are counted."""
    weight: str | None = None
    """The column that says how many persons a row stands for."""
    quantity: int | None = None
    """The most that one record counts, where records count by a quantity."""
    everywhere: bool = False
    """Whether each user counts in all of their cells, and nobody is bounded."""
    uncapped: bool = False
    """Whether rows are scaled as they are, however often a user counts in one cell."""
    norm: str = "l1"
    """What rows are scaled to: a sum, or with ``l2`` a Euclidean norm."""
    stated: int | None = None
    """L, where rows have no id and the publisher states that nobody has more of them."""
    at_most: bool = False
    """Whether the bound is yet to be chosen, up to this one."""

    def words(self) -> str:
        """Half a sentence."""
        if self.everywhere:
            return "each user is counted once in each of their cells, however many these are"
        if self.bound is None:
            return self._rows()
        found = self._scaled() if self.scaled else self._sampled()
        return f"{found} (or fewer: the bound is yet to be chosen)" if self.at_most else found

    def sentence(self) -> str:
        """The same, and what the noise intervals beside such counts do not cover."""
        words = self.words()
        if self.bound is None or self.everywhere:
            return f"{words[0].upper()}{words[1:]}; noise intervals cover the noise only."
        return f"{words[0].upper()}{words[1:]}; {NOISE_ONLY}."

    def _rows(self) -> str:
        if self.weight is not None:
            return f"each row is counted as many times as its column {self.weight!r} says"
        if self.stated is not None:
            return (
                "each row is counted once; that nobody has more than "
                f"{self.stated} of them is the publisher's statement, not checked"
            )
        return "each row is counted once, as a person of its own"

    def _scaled(self) -> str:
        length = "norm" if self.norm == "l2" else "sum"
        if self.uncapped:
            return (
                f"all records of each user are counted, and a user's row scaled down to a {length} "
                f"of at most {self.bound}"
            )
        often = "once" if self.cap == 1 else f"{self.cap} times"
        times = "" if self.scaling == 1 else f", then multiplied by {show(self.scaling)}"
        length = "norm" if self.norm == "l2" else "sum"
        return (
            f"each user is counted at most {often} in a cell, and their row scaled down to a "
            f"{length} of at most {self.bound}{times}"
        )

    def _sampled(self) -> str:
        one = self.bound == 1
        if self.what == "users":
            cells = "1 cell" if one else f"{self.bound} cells"
            if self.pairs:
                return f"each user is counted at most once in a pair, of at most {self.bound} items"
            return f"each user is counted at most once in a cell, and in at most {cells}"
        kept = f"at most {self.bound} {'record' if one else 'records'} of each user"
        if self.pairs:
            return f"pairs of {kept} are counted"
        often = "" if self.quantity is None else f", each at most {self.quantity} times"
        return f"{kept} {'is' if one else 'are'} counted{often}"
