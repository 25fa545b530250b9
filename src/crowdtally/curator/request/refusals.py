"""What does not go together, and why: one table. Everything else does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crowdtally.core.domain import Domain, OpenDomain
from crowdtally.core.privacy import Delta
from crowdtally.core.records import Quantity, Records
from crowdtally.core.registry import Registry, either
from crowdtally.curator.bounding import BOUNDINGS
from crowdtally.curator.bounding.rules import LARGEST_PAIR_LIMIT, Rule
from crowdtally.curator.request.options import declared, flag_of, is_given
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.summaries.base import Publishing
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.curator.transforms.base import Transform
from crowdtally.errors import UsageError

_WIDEST_ITEMS = 2**62


@dataclass(frozen=True)
class Asked:
    """Everything that was asked for, each part checked by itself."""

    options: Mapping[str, Any]
    """All options of a release, none left open."""
    given: Mapping[str, Any]
    """The same as they were given."""
    records: Records
    domain: Domain | None
    delta: Delta
    rule: Rule
    transform: Transform
    publishing: Publishing
    discovered: tuple[str, ...] = ()
    open: OpenDomain | None = None
    """All columns and the lists of some, once they were checked; there is no domain then."""

    @property
    def discovers(self) -> bool:
        return bool(self.discovered)

    @property
    def selects(self) -> bool:
        """Whether only the top items are asked for."""
        return self.options["top"] is not None

    @property
    def pairs(self) -> bool:
        return bool(self.options["pairs"])

    @property
    def interval(self) -> bool:
        return bool(self.options["noise"] == "interval")

    @property
    def by_row(self) -> bool:
        """Whether each row is one person."""
        return self.records.user is None and not self.stated

    @property
    def stated(self) -> bool:
        """Whether the publisher states how many rows a person has, and nothing says whose."""
        return self.records.bounded_to is not None

    @property
    def quantity(self) -> Quantity | None:
        """How often a record counts, where that was declared."""
        return self.records.quantity

    @property
    def contexts(self) -> int:
        """How many contexts the domain has."""
        return len(self.domain.contexts) if self.domain is not None else 0

    @property
    def items(self) -> int:
        """How many items are listed; 0 where there is no list."""
        return len(self.domain.items) if self.domain is not None and self.domain.has_items else 0

    def has(self, *names: str) -> bool:
        """Whether one of these options was given."""
        return any(is_given(self.given, name) for name in names)


_BOUNDING = ("bounding", "choose", "popularity_records", "cap", "norm", "scalings")
"""Options of how users are bounded, beside the bound itself."""
_AUTO_ONLY = ("for_", "repeats", "features", "context_per_user")
"""Options that mean nothing where a method is named."""
_FORM = (
    "publishing", "size", "cut", "threshold", "sides", "transform", "ordered", "buckets",
    "sketch_rows",
)  # fmt: skip
"""Options of the form in which all cells, or most of them, are published."""


def _is_plain(asked: Asked) -> bool:
    """Whether the form that was asked for is the only one that there is without a method."""
    named = {name for name in _FORM if asked.has(name)}
    plain = not asked.publishing.leaves_out and asked.transform.name == "none"
    return plain and named <= {"publishing", "transform"}


def _by_norm(asked: Asked) -> bool:
    """Whether rows are scaled to a Euclidean norm."""
    return asked.options["norm"] == "l2" and "norm" in asked.rule.takes


Refusal = tuple[Callable[[Asked], bool], str]

REFUSALS: tuple[Refusal, ...] = (
    # ---- each row is one person
    (
        lambda a: a.by_row and a.has(*_BOUNDING, "pairs", "discover_items", "discover"),
        "with --user-per-row each row is one person, so there is nothing to bound or choose: "
        "remove --bounding, --choose, --pairs, --discover and what goes with them.",
    ),
    (
        lambda a: a.by_row and a.has("max_records"),
        "with --user-per-row each row is one person, so --max-records would bound nobody. For rows "
        "without ids of which nobody has more than L, because they were bounded elsewhere, state "
        "that: --bounded-to L instead of --user-per-row and --max-records. To have users bounded "
        "here, give --user COL.",
    ),
    # ---- bounded elsewhere
    (
        lambda a: a.stated and a.has("max_records"),
        "--max-records cuts the records of a user, and with --bounded-to nothing says whose a row "
        "is: remove --max-records, or give --user COL instead of --bounded-to.",
    ),
    (
        lambda a: a.stated and (a.options["count"] == "users" or a.selects or a.interval),
        "--count users, --top and --noise interval count each user once, and with --bounded-to "
        "nothing says which rows are one user's: remove them, or give --user COL instead of "
        "--bounded-to.",
    ),
    (
        lambda a: a.stated and a.has(*_BOUNDING, "pairs", *_AUTO_ONLY),
        "with --bounded-to nothing says which rows are one user's, so that nobody can be sampled, "
        "scaled, paired or measured: remove --bounding, --choose, --pairs, --for, --repeats, "
        "--features and what goes with them, or give --user COL instead of --bounded-to.",
    ),
    (
        lambda a: a.stated and a.discovers,
        "--discover releases cells that enough users have, and with --bounded-to nothing says how "
        "many users a cell has: give the public lists, or --user COL instead of --bounded-to.",
    ),
    # ---- the top items alone
    (
        lambda a: a.selects and a.by_row,
        "--top counts distinct users: with --user-per-row release all counts, and ask `crowdtally "
        "top` of them.",
    ),
    (
        lambda a: a.selects and a.has(
            *_BOUNDING, "max_records", "pairs", "discover_items", "discover", "for_", "features",
            "repeats", *_FORM,
        ),
        "--top selects items by their numbers of distinct users and measures those: nobody is "
        "bounded, and nothing else is published. Beside --top remove --for, --features, "
        "--repeats, and what names a method or a form (--bounding, --max-records, --choose, "
        "--publishing, --size, --transform and what goes with them); or remove --top: --for top "
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
        lambda a: a.interval and a.options["count"] != "users",
        "--noise interval is for counts of distinct users, which one user changes by at most 1 "
        "in each cell: add --count users.",
    ),
    (
        lambda a: a.interval and a.has(*_BOUNDING, "max_records"),
        "--noise interval counts each user once in each of their cells, and bounds nobody: remove "
        "--bounding, --max-records, --choose, --cap and what goes with them, or --noise interval.",
    ),
    (
        lambda a: a.interval and (a.pairs or a.discovers),
        "--noise interval is for tables of few cells, which are known beforehand: remove --pairs "
        "or --discover, or --noise interval.",
    ),
    (
        lambda a: a.interval and a.has(*_FORM) and not _is_plain(a),
        "--noise interval is drawn for all cells of a table together, and all of them are "
        "published as they are: remove --publishing, --size, --transform and what goes with them, "
        "or --noise interval.",
    ),
    (
        lambda a: a.interval and not a.selects and a.has(*_AUTO_ONLY),
        "with --noise interval there is nothing that auto could decide: remove --for, --repeats, "
        "--features and --context-per-user, or remove --noise interval.",
    ),
    # ---- auto
    (
        lambda a: a.by_row and a.has(*_AUTO_ONLY),
        "with --user-per-row each row is one person, so there is nothing that auto could decide: "
        "remove --for, --repeats, --features and --context-per-user.",
    ),
    (
        lambda a: a.rule.name not in ("auto", "distinct") and a.has(*_AUTO_ONLY),
        "--for, --repeats, --features and --context-per-user are for auto, which decides on the "
        "method itself: remove them, or what names a method (--bounding, --max-records, --choose, "
        "--publishing, --transform, --pairs, --discover and what goes with them).",
    ),
    (
        lambda a: (
            a.rule.name == "auto" and a.has("features")
            and "feature" in {name.lower() for name in a.records.contexts}
        ),
        "a context called 'feature' would clash with a column that the features of items need: "
        "rename it, for example --context my_feature=feature.",
    ),
    # ---- the private choice of the bound
    (
        lambda a: a.options["choose"] == "dpsense" and a.rule.keeps_records,
        "--choose dpsense chooses how rows are scaled: for rules that keep records use "
        "--choose rank, or --bounding dpsense.",
    ),
    (
        lambda a: a.has("choose") and a.rule.name == "declared",
        "--bounding declared states the bound; to have it chosen use --bounding sra --choose rank.",
    ),
    (
        lambda a: _by_norm(a) and a.has("choose") and a.options["choose"] != "histogram",
        "how far rows are to be scaled to a Euclidean norm is chosen by another rule: use --choose "
        "histogram, or --norm l1.",
    ),
    (
        lambda a: not _by_norm(a) and a.options["choose"] == "histogram",
        "--choose histogram is for --bounding dpsense --norm l2: add them, or use --choose rank.",
    ),
    (
        lambda a: (
            a.has("choose") and a.records.user is not None
            and a.options["choose"] not in a.rule.choices
        ),
        "this rule does not take that private choice of its bound: DPSense-S chooses its bound and "
        "its scaling together (--choose dpsense), and a rule of your own states its limit.",
    ),
    (
        lambda a: a.has("max_records") and not isinstance(a.options["bounding"], str),
        "a rule of your own states its limit itself: remove --max-records.",
    ),
    # ---- rules that scale rows
    (
        lambda a: "cap" in a.rule.takes and a.options["count"] == "records" and not a.has("cap"),
        "this rule scales whole rows, so a user's count in one cell needs a public cap: add "
        "--cap R, or count distinct users with --count users.",
    ),
    (
        lambda a: a.has("cap") and ("cap" not in a.rule.takes or a.options["count"] == "users"),
        "--cap is for --bounding dpsense or dpsense-s with --count records: remove it.",
    ),
    # ---- rows scaled to a Euclidean norm
    (
        lambda a: _by_norm(a) and (not a.delta.value or a.options["noise"] == "laplace"),
        "--norm l2 scales rows for Gaussian noise: add --delta, such as --delta 1e-9, and no "
        "--noise laplace; or use --norm l1, which is for pure epsilon too.",
    ),
    (
        lambda a: _by_norm(a) and a.transform.name != "none",
        "a transform adds up a user's cells, and no sum is taken of rows that are scaled to a "
        "Euclidean norm: use --transform none, or --norm l1.",
    ),
    # ---- pairs
    (
        lambda a: a.pairs and not a.rule.keeps_records,
        "--pairs counts pairs of kept records: use a rule that keeps records, such as sra.",
    ),
    (
        lambda a: a.pairs and a.contexts > 0,
        "--pairs counts pairs of items: give no --context with it.",
    ),
    (
        lambda a: a.pairs and a.rule.limit < 2,
        "a user of whom one record is kept has no pairs: --pairs needs --max-records 2 or more.",
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
        "--pairs cannot be transformed: use --transform none.",
    ),
    # ---- quantities
    (
        lambda a: a.quantity is not None and a.options["repeats"] == "no",
        "with --repeats no a user counts once at an item, whatever the quantity: remove "
        "--quantity and --max-quantity, or --repeats no.",
    ),
    (
        lambda a: a.quantity is not None and a.options["count"] == "users",
        "a user counts once in a cell, whatever the quantity: remove --quantity and "
        "--max-quantity, or use --count records.",
    ),
    (
        lambda a: a.quantity is not None and a.pairs,
        "--pairs counts which items go together, not how much of them: remove --quantity and "
        "--max-quantity.",
    ),
    (
        lambda a: a.quantity is not None and a.discovers,
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
        lambda a: a.discovers and (a.rule.name != "sra" or a.has("choose") or a.pairs),
        "--discover works with --bounding sra and a given --max-records, without --choose and "
        "--pairs.",
    ),
    (
        lambda a: a.discovers and not a.delta.value,
        "--discover needs --delta: cells that no public list names can only be released with a "
        "small probability delta of exceeding epsilon, such as --delta 1e-9.",
    ),
    # ---- delta
    (
        lambda a: a.options["noise"] == "gaussian" and not a.delta.value,
        "--noise gaussian needs --delta, such as --delta 1e-9: it keeps epsilon but for a small "
        "probability. Without one use --noise laplace, which is pure epsilon.",
    ),
    (
        lambda a: a.interval and bool(a.delta.value),
        "--noise interval is of pure epsilon and needs no delta: remove --delta, or --noise "
        "interval.",
    ),
    (
        lambda a: a.discovers and a.has("guess_total", *_FORM),
        "--discover publishes the cells that it finds, as they are: remove --transform, "
        "--publishing, --guess-total and what goes with them.",
    ),
    (
        lambda a: a.domain is None and not a.discovers,
        "which items may appear must be decided without looking at the records: give the "
        "public list with --items FILE, or let items be discovered with --discover-items "
        "--delta D.",
    ),
    # ---- the domain
    (
        lambda a: (
            a.domain is not None and not a.discovers
            and a.domain.has_items != (a.records.item is not None)
        ),
        "the domain must have items where the records do, else attributes; items without a public "
        "list are named by --discover.",
    ),
    (
        lambda a: (
            a.domain is not None and not a.domain.has_items
            and (a.pairs or "popularity_records" in a.rule.takes)
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
        "a sketch is small already: publish all of it (--publishing dense).",
    ),
)  # fmt: skip
"""Whether a refusal applies, and its words."""


def refuse(asked: Asked) -> None:
    """Raise the first refusal that applies."""
    for applies, words in REFUSALS:
        if applies(asked):
            raise UsageError(words)
    for words in _idle(asked):
        raise UsageError(words)
    if asked.transform.signed and asked.publishing.sides == "one":
        raise UsageError(
            f"--transform {asked.transform.name} has counts of both signs: one side of them means "
            "nothing. Remove --sides one."
        )


_CHOSEN: tuple[tuple[Registry, Callable[[Asked], Any]], ...] = (
    (BOUNDINGS, lambda asked: asked.rule),
    (PUBLISHINGS, lambda asked: asked.publishing),
    (TRANSFORMS, lambda asked: asked.transform),
)


def _idle(asked: Asked) -> Iterator[str]:
    """Options that were given and that nothing takes, with what would take them."""
    for registry, chosen in _CHOSEN:
        taken = chosen(asked).takes
        for name in declared():
            takers = [one for one in registry if name in registry.load(one).takes]
            if takers and name not in taken and asked.has(name) and name not in _EXPLAINED:
                yield (
                    f"{flag_of(name)} is for {registry.option} {either(takers)}: "
                    "add that, or remove it."
                )


_EXPLAINED = {"cap", "choose", "max_records"}
"""Options whose refusal the table words itself."""
