"""Exact discrete Laplace noise: draws per second, beside OpenDP's sampler of the same law.

Both draw integers at scale 10 in one process, one thread. Imports and tables are built before the
clock starts; what that took is printed. The best of several repeats counts, since whatever else the
machine does only ever slows a run down. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version

SCALE = 10


def best(run: Callable[[], object], repeats: int) -> float:
    """The shortest time of ``repeats`` runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def ours(draws: int, repeats: int) -> dict[str, float]:
    """Seconds to import, to build the tables, and draws per second."""
    start = time.perf_counter()
    from crowdtally.noise.laplace import discrete_laplace
    from crowdtally.noise.source import system_words

    imported = time.perf_counter()
    source = system_words()
    discrete_laplace(Fraction(SCALE), 1, source)
    built = time.perf_counter()
    seconds = best(lambda: discrete_laplace(Fraction(SCALE), draws, source), repeats)
    return {"import": imported - start, "build": built - imported, "per_second": draws / seconds}


def opendp(draws: int, repeats: int) -> dict[str, float]:
    """The same for OpenDP's ``make_laplace`` over vectors of integers."""
    start = time.perf_counter()
    import opendp.prelude as dp

    imported = time.perf_counter()
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measurement = dp.m.make_laplace(*space, scale=float(SCALE))
    zeros = [0] * draws
    measurement(zeros[:10])
    built = time.perf_counter()
    seconds = best(lambda: measurement(zeros), repeats)
    return {"import": imported - start, "build": built - imported, "per_second": draws / seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10**6)
    parser.add_argument("--opendp-draws", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()

    rows = {
        "crowdtally": ours(options.draws, options.repeats),
        "opendp": opendp(options.opendp_draws, options.repeats),
    }
    print(f"exact discrete Laplace noise, integers, scale {SCALE}, one thread")
    print(f"{'':12}{'version':>9}{'import s':>10}{'build s':>10}{'draws/s':>14}")
    for name, row in rows.items():
        numbers = f"{row['import']:>10.3f}{row['build']:>10.4f}{row['per_second']:>14,.0f}"
        print(f"{name:12}{version(name):>9}{numbers}")
    ratio = rows["crowdtally"]["per_second"] / rows["opendp"]["per_second"]
    print(f"ratio {ratio:,.0f} (wanted: at least 40)")
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
                "scale": SCALE,
                "versions": {
                    "python": platform.python_version(),
                    **{name: version(name) for name in ("crowdtally", "opendp", "numpy")},
                },
            }
        )
    )


if __name__ == "__main__":
    main()
