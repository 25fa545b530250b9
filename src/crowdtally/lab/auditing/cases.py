"""What is attacked: every method of the registries, each on the smallest domain that shows it.

A case is a request whose numbers are small (two records per user, two items), because the smaller
the table, the more often a run shows all that a user changed. An audit refutes a method at these
numbers or does not; for others, attack a request of your own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any

from crowdtally.core.domain import Domain
from crowdtally.core.layout import EDGES, ITEMS, POPULARITY
from crowdtally.core.privacy import Epsilon
from crowdtally.core.records import Quantity, Records
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.bounding.auto import Auto
from crowdtally.curator.bounding.rules import Discover
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.method import method_of
from crowdtally.curator.pricing import pure
from crowdtally.curator.request.method import CHOOSE, TOTAL
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.lab.auditing.observe import Aim
from crowdtally.lab.methods import Method

CONTEXTS, DISCOVERY, PAIRS = "contexts", "discovery", "pairs"
QUANTITY, ROWS = "quantity", "rows"
SHAPES: Mapping[str, str] = {
    CONTEXTS: "items, and items in context: two tables of one sample",
    DISCOVERY: "items without a public list",
    PAIRS: "pairs of items of one user",
    QUANTITY: "records that count several times",
    ROWS: "rows that are one person each",
}
OWN = "your request"
DELTA = Fraction(1, 100)
"""δ of an audited discovery: a smaller one would be seen too rarely to be tested."""
BOTH = "both tables"
"""A release of items and of items in context: what one shows about the other would show here."""
LARGE_CHOICE = 4
"""A private choice is attacked at so many times ε: where ε is small, scores that rise and fall
together lose far less than they may, and a doubled rate would not be seen."""
_NEVER = Fraction(1, 10**30)
"""δ at which no item passes, so that the mass of the others can be audited alone."""


@dataclass(frozen=True)
class Case:
    name: str
    """The method, and the part if it is one."""
    method: str
    request: Request
    """Its own records are never read."""
    part: str | None = None
    """The charged part that is attacked alone; None for the whole release."""
    group: str = ""
    """Cases of one group count the same records in the same way, and share their counts."""
    alone: bool = False
    """Whether it is about databases without other users."""

    @property
    def steered(self) -> bool:
        """Whether a noisy popularity decides the last counts: each then takes counting anew."""
        return self.part is None and self.request.popularity is not None

    @property
    def aim(self) -> Aim:
        """Whether to look for a loss of ε, or of δ: an item of one user alone."""
        return "delta" if self.alone and self.delta else "epsilon"

    @property
    def claim(self) -> Epsilon:
        """The price of the release, or of the part."""
        return self.request.epsilon if self.part is None else pure(self.request.part(self.part))

    @property
    def delta(self) -> Fraction:
        """The claimed δ: the mass of the others has none of its own."""
        return Fraction(0) if self.part == TOTAL else self.request.delta.value


@dataclass(frozen=True)
class _Setting:
    items: int = 2
    contexts: int = 0
    roles: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    split: Mapping[str, str] | None = None
    delta: Fraction = Fraction(0)

    def request(self, epsilon: Epsilon) -> Request:
        import pyarrow as pa

        contexts = {"day": [f"day {n}" for n in range(self.contexts)]} if self.contexts else {}
        roles: dict[str, Any] = {"user": "user", "item": "item"} | dict(self.roles)
        records = Records(pa.table({}), contexts=dict.fromkeys(contexts), **roles)
        domain = None
        if not isinstance(self.options.get("method"), Discover):
            domain = Domain([f"item {n}" for n in range(self.items)], contexts)
        return make_request(
            records, domain, epsilon=epsilon, delta=self.delta, split=self.split, **self.options
        )


def every_name() -> list[str]:
    """All that an audit covers; new entries of registries are covered by themselves.

    Every rule with every publishing and choice, and every transform with every publishing.
    """
    rules = [rule for rule in BOUNDINGS if rule != AUTO]
    transforms = [transform for transform in TRANSFORMS if transform != "none"]
    combined = (
        *product(rules, "/", PUBLISHINGS),
        *product([f"sra/{transform}" for transform in transforms], "/", PUBLISHINGS),
        *product(rules, "+", CHOICES),
    )
    methods = [str(Method.of("".join(parts))) for parts in combined]
    return [AUTO, *filter(_runs, methods), *SHAPES]


def _runs(name: str) -> bool:
    try:
        _setting(Method.of(name)).request(Epsilon(Fraction(1)))
    except UsageError:
        return False
    return True


def cases_of(name: str, epsilon: Epsilon) -> Iterator[Case]:
    """The whole release of a method, and each part that it charges for."""
    if name in SHAPES:
        yield Case(name, name, _SETTINGS[name].request(epsilon), group=name)
        yield from _shape_parts(name, epsilon)
        return
    method = _method(name)
    name = str(method)
    if method.bounding == AUTO:
        yield from _auto_cases(method, epsilon)
        return
    # The rule and the items: what is counted does not depend on transform and publishing.
    group = f"{method.bounding}+{method.choice}, {_limit(method)}"
    try:
        request = _setting(method).request(epsilon)
    except UsageError as error:
        raise UsageError(f"{name} is not offered, so there is nothing to audit: {error}") from error
    yield Case(name, name, request, group=group)
    if method.transform == "none" and method.publishing == "dense":
        yield from _parts(name, method, epsilon)


def _auto_cases(method: Method, epsilon: Epsilon) -> Iterator[Case]:
    """The whole of ``auto``, as each kind of request has it: it is charged as one."""
    if str(method) != AUTO:
        raise UsageError(
            f"{method} is not offered, so there is nothing to audit: auto finds its bound, its "
            "transform and its publishing itself. Audit auto."
        )
    for words, setting in _AUTO.items():
        name = f"{AUTO}: {words}" if words else AUTO
        yield Case(name, AUTO, setting.request(epsilon), group=name)


def _method(name: str) -> Method:
    bounding = name.strip().split("/")[0].partition("+")[0]
    if bounding not in BOUNDINGS:
        raise UsageError(
            f"there is no method {name!r} to audit. {did_you_mean(name, [*BOUNDINGS, *SHAPES])} "
            "A method is METHOD[+CHOICE][/TRANSFORM][/SUMMARY], such as sra/dyadic/filter."
        )
    return Method.of(name)


def _limit(method: Method) -> int:
    """One record where a transform already spreads a user's change over several numbers."""
    return 2 if method.transform == "none" else 1


_FIELDS: dict[str, dict[str, Any]] = {
    "dense": {},
    "filter": {"cut": 2},
    "threshold": {"threshold": 2},
    "priority": {"size": 4, "threshold": 2},
    "filter-priority": {"size": 4, "cut": 2},
    "none": {},
    "dyadic": {"columns": "item"},
    "haar": {"columns": "item"},
    "sketch": {"buckets": 2, "rows": 2},
    "dpsense": {"cap": 2},
    "dpsense-s": {"cap": 2, "scalings": "3/2"},
    "hpa": {"popularity_records": 1},
}
"""The fields of the parts of a method."""


def _setting(method: Method, **more: Any) -> _Setting:
    fields: dict[str, Any] = {"max_records": _limit(method)}
    for part in (method.bounding, method.transform, method.publishing):
        fields |= _FIELDS.get(part, {})
    if method.choice is not None and method.bounding == "dpsense-s":
        fields["scalings"] = (1, 2)
    return _Setting(options=method.options(fields | more), split=_popular(method))


def _popular(method: Method) -> dict[str, str] | None:
    """A popularity with little noise has few values: each takes counting anew."""
    if "popularity_records" not in method.fields:
        return None
    if method.choice is not None:
        return {CHOOSE: "1/50", POPULARITY.name: "4/5", ITEMS.name: "9/50"}
    return {POPULARITY.name: "4/5", ITEMS.name: "1/5"}


def _parts(name: str, method: Method, epsilon: Epsilon) -> Iterator[Case]:
    """Each part against its own share, which the slack of a whole release would hide."""
    if method.choice is not None:
        large = epsilon * LARGE_CHOICE
        yield Case(f"{name}: choose", name, _choosing(method).request(large), CHOOSE)
        return
    setting, parts = replace(_setting(method), contexts=2), [ITEMS.name, EDGES.name]
    if setting.split is not None:
        parts = [POPULARITY.name, *parts]
        half = str(Fraction(setting.split[ITEMS.name]) / 2)
        split = {**setting.split, ITEMS.name: half, EDGES.name: half}
        setting = replace(setting, split=split)
    both = f"{name}: {BOTH}"
    yield Case(both, name, setting.request(epsilon), group=both)
    for part in parts:
        split = dict.fromkeys(parts, "1/8") | {part: str(1 - Fraction(len(parts) - 1, 8))}
        request = replace(setting, split=split).request(epsilon)
        yield Case(f"{name}: {part}", name, request, part)


def _choosing(method: Method) -> _Setting:
    """A choice that gets most of ε, at candidates that one user can drive apart."""
    if method.bounding == "dpsense-s":
        options = {**_setting(method, max_records=1, cap=None).options, "count": "users"}
        return _Setting(32, options=options, split={CHOOSE: "3/5", ITEMS.name: "2/5"})
    more = {"max_records": 4} if method.choice == "dpsense" else {}
    setting = _setting(method, **more)
    shares = {CHOOSE: "3/5", ITEMS.name: "2/5"}
    if setting.split is not None:
        shares = {CHOOSE: "3/5", POPULARITY.name: "1/5", ITEMS.name: "1/5"}
    return replace(setting, split=shares)


def _discovering(limit: int) -> dict[str, Any]:
    return {"method": Discover("item", limit), "noise": "laplace"}


_SETTINGS: dict[str, _Setting] = {
    CONTEXTS: _Setting(contexts=2, options={"method": SRA(2)}),
    DISCOVERY: _Setting(options=_discovering(1), delta=DELTA),
    PAIRS: _Setting(options={"method": SRA(2), "pairs": True}),
    QUANTITY: _Setting(
        contexts=2, roles={"quantity": Quantity("quantity", 2)}, options={"method": SRA(2)}
    ),
    ROWS: _Setting(contexts=2, roles={"user": None}),
}


_AUTO: dict[str, _Setting] = {
    "": _Setting(),
    "once at an item": _Setting(options={"method": Auto(repeats=False)}),
    BOTH: _Setting(4, 2),
    "for top": _Setting(120, options={"method": Auto("top", repeats=False)}),
    "for recommend, by the user's context": _Setting(
        80, 2, options={"method": Auto("recommend", repeats=False, context_per_user="day")}
    ),
    "for recommend, by the record's context": _Setting(8, 2, options={"method": Auto("recommend")}),
}
"""Requests that lead ``auto`` through all of its steps; lists of many items where a head is due."""


def _shape_parts(name: str, epsilon: Epsilon) -> Iterator[Case]:
    if name == PAIRS:
        # Of two records there is one pair, and l(l−1)/2 cannot be told from l−1.
        shares = {ITEMS.name: "1/8", EDGES.name: "7/8"}
        three = _Setting(3, options={"method": SRA(3), "pairs": True}, split=shares)
        yield Case(f"{name}: {EDGES.name}", name, three.request(epsilon), EDGES.name)
    if name != DISCOVERY:
        return
    # Of one item per user neither the noise nor the threshold could be seen to depend on l.
    options = _discovering(2)
    listed = _Setting(options=options, delta=DELTA)
    yield Case(f"{name}: {ITEMS.name}", name, listed.request(epsilon), ITEMS.name)
    shares = {TOTAL: "3/4", ITEMS.name: "1/4"}
    rest = _Setting(options=options, delta=_NEVER, split=shares)
    yield Case(f"{name}: {TOTAL}", name, rest.request(epsilon), TOTAL, alone=True)
    # What δ pays for, which another pair would outdo: an item that one user alone has.
    yield Case(f"{name}: new items", name, listed.request(epsilon), ITEMS.name, alone=True)


def charged_parts(request: Request) -> Sequence[str]:
    """The charged parts of a request, in the order in which they are drawn."""
    return [part.name for part in method_of(request).parts]
