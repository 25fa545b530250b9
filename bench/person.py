"""Phase 1 of a perturbation: the noise of each category, beside a general convex solver.

A made-up catalogue (10^5 items, 300 categories, 2,000 distinct category sets of 1 to 5). Ours is
timed from a catalogue to verified rational rates: finding the maximal sets, solving, rounding down,
and checking C·v <= epsilon exactly. The general solver, cvxpy with Clarabel, gets the same problem
as it is written down, a constraint for each item, as a sparse matrix that was made before; its time
is that of building and solving. ``ratio`` is its time over ours, of the best runs. What it took to
group the items, which reading a catalogue does once, one whole perturbation, and the same of the
MovieLens catalogue (in the folder CROWDTALLY_DATA) are printed too. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import timeit
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ITEMS, CATEGORIES, SETS, LONGEST = 100_000, 300, 2_000, 5
HISTORY = 500


def best(run: Callable[[], object], repeats: int) -> float:
    """The shortest time of ``repeats`` runs, in seconds."""
    return min(timeit.repeat(run, number=1, repeat=repeats))


def made_up(items: int, categories: int, sets: int) -> dict[str, list[str]]:
    """Skewed categories, distinct sets of 1 to 5 of them, skewed numbers of items in each."""
    rng = np.random.default_rng(7)
    weights = 1 / np.arange(1, categories + 1) ** 0.7
    weights /= weights.sum()
    found: dict[tuple[int, ...], None] = {}
    while len(found) < sets:
        size = rng.integers(1, LONGEST + 1)
        chosen = rng.choice(categories, size=size, replace=False, p=weights)
        found[tuple(sorted(chosen.tolist()))] = None
    listed = list(found)
    shares = rng.dirichlet(np.ones(sets))
    which = [*range(sets), *rng.choice(sets, items - sets, p=shares).tolist()]
    return {
        f"i{number}": [f"c{category:03}" for category in listed[place]]
        for number, place in enumerate(rng.permutation(which).tolist())
    }


def movielens() -> dict[str, list[str]] | None:
    """The genres of the MovieLens catalogue, where its file is."""
    import duckdb

    folder = os.environ.get("CROWDTALLY_DATA")
    path = Path(folder or "") / "ml1m_movie_genres.parquet"
    if folder is None or not path.exists():
        return None
    found: dict[str, list[str]] = {}
    for item, genre in duckdb.read_parquet(str(path)).fetchall():
        found.setdefault(str(item), []).append(genre)
    return found


def general(mapping: dict[str, list[str]]) -> tuple[float, float]:
    """Seconds of the general solver, and the least sum of scales that it finds."""
    import cvxpy as cp
    from scipy.sparse import csr_matrix

    names = sorted({name for named in mapping.values() for name in named})
    place = {name: number for number, name in enumerate(names)}
    columns = [place[name] for named in mapping.values() for name in named]
    ends = np.cumsum([0, *map(len, mapping.values())])
    matrix = csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(mapping), len(names)))
    start = time.perf_counter()
    rates = cp.Variable(len(names))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.inv_pos(rates))), [matrix @ rates <= 1])
    problem.solve(solver=cp.CLARABEL)
    return time.perf_counter() - start, float(problem.value)


def measured(mapping: dict[str, list[str]], repeats: int) -> dict[str, Any]:
    """Ours beside the general solver, and one whole perturbation."""
    from crowdtally.noise.draws import SystemDraws
    from crowdtally.person.catalogue import Catalogue
    from crowdtally.person.perturbation import perturb
    from crowdtally.person.plan import Plan

    catalogue = Catalogue.of(mapping)
    plan = Plan.of(catalogue, 1)
    history = catalogue.items[:: max(1, len(catalogue.items) // HISTORY)]
    runs = [general(mapping) for _ in range(max(1, repeats // 2))]
    grouped = best(lambda: Catalogue.of(mapping), repeats)
    solved = best(lambda: Plan.of(catalogue, 1), repeats)
    theirs = min(seconds for seconds, _ in runs)
    sum_of_scales = float(sum(plan.scales))
    return {
        "items": len(catalogue.items),
        "categories": len(catalogue.categories),
        "sets": len(catalogue.groups),
        "grouping_seconds": grouped,
        "phase_1_seconds": solved,
        "general_seconds": theirs,
        "ratio": theirs / solved,
        "ratio_with_grouping": theirs / (solved + grouped),
        "sum_of_scales": sum_of_scales,
        "general_sum_of_scales": runs[0][1],
        "gap": plan.noise.gap,
        "mean_scale": plan.mean_scale,
        "perturbation_seconds": best(lambda: perturb(history, plan, SystemDraws()), repeats),
    }


def told(name: str, facts: dict[str, Any]) -> None:
    print(
        f"{name}: {facts['items']:,} items, {facts['categories']} categories, {facts['sets']:,} "
        f"distinct sets\n"
        f"  phase 1, ours:     {facts['phase_1_seconds']:.3f} s (and "
        f"{facts['grouping_seconds']:.3f} s to group the items); sum of scales "
        f"{facts['sum_of_scales']:.4f}, certified within "
        f"{facts['gap']:.1e}\n"
        f"  general solver:    {facts['general_seconds']:.3f} s; sum of scales "
        f"{facts['general_sum_of_scales']:.4f}\n"
        f"  ratio:             {facts['ratio']:.1f} ({facts['ratio_with_grouping']:.1f} with the "
        f"grouping)\n"
        f"  one perturbation:  {facts['perturbation_seconds']:.3f} s at a mean scale of "
        f"{facts['mean_scale']:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=4)
    arguments = parser.parse_args()
    facts = measured(made_up(ITEMS, CATEGORIES, SETS), arguments.repeats)
    told("made up", facts)
    films = movielens()
    genres = None if films is None else measured(films, arguments.repeats)
    if genres is None:
        print("MovieLens: not measured, CROWDTALLY_DATA names no folder with its genres.")
    else:
        told("MovieLens", genres)
    versions = {name: version(name) for name in ("numpy", "cvxpy", "clarabel")}
    line = {"ratio": facts["ratio"], "made_up": facts, "movielens": genres, "versions": versions}
    print(json.dumps({**line, "python": platform.python_version()}))


if __name__ == "__main__":
    main()
