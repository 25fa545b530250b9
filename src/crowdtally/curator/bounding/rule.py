"""What every bounding rule answers. One of your own needs only a few of these: see OwnRule.

A rule is a function B(key, T_u, released values) of the multiset of one user's own records. It may
not see other users, the order of rows or anything read off the records as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from crowdtally.errors import UsageError
from crowdtally.values.counts import What
from crowdtally.values.whole import is_whole, whole_number

if TYPE_CHECKING:  # the command line lists rules without importing an engine
    from crowdtally.curator.engine.engine import Engine
    from crowdtally.curator.engine.relations import Rows

LARGEST_LIMIT = 2**31
LARGEST_PAIR_LIMIT = 100
"""Records per user beyond which pairs are refused: one user could add 4,950 of them."""


class Rule(Protocol):
    """A rule with its public parameters."""

    takes: ClassVar[frozenset[str]]
    """The options of a release that are for it."""
    choices: ClassVar[tuple[str, ...]]
    """The private choices of its bound that suit it."""
    keeps_records: ClassVar[bool]
    """Whether it keeps some of a user's records, the same for all tables."""

    @property
    def name(self) -> str:
        """What a person types."""

    @property
    def limit(self) -> int:
        """The bound (l, θ or M); where it is chosen privately, the largest candidate."""

    @property
    def l1_bound(self) -> int:
        """What one user can change in a table of cells, in L1, in units."""

    @property
    def unit(self) -> Fraction:
        """What one unit means as a count."""

    def facts(self) -> dict[str, Any]:
        """What ``release.json`` says about its parameters."""


@runtime_checkable
class SamplingRule(Protocol):
    """A rule that keeps records."""

    @property
    def limit(self) -> int:
        """The most rows of one user that are kept."""

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Rows:
        """(user, cell[, id]) → (user, cell), bounded; a function of each user's own records."""


def given_limit(options: Mapping[str, Any]) -> int:
    """``max_records``, checked."""
    most = LARGEST_PAIR_LIMIT if options["pairs"] else LARGEST_LIMIT
    return whole_number(options["max_records"], "--max-records", 1, most)


@dataclass(frozen=True)
class OwnRule:
    """A rule object that somebody else wrote, handed to ``ct.release(bounding=…)``.

    It must keep records: have ``name``, ``limit`` and ``keep`` as :class:`SamplingRule` does. What
    it returns is cut to ``limit`` rows of each user by a keyed hash, so returning too many costs
    accuracy, not privacy. That it looks at each user's own records alone is its author's to prove,
    and the release says so.
    """

    takes: ClassVar[frozenset[str]] = frozenset()
    choices: ClassVar[tuple[str, ...]] = ()
    keeps_records: ClassVar[bool] = True

    rule: Any
    """The object."""

    @classmethod
    def of(cls, given: object) -> OwnRule:
        """The object, checked as far as it can be."""
        name = getattr(given, "name", None)
        if not isinstance(given, SamplingRule) or not isinstance(name, str) or not name:
            raise UsageError(
                "a rule of your own has a name, a limit (records per user) and a method "
                "keep(engine, rows, *, cells, key, what): received a "
                f"{type(given).__name__} without them. See CONTRIBUTING.md."
            )
        if not is_whole(given.limit) or not 1 <= given.limit <= LARGEST_LIMIT:
            raise UsageError(
                f"the limit of the rule {name!r} must be a whole number between 1 and "
                f"{LARGEST_LIMIT}: received {given.limit!r}."
            )
        return cls(given)

    @property
    def name(self) -> str:
        """The object's name, marked as not ours."""
        return f"{self.rule.name} (not a rule of Crowdtally's)"

    @property
    def limit(self) -> int:
        """The object's limit."""
        return int(self.rule.limit)

    @property
    def l1_bound(self) -> int:
        """A kept record counts once."""
        return self.limit

    @property
    def unit(self) -> Fraction:
        """Records are counted."""
        return Fraction(1)

    def facts(self) -> dict[str, Any]:
        """Its parameters are its author's to publish."""
        return {}

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Rows:
        """What the object keeps, cut to the limit."""
        from crowdtally.curator.bounding.sra import SRA

        kept = self.rule.keep(engine, rows, cells=cells, key=key, what=what)
        return SRA(self.limit).keep(
            engine, kept.select("user", "cell"), cells=cells, key=key, what=what
        )
