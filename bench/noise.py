"""Exact discrete noise: draws per second, beside OpenDP's sampler of the same law.

Laplace (the default) or Gaussian integers at scale 10, in one process, one thread; for Gaussian
noise a scale is the deviation, and a table of other scales follows. Imports and tables are built
before the clock starts; what that took is printed. The best of several repeats counts, since
whatever else the machine does only ever slows a run down. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import timeit
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from typing import Any

SCALE = 10
OTHERS = (1, 100, 1000, 10**6, 10**12)
"""Scales of the table."""


def best(run: Callable[[], object], repeats: int) -> float:
    """The shortest time of ``repeats`` runs, in seconds."""
    return min(timeit.repeat(run, number=1, repeat=repeats))


def ours(law: str, scale: int, draws: int, repeats: int) -> dict[str, float]:
    """Seconds to import, to build the tables, and draws per second."""
    start = time.perf_counter()
    from crowdtally.noise.draws import SystemDraws

    imported = time.perf_counter()
    source = SystemDraws()

    def run(size: int) -> object:
        if law == "gaussian":
            return source.gaussian(Fraction(scale) ** 2, size)
        return source.laplace(Fraction(scale), size)

    run(1)
    built = time.perf_counter()
    seconds = best(lambda: run(draws), repeats)
    return {"import": imported - start, "build": built - imported, "per_second": draws / seconds}


def opendp(law: str, scale: int, draws: int, repeats: int) -> dict[str, float]:
    """The same for OpenDP's ``make_laplace`` or ``make_gaussian`` over vectors of integers."""
    start = time.perf_counter()
    import opendp.prelude as dp

    imported = time.perf_counter()
    dp.enable_features("contrib")
    vectors = dp.vector_domain(dp.atom_domain(T=int))
    made: Any
    if law == "gaussian":
        made = dp.m.make_gaussian(vectors, dp.l2_distance(T=float), scale=float(scale))
    else:
        made = dp.m.make_laplace(vectors, dp.l1_distance(T=int), scale=float(scale))
    zeros = [0] * draws
    made(zeros[:10])
    built = time.perf_counter()
    seconds = best(lambda: made(zeros), repeats)
    return {"import": imported - start, "build": built - imported, "per_second": draws / seconds}


def show(rows: dict[str, dict[str, float]]) -> float:
    """Print both rows, and return their ratio."""
    print(f"{'':12}{'version':>9}{'import s':>10}{'build s':>10}{'draws/s':>14}")
    for name, row in rows.items():
        numbers = f"{row['import']:>10.3f}{row['build']:>10.4f}{row['per_second']:>14,.0f}"
        print(f"{name:12}{version(name):>9}{numbers}")
    ratio = rows["crowdtally"]["per_second"] / rows["opendp"]["per_second"]
    print(f"ratio {ratio:,.0f} (wanted: at least 40)")
    return ratio


def others(options: argparse.Namespace) -> dict[str, float]:
    """The ratios at other scales, printed line by line."""
    found = {}
    print(f"{'scale':>16}{'build s':>10}{'draws/s':>14}{'OpenDP':>12}{'ratio':>8}")
    for scale in OTHERS:
        mine = ours(options.law, scale, options.draws, options.repeats)
        theirs = opendp(options.law, scale, options.opendp_draws, options.repeats)["per_second"]
        found[str(scale)] = mine["per_second"] / theirs
        print(
            f"{scale:>16,}{mine['build']:>10.4f}{mine['per_second']:>14,.0f}{theirs:>12,.0f}"
            f"{found[str(scale)]:>8,.0f}"
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--law", choices=["laplace", "gaussian"], default="laplace")
    parser.add_argument("--draws", type=int, default=10**6)
    parser.add_argument("--opendp-draws", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()

    rows = {
        "crowdtally": ours(options.law, SCALE, options.draws, options.repeats),
        "opendp": opendp(options.law, SCALE, options.opendp_draws, options.repeats),
    }
    named = {"laplace": "Laplace", "gaussian": "Gaussian"}[options.law]
    print(f"exact discrete {named} noise, integers, scale {SCALE}, one thread")
    ratio = show(rows)
    more = {"ratios": others(options)} if options.law == "gaussian" else {}
    print(
        json.dumps(
            {
                "ratio": ratio,
                "crowdtally_draws_per_second": rows["crowdtally"]["per_second"],
                "opendp_draws_per_second": rows["opendp"]["per_second"],
                "crowdtally_build_seconds": rows["crowdtally"]["build"],
                "opendp_build_seconds": rows["opendp"]["build"],
                "draws": options.draws,
                "opendp_draws": options.opendp_draws,
                "law": options.law,
                "scale": SCALE,
                **more,
                "versions": {
                    "python": platform.python_version(),
                    **{name: version(name) for name in ("crowdtally", "opendp", "numpy")},
                },
            }
        )
    )


if __name__ == "__main__":
    main()
