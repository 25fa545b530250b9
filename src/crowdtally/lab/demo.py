"""Made-up records for the demonstration: heavy-tailed users, skewed items, weekdays.

The lab knows the truth because it invented it. Only here is ordinary pseudo-randomness fine.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ADJECTIVES = (
    "Amber Blue Brass Copper Corner Crystal Eastern Golden Green Hidden Iron Ivory Jade Little "
    "Lower Maple Marble Merry Misty North Oaken Old Pearl Quiet Red Royal Ruby Silver South "
    "Stone Sunny Upper Velvet Western White Wild Willow Winter Yellow Young"
).split()
_NOUNS = (
    "Arcade Bakery Bank Barn Bazaar Bistro Books Bridge Cafe Canteen Chapel Cinema Clinic Court "
    "Diner Dock Fountain Gallery Garden Gate Grill Grove Gym Hall Harbour Hotel House Inn Kiosk "
    "Lane Library Lodge Market Meadow Mill Museum Park Pier Plaza Pool Pub Quay School Square "
    "Stadium Station Studio Tavern Theatre Tower"
).split()

_PART = 1 << 20
"""Visits that are drawn, and written, at a time."""


@dataclass(frozen=True)
class Demo:
    records: Path
    """Parquet: visit_id, user_id, place, weekday."""
    places: Path
    """CSV: the public list of places."""

    def visitors(self, places: list[str]) -> dict[str, int]:
        """The true number of visitors of these places. Not private."""
        users = "count(DISTINCT user_id)"
        query = f"SELECT place, {users} FROM read_parquet(?) WHERE place IN ? GROUP BY place"
        return dict(duckdb.execute(query, [str(self.records), places]).fetchall())


def place_names() -> list[str]:
    return [f"{adjective} {noun}" for noun in _NOUNS for adjective in _ADJECTIVES]


def generate(folder: Path, records: int = 1_000_000, seed: int = 1) -> Demo:
    """Write about ``records`` visits of an invented city."""
    rng = np.random.default_rng(seed)
    names = place_names()
    rng.shuffle(names)
    each = _visits_per_user(rng, records)
    users = np.repeat(np.arange(len(each), dtype=np.int32), each)
    popularity = 1 / np.arange(1, len(names) + 1) ** 0.9
    places = _drawn(rng, popularity / popularity.sum(), len(users), np.int16)
    week = np.array([0.12, 0.12, 0.12, 0.13, 0.17, 0.19, 0.15])
    days = _drawn(rng, week, len(users), np.int8)
    order = np.arange(len(users), dtype=np.int32)
    rng.shuffle(order)
    demo = Demo(folder / "visits.parquet", folder / "places.csv")
    demo.places.write_text("place\n" + "\n".join(sorted(names)) + "\n", encoding="utf-8")
    _write(demo.records, {"user_id": users, "place": places, "day": days}, order, names)
    return demo


def _drawn(
    rng: np.random.Generator, chances: NDArray[np.float64], size: int, kind: type[np.integer[Any]]
) -> NDArray[Any]:
    """Codes by their chances, a part at a time: the draw itself needs ten times their memory."""
    codes = np.empty(size, dtype=kind)
    for start in range(0, size, _PART):
        part = codes[start : start + _PART]
        part[:] = rng.choice(len(chances), size=len(part), p=chances)
    return codes


def _visits_per_user(rng: np.random.Generator, records: int) -> np.ndarray:
    """Log-normal: most people visit a few places, some visit a thousand."""
    wishes = rng.lognormal(2.5, 1.2, size=max(records // 25, 1))
    return np.asarray(np.maximum(1, np.rint(wishes * records / wishes.sum())), dtype=np.int64)


def _write(
    path: Path, visits: dict[str, NDArray[Any]], order: NDArray[np.int32], names: list[str]
) -> None:
    """The visits in a random order, a part after the other, then as one file."""
    with (
        tempfile.TemporaryDirectory(dir=path.parent, prefix=".parts-") as parts,
        duckdb.connect(":memory:") as connection,
    ):
        connection.register("names", _codes(names))
        connection.register("days", _codes(list(DAYS)))
        for start in range(0, len(order), _PART):
            chosen = order[start : start + _PART]
            part = {name: codes[chosen] for name, codes in visits.items()}
            part["user_id"] = part["user_id"].astype(np.int64) + 10_000
            connection.register("visits", {"visit_id": np.arange(len(chosen)) + start, **part})
            connection.execute(
                "COPY (SELECT visit_id, user_id, names.name AS place, days.name AS weekday "
                "FROM visits JOIN names ON place = names.code JOIN days ON day = days.code "
                f"ORDER BY visit_id) TO {_text(Path(parts) / f'{start:012}.parquet')} "
                "(FORMAT parquet)"
            )
            connection.unregister("visits")
        connection.execute(
            f"COPY (FROM read_parquet({_text(Path(parts) / '*.parquet')})) TO {_text(path)} "
            "(FORMAT parquet)"
        )


def _text(path: Path) -> str:
    return f"'{str(path).replace(chr(39), chr(39) * 2)}'"


def _codes(names: list[str]) -> dict[str, np.ndarray]:
    return {"name": np.array(names, dtype=object), "code": np.arange(len(names))}
