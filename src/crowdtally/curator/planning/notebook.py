"""A plan as a prompt and a notebook show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crowdtally.core.display import one_line, paragraph, table

Tables = Sequence[Mapping[str, Any]]
"""What ``Plan.tables`` says."""

_HEADS = ("table", "columns", "cells", "ε", "noise, std", "noise interval")


def plan_line(cost: str, tables: Tables, rule: str = "") -> str:
    """The cost, and the tables with the reach of their noise; the rule where none is known yet."""
    if not tables:
        return one_line(f"<Plan {cost}: {rule} decides as it goes>")
    named = ", ".join(f"{one['table']} ({_cells(one)} cells, {_reach(one)})" for one in tables)
    return one_line(f"<Plan {cost}: {named}>")


def plan_table(tables: Tables, lines: Iterable[str]) -> str:
    """A table of the tables; what else the plan says stands below it."""
    if not tables:
        return "".join(map(paragraph, lines))
    rows = (
        (
            one["table"],
            " × ".join(one["columns"]),
            _cells(one),
            one.get("epsilon") or f"ρ {one['rho']}",
            f"{one['noise_std']:.4g}",
            _reach(one),
        )
        for one in tables
    )
    made = table("Plan: nothing is spent yet", _HEADS, rows, total=len(tables), right=_HEADS[2:])
    rest = (line for line in lines if not line.startswith("Table "))
    return made + "".join(map(paragraph, rest))


def _reach(one: Mapping[str, Any]) -> str:
    return f"±{one['noise_interval_half_width']:.6g}"


def _cells(one: Mapping[str, Any]) -> str:
    return "not known" if one["cells"] is None else f"{one['cells']:,}"
