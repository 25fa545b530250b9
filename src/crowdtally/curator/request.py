"""A request for a release: every public parameter, checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log2

from crowdtally.curator.bounding.sra import SRA
from crowdtally.curator.split import complete_split
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.values.counts import What
from crowdtally.values.domain import Domain
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.rational import show
from crowdtally.values.records import Records

BOUNDINGS = ("sra",)
COUNTED: tuple[What, ...] = ("records", "users")
LARGEST_DENSE = 500_000_000
"""Cells beyond which a dense table is refused: about 20 GB while it is written."""
_LARGEST_SCALE = 2**50  # beyond it noise leaves 64 bits often enough to matter
_LARGEST_LIMIT = 2**31


@dataclass(frozen=True)
class Request:
    """What a curator asks for. All of it is public; none of it was read off the records."""

    records: Records
    """The records and the roles of their columns."""
    domain: Domain
    """The public cells."""
    epsilon: Epsilon
    """The whole cost of the release."""
    rule: SRA
    """How each user's contribution is bounded."""
    what: What
    """Whether records or distinct users are counted."""
    shares: Mapping[str, Fraction]
    """Each part's exact share of ε."""
    strict: bool = False
    """Stop, before anything is charged, where a row would be dropped."""

    def part(self, name: str) -> Epsilon:
        """The ε of one part."""
        return self.epsilon * self.shares[name]


def make_request(
    records: Records,
    domain: Domain,
    *,
    epsilon: object,
    bounding: str = "sra",
    max_records: int = 10,
    count: str = "records",
    split: Mapping[str, object] | None = None,
    strict: bool = False,
) -> Request:
    """Check every public parameter and put them together."""
    if bounding not in BOUNDINGS:
        raise UsageError(f"unknown bounding {bounding!r}. {did_you_mean(bounding, BOUNDINGS)}")
    what = next((known for known in COUNTED if known == count), None)
    if what is None:
        raise UsageError(f"unknown --count {count!r}. {did_you_mean(count, COUNTED)}")
    limit = _whole(max_records, "--max-records", 1, _LARGEST_LIMIT)
    domain = domain.named(records.item)
    undeclared = sorted(set(records.contexts) ^ {axis.name for axis in domain.contexts})
    if undeclared:
        raise UsageError(
            f"context {undeclared[0]!r} needs both its column or expression (--context) and its "
            f"list of values (--values {undeclared[0]}=a,b,c)."
        )
    if domain.size > LARGEST_DENSE:
        raise UsageError(
            f"the table would have {domain.size} cells, and a dense release has at most "
            f"{LARGEST_DENSE}: shorten the item list or use fewer contexts."
        )
    used = ["items", "edges"] if domain.contexts else ["items"]
    request = Request(
        records, domain, Epsilon.of(epsilon), SRA(limit), what, complete_split(split, used), strict
    )
    _check_scales(request)
    return request


def _whole(value: object, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(
            f"{name} must be a whole number between {least} and {most}: received {value!r}."
        )
    return value


def _check_scales(request: Request) -> None:
    for name in request.shares:
        scale = request.rule.l1_bound / request.part(name).value
        if scale > _LARGEST_SCALE:
            raise UsageError(
                f"the noise of {name!r} would have scale 2^{log2(scale):.0f}, beyond any count: "
                f"epsilon {show(request.epsilon.value)} is too small for "
                f"{request.rule.l1_bound} records per user. Raise --epsilon."
            )
