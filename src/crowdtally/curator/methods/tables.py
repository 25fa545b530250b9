"""sra, hpa, declared, dpsense, dpsense-s, l2, interval noise and rows: bound, count, add noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from crowdtally.core.counts import What
from crowdtally.core.privacy import Price
from crowdtally.curator import questions as kinds
from crowdtally.curator.bounding.rules import EveryRow, RecordRule
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import DPSense, DPSenseS, is_euclidean
from crowdtally.curator.converse import Asking, Facts
from crowdtally.curator.request.method import CHOOSE
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.table_specs import table_bound
from crowdtally.curator.table import Table
from crowdtally.ledger import Part


@dataclass(frozen=True)
class TablesFacts(Facts):
    bounds: Mapping[str, kinds.Bound] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"bounds": {name: bound.as_dict() for name, bound in self.bounds.items()}}


@dataclass(frozen=True)
class TablesMethod:
    """A popularity where items are ranked by it, a choice of the bounds, then all tables."""

    rule: Any
    """With its bound, or with the largest that may be chosen."""
    what: What
    tables: tuple[Any, ...]
    pairs: bool = False
    popularity: Table | None = None
    """The table that items are ranked by; its bound is d₀."""
    choice: kinds.ChoiceQuestion | None = None

    @classmethod
    def of(cls, request: Request) -> Self:
        method = request.method
        choice = None if method.choose is None else _choice(request, request.part(CHOOSE))
        return cls(
            method.rule, method.what, request.measured or request.bounded, method.pairs,
            request.popularity, choice,
        )  # fmt: skip

    @property
    def parts(self) -> tuple[Part, ...]:
        popularity = () if self.popularity is None else (self.popularity.charge(),)
        choice = () if self.choice is None else self.choice.parts()
        return (*popularity, *choice, *(table.charge() for table in self.tables))

    @property
    def questions(self) -> int:
        return 1 + (self.popularity is not None) + (self.choice is not None)

    def ask(self) -> Asking:
        """HPA ranks items by a popularity that was released; bounds were released before tables."""
        rule, bounds = self.rule, dict[str, kinds.Bound]()
        if self.popularity is not None:
            found = yield kinds.SampledCounts(
                (self.popularity,), SRA(self.popularity.bound), self.what
            )
            rule = replace(rule, popularity=found.tables[0].values)
        if self.choice is not None:
            chosen = yield self.choice
            bounds = chosen.bounds
        question, facts = self._counts(rule, bounds)
        yield question
        return facts

    def _counts(
        self, rule: Any, chosen: Mapping[str, kinds.Bound]
    ) -> tuple[kinds.TableQuestion, TablesFacts]:
        """The question for all tables, once their bounds are known; and those bounds."""
        names = [table.name for table in self.tables]
        question: kinds.TableQuestion
        if isinstance(rule, DPSense):
            rules = [_scaled(rule, chosen.get(name)) for name in names]
            bounds = [kinds.Bound(one.limit, one.scaling) for one in rules]
            question = kinds.ScaledCounts(tuple(map(_settled, self.tables, rules)), tuple(rules))
        elif rule.keeps_records:
            if chosen:  # one bound for all tables: they are of one sample
                rule = replace(rule, max_records=chosen[names[0]].limit)
            bounds = [kinds.Bound(rule.limit)] * len(names)
            settled = tuple(_settled(table, rule, self.what) for table in self.tables)
            question = kinds.SampledCounts(settled, rule, self.what, self.pairs)
        elif isinstance(rule, EveryRow):
            bounds = [kinds.Bound(table.bound) for table in self.tables]
            question = kinds.RowCounts(self.tables, rule)
        else:  # nobody is bounded
            bounds = [kinds.Bound(1)] * len(names)
            question = kinds.DistinctUsers(self.tables)
        return question, TablesFacts(dict(zip(names, bounds, strict=True)))


def _choice(request: Request, price: Price) -> kinds.ChoiceQuestion:
    method, rule, tables = request.method, request.method.rule, request.bounded
    if isinstance(rule, DPSenseS):
        return kinds.ChooseThetaAndScaling(tables, rule.limit, price, rule.most, rule.weighed)
    if isinstance(rule, DPSense) and is_euclidean(rule):
        return kinds.ChooseNorm(tables, rule.limit, price, rule.most)
    if isinstance(rule, DPSense):
        return kinds.ChooseTheta(tables, rule.limit, price, rule.most, str(method.choose))
    least = 2 if method.pairs else 1
    times = rule.times if isinstance(rule, RecordRule) else 1
    return kinds.ChooseLimit(tables, rule.limit, price, method.what, least, times)


def _scaled(rule: DPSense, bound: kinds.Bound | None) -> DPSense:
    if bound is None:
        return rule
    if isinstance(rule, DPSenseS):
        return replace(rule, max_records=bound.limit, choose=None, scalings=(bound.scaling,))
    return replace(rule, max_records=bound.limit, choose=None)


def _settled(table: Table, rule: Any, what: What = "users") -> Table:
    """The table with the bound that its records are cut to."""
    return table if table.settled else table.settle(*table_bound(rule, table.cells, what))
