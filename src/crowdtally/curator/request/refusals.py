"""What does not go together, and why. Everything else does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crowdtally.core.domain import Domain, OpenDomain
from crowdtally.core.privacy import Delta
from crowdtally.core.records import Quantity, Records
from crowdtally.curator.bounding.rules import LARGEST_PAIR_LIMIT, Rule, Top
from crowdtally.curator.bounding.sampling import HPA
from crowdtally.curator.bounding.scaling import DPSense, is_euclidean
from crowdtally.curator.request.options import Options
from crowdtally.curator.summaries.base import Publishing
from crowdtally.curator.transforms.base import Transform
from crowdtally.errors import UsageError

_WIDEST_ITEMS = 2**62


@dataclass(frozen=True)
class Asked:
    """All that was asked for, each part checked alone."""

    options: Options
    records: Records
    domain: Domain | None
    delta: Delta
    rule: Rule
    transform: Transform
    publishing: Publishing
    discovered: tuple[str, ...] = ()
    open: OpenDomain | None = None
    """All columns and the lists of some, once checked; there is no domain then."""

    @property
    def method(self) -> Any:
        return self.options.method

    @property
    def users(self) -> bool:
        return self.options.count == "users"

    @property
    def selects(self) -> bool:
        return isinstance(self.method, Top)

    @property
    def auto(self) -> bool:
        return self.rule.name == "auto"

    @property
    def pairs(self) -> bool:
        return self.options.pairs

    @property
    def interval(self) -> bool:
        return self.options.noise == "interval"

    @property
    def by_row(self) -> bool:
        return self.records.user is None and not self.stated

    @property
    def stated(self) -> bool:
        return self.records.bounded_to is not None

    @property
    def quantity(self) -> Quantity | None:
        return self.records.quantity

    @property
    def items(self) -> int:
        return len(self.domain.items) if self.domain is not None and self.domain.has_items else 0

    @property
    def formed(self) -> bool:
        """Whether anything but all cells is to be published."""
        return self.publishing.leaves_out or self.transform.name != "none"


Refusal = tuple[Callable[[Asked], object], str]

REFUSALS: tuple[Refusal, ...] = (
    # ---- each row is one person
    (
        lambda a: a.by_row and a.selects,
        "--top counts distinct users: with --user-per-row release all counts, and ask `crowdtally "
        "top` of them.",
    ),
    (
        lambda a: a.by_row and (a.method is not None or a.pairs),
        "with --user-per-row each row is one person, so there is nothing to bound, to discover or "
        "to pair: remove --method, --discover and --pairs. For rows without ids of which nobody "
        "has more than L, because they were bounded elsewhere, state that: --bounded-to L instead "
        "of --user-per-row. To have users bounded here, give --user COL.",
    ),
    # ---- bounded elsewhere
    (
        lambda a: a.stated and (a.method is not None or a.pairs or a.users or a.interval),
        "with --bounded-to nothing says which rows are one user's, so that no user can be "
        "sampled, scaled, paired, measured or counted once: remove --method, --top, --discover, "
        "--pairs, --count users and --noise interval, or give --user COL instead of --bounded-to.",
    ),
    # ---- the top items alone
    (
        lambda a: a.selects and (a.pairs or a.formed),
        "--top selects items by their numbers of distinct users and measures those: nothing else "
        "is published. Remove --pairs, --summary and --transform, or --top: --method auto:aim=top "
        "is the way to good top lists beside all other counts.",
    ),
    (
        lambda a: a.selects and a.quantity is not None,
        "--top counts distinct users, whatever the quantity: remove --quantity and --max-quantity.",
    ),
    (
        lambda a: a.selects and a.domain is not None and not a.domain.has_items,
        "a table of attributes has no items to select: --top needs --item.",
    ),
    # ---- interval noise
    (
        lambda a: a.interval and a.by_row,
        "with --user-per-row each row is one person, in one cell, where ordinary noise is "
        "smaller: remove --noise interval.",
    ),
    (
        lambda a: a.interval and not a.users,
        "--noise interval is for counts of distinct users, which one user changes by at most 1 "
        "in each cell: add --count users.",
    ),
    (
        lambda a: a.interval and (a.pairs or a.discovered),
        "--noise interval is for tables of few cells, which are known beforehand: remove --pairs "
        "or --discover, or --noise interval.",
    ),
    (
        lambda a: a.interval and a.method is not None and not a.selects,
        "--noise interval counts each user once in each of their cells, and bounds nobody: remove "
        "--method, or --noise interval.",
    ),
    (
        lambda a: a.interval and a.formed,
        "--noise interval is drawn for all cells of a table together, and all of them are "
        "published as they are: remove --summary and --transform, or --noise interval.",
    ),
    # ---- auto
    (
        lambda a: a.auto and (a.formed or a.pairs),
        "auto decides itself what is published, and counts no pairs: remove --summary, --transform "
        "and --pairs, or name another method, such as --method sra:max-records=10.",
    ),
    # ---- rules that scale rows
    (
        lambda a: isinstance(a.rule, DPSense) and not a.users and a.rule.cap is None,
        "this method scales whole rows, so a user's count in one cell needs a public cap: add the "
        "field cap=R, such as --method dpsense:cap=3, or count distinct users with --count users.",
    ),
    (
        lambda a: isinstance(a.rule, DPSense) and a.users and a.rule.cap is not None,
        "a cap is for counts of records: remove the field cap, or use --count records.",
    ),
    # ---- rows scaled to a Euclidean norm
    (
        lambda a: is_euclidean(a.rule) and (not a.delta.value or a.options.noise == "laplace"),
        "norm l2 scales rows for Gaussian noise: add --delta, such as --delta 1e-9, and no "
        "--noise laplace; or use --method dpsense:norm=l1, which is for pure epsilon too.",
    ),
    (
        lambda a: is_euclidean(a.rule) and a.transform.name != "none",
        "a transform adds up a user's cells, and no sum is taken of rows that are scaled to a "
        "Euclidean norm: remove --transform, or use --method dpsense:norm=l1.",
    ),
    # ---- pairs
    (
        lambda a: a.pairs and not a.rule.keeps_records,
        "--pairs counts pairs of kept records: use a method that keeps records, such as sra.",
    ),
    (
        lambda a: a.pairs and a.domain is not None and a.domain.contexts,
        "--pairs counts pairs of items: give no --context with it.",
    ),
    (
        lambda a: a.pairs and a.rule.limit < 2,
        "a user of whom one record is kept has no pairs: --pairs needs a bound of 2 or more, such "
        "as --method sra:max-records=10.",
    ),
    (
        lambda a: a.pairs and a.rule.limit > LARGEST_PAIR_LIMIT,
        f"one user could add too many pairs: --pairs keeps at most {LARGEST_PAIR_LIMIT} records of "
        "a user.",
    ),
    (
        lambda a: a.pairs and a.items == 1,
        "a list of one item has no pairs: --pairs needs two items or more.",
    ),
    (
        lambda a: a.pairs and a.transform.name != "none",
        "--pairs cannot be transformed: remove --transform.",
    ),
    # ---- quantities
    (
        lambda a: a.quantity is not None and getattr(a.method, "repeats", None) is False,
        "with repeats=no a user counts once at an item, whatever the quantity: remove --quantity "
        "and --max-quantity, or repeats=no.",
    ),
    (
        lambda a: a.quantity is not None and a.users,
        "a user counts once in a cell, whatever the quantity: remove --quantity and "
        "--max-quantity, or use --count records.",
    ),
    (
        lambda a: a.quantity is not None and a.pairs,
        "--pairs counts which items go together, not how much of them: remove --quantity and "
        "--max-quantity.",
    ),
    (
        lambda a: a.quantity is not None and a.discovered,
        "--discover counts users, who count once in a cell: remove --quantity and --max-quantity.",
    ),
    (
        lambda a: (
            a.quantity is not None and a.rule.keeps_records
            and a.domain is not None and a.domain.size * a.quantity.most > _WIDEST_ITEMS
        ),
        "cells times --max-quantity are beyond 2^62: lower --max-quantity, or shorten the lists.",
    ),
    # ---- columns without a public list
    (
        lambda a: a.discovered and a.pairs,
        "--discover finds cells, and no pairs: remove --pairs.",
    ),
    (
        lambda a: a.discovered and not a.delta.value,
        "discovery needs --delta: cells that no public list names can only be released with a "
        "small probability delta of exceeding epsilon, such as --delta 1e-9.",
    ),
    # ---- delta
    (
        lambda a: a.options.noise == "gaussian" and not a.delta.value,
        "--noise gaussian needs --delta, such as --delta 1e-9: it keeps epsilon but for a small "
        "probability. Without one use --noise laplace, which is pure epsilon.",
    ),
    (
        lambda a: a.interval and a.delta.value,
        "--noise interval is of pure epsilon and needs no delta: remove --delta, or --noise "
        "interval.",
    ),
    (
        lambda a: a.discovered and a.formed,
        "--discover publishes the cells that it finds, as they are: remove --transform and "
        "--summary.",
    ),
    (
        lambda a: a.domain is None and not a.discovered,
        "which items may appear must be decided without looking at the records: give the "
        "public list with --items FILE, or let items be discovered with --discover COL "
        "--delta D.",
    ),
    # ---- the domain
    (
        lambda a: (
            a.domain is not None and not a.discovered
            and a.domain.has_items != (a.records.item is not None)
        ),
        "the domain must have items where the records do, else attributes; items without a public "
        "list are named by --discover.",
    ),
    (
        lambda a: (
            a.domain is not None and not a.domain.has_items
            and (a.pairs or isinstance(a.rule, HPA))
        ),
        "a table of attributes has no items to rank or to pair: use --item.",
    ),
    (
        lambda a: a.items > 0 and a.domain is not None and a.domain.size > _WIDEST_ITEMS,
        "items × contexts are beyond 2^62 cells: use --attributes for so many.",
    ),
    # ---- the form
    (
        lambda a: a.transform.name == "sketch" and a.publishing.leaves_out,
        "a sketch is small already: publish all of it, and remove --summary.",
    ),
)  # fmt: skip
"""Whether a refusal applies, and its words."""


def refuse(asked: Asked) -> None:
    for applies, words in REFUSALS:
        if applies(asked):
            raise UsageError(words)
    if asked.transform.signed and asked.publishing.sides == "one":
        raise UsageError(
            f"--transform {asked.transform.name} has counts of both signs: one side of them means "
            "nothing. Remove sides=one."
        )
