"""A rule that somebody else wrote, handed over as an object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from crowdtally.core.counts import What
from crowdtally.core.numbers import is_whole
from crowdtally.curator.bounding.rule import LARGEST_LIMIT, RecordRule, SamplingRule
from crowdtally.curator.bounding.sra import SRA
from crowdtally.errors import UsageError
from crowdtally.format.manifest import OWN_RULE
from crowdtally.records.engine import Engine, Kept, Rows


@dataclass(frozen=True)
class OwnRule(RecordRule):
    """A rule object that somebody else wrote, handed to ``ct.release(bounding=…)``.

    It must keep records: have ``name``, ``limit`` and ``keep`` as :class:`SamplingRule` does. What
    it returns is cut to ``limit`` rows of each user by a keyed hash, so returning too many costs
    accuracy, not privacy. That it looks at each user's own records alone is its author's to prove,
    and the release says so.
    """

    takes: ClassVar[frozenset[str]] = frozenset()
    choices: ClassVar[tuple[str, ...]] = ()

    rule: Any = None
    """The object."""

    @classmethod
    def handed(cls, given: object) -> OwnRule:
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
        return cls(given.limit, rule=given)

    @property
    def name(self) -> str:
        """The object's name, marked as not ours."""
        return f"{self.rule.name}{OWN_RULE}"

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """What the object keeps, cut to the limit; what fell out is counted by another look."""
        kept = self.rule.keep(engine, rows, cells=cells, key=key, what=what)
        kept = kept.rows if isinstance(kept, Kept) else kept
        records = kept.select("user", "cell")
        again = SRA(self.limit).keep(engine, records, cells=cells, key=key, what=what)
        return Kept(again.rows)
