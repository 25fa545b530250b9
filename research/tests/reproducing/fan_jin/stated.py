"""Made-up numbers in which everything is as the paper states it."""

from __future__ import annotations

from collections.abc import Mapping

from crowdtally_research.reproducing.figure import Figure, Number, Numbers, Place
from crowdtally_research.reproducing.papers.fan_jin import PAPER, table5
from crowdtally_research.reproducing.papers.fan_jin.work import KS, LIMITS, SOURCES, THEOREM

At = tuple[str, str, Place]
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
FIGURES: Mapping[str, Figure] = {figure.name: figure for figure in PAPER.figures}
TITLES = [source.title for source in SOURCES.values()]


def numbers(figure: str, changed: Mapping[At, float] | None = None, error: float = 0.0) -> Numbers:
    """The numbers of a figure, some of them changed."""
    values = STATED[figure] | dict(changed or {})
    made = [Number(*at, mean, error, 20) for at, mean in values.items()]
    return Numbers([*made, *_titles()] if figure == "table5" else made)


def _metrics(table: str) -> dict[At, float]:
    lost = ("Netflix", "MovieLens") if table == "items" else ("MovieLens",)
    found: dict[At, float] = {}
    for title in TITLES:
        mse = {"lpa": 100.0, "dft": 20.0, "gs": 10.0, "sra": 5.0, "hpa": 4.0, "auto": 1.0}
        if title in lost:
            mse |= {"dft": 2.0, "gs": 1.0}
        if table == "items" and title == "MovieLens":
            mse["gs"] = 3.0
        kl = {"lpa": 5.0, "dft": 3.0, "gs": 2.0, "sra": 1.0, "hpa": 1.5, "auto": 0.5}
        for metric, by_line in (("mse", mse), ("kl", kl), ("kl_reversed", kl)):
            found |= {(f"{table} {metric}", line, title): v for line, v in by_line.items()}
    return found


def _found(table: str) -> dict[At, float]:
    both = {"lpa": 0.0, "dft": 0.0, "gs": 0.1, "auto": 0.9}
    found: dict[At, float] = {}
    for title in TITLES:
        own = {"sra": 0.6, "hpa": 0.8} if table == "items" else {"sra": 0.4, "hpa": 0.5}
        if table == "items" and title == "MovieLens":
            own = {"sra": 0.8, "hpa": 0.6}
        if table == "items" and title == "Netflix":
            own["hpa"] = 1.0
        found |= {(f"{table} precision", line, title): v for line, v in (both | own).items()}
    return found


def _lists() -> dict[At, float]:
    found: dict[At, float] = {}
    for name in SOURCES:
        for place, k in enumerate(KS):
            far = place / (len(KS) - 1)
            for line in ("lpa", "dft", "gs"):
                found[f"top {name}", line, float(k)] = max(0.0, 1.5 * far - 0.6)
            found[f"top {name}", "sra", float(k)] = 0.9 - 0.1 * far
            found[f"top {name}", "hpa", float(k)] = 1.0 - 0.3 * far
            found[f"top {name}", "auto", float(k)] = 1.0
    return found


def _limits() -> dict[At, float]:
    best = {("items", "1"): 30, ("edges", "1"): 5, ("items", "0.1"): 5, ("edges", "0.1"): 1}
    found: dict[At, float] = {}
    for (table, epsilon), least in best.items():
        for limit in LIMITS:
            for line in ("sra", "hpa", THEOREM):
                error = max(limit / least, least / limit) ** 2
                found[f"l {table} {epsilon}", line, float(limit)] = error
            found[f"l {table} {epsilon}", "auto", float(limit)] = 0.5
    return found


def _week() -> dict[At, float]:
    found: dict[At, float] = {}
    for place, day in enumerate(DAYS):
        end = place >= 4
        found["moved", "sra", day] = 1.0 if end else -0.75
        found["moved", "hpa", day] = 3.0 if end else -2.25
        found["moved", "auto", day] = 0.0
    return found


def _titles() -> list[Number]:
    """The lists of table 5, with the places that the paper's movies have in the real file."""
    lists = {
        table5.TRUTH: (table5.PRINTED, range(1, 11)),
        table5.PAPER_SRA: (
            table5.PRINTED_SRA, (1777, 1851, 830, 3288, 3, 2712, 3576, 1, 1085, 9),
        ),
        table5.PAPER_HPA: (table5.PRINTED_HPA, (1, 2, 6, 3, 8, 4, 11, 32, 10, 7)),
    }  # fmt: skip
    return [
        Number("lists", line, float(place), float(rank), text=title)
        for line, (titles, ranks) in lists.items()
        for place, (title, rank) in enumerate(zip(titles, ranks, strict=True), 1)
    ]


STATED: Mapping[str, dict[At, float]] = {
    "5": {
        (f"popularity {name}", "popularity of hpa", k): level
        for name, by_k in {
            "foursquare": {20.0: 0.65, 100.0: 0.42}, "netflix": {20.0: 0.72, 100.0: 0.78}
        }.items()
        for k, level in by_k.items()
    },
    "6": _limits(),
    "7": _metrics("items") | _found("items"),
    "8": _metrics("edges") | _found("edges") | _found("items"),
    "9": _lists(),
    "10": {("kept", line, title): 0.04 for line in ("sra", "hpa") for title in TITLES},
    "11": _week(),
    "table5": {
        ("found", line, "men under 25"): found
        for line, found in {
            "paper's sra": 3.0, "paper's hpa": 8.0, "sra": 3.0, "hpa": 8.0, "auto": 9.0
        }.items()
    },
}  # fmt: skip
"""By figure: panel, line and place."""
