"""How much of each claim an attack can prove: the certified epsilon over the claim, at epsilon 1.

Every bounding with every cell published, with a filter and with a filter-priority sample, and every
transform, on made-up databases. A ratio above 1 refutes the claim. One near 1 says that the noise
is no larger than it has to be, and that the attack would see little more being lost.
"""

from __future__ import annotations

import argparse
import json
import time

from crowdtally.curator.bounding import BOUNDINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.lab.auditing.attack import audit_methods
from crowdtally.lab.auditing.cases import every_name
from crowdtally.lab.auditing.certify import Row
from crowdtally.lab.methods import Method

PUBLISHINGS = ("dense", "filter", "filter-priority")


def names() -> list[str]:
    """The methods that are measured."""
    wanted = [f"{rule}/{form}" for rule in BOUNDINGS for form in PUBLISHINGS]
    wanted += [f"sra/{one}/{form}" for one in TRANSFORMS if one != "none" for form in PUBLISHINGS]
    offered = set(every_name())
    return [name for name in (str(Method.of(one)) for one in wanted) if name in offered]


def summary(rows: dict[str, Row]) -> dict[str, float]:
    """The least and the largest ratio."""
    ratios = {name: row.ratio for name, row in rows.items()}
    dense = [ratio for name, ratio in ratios.items() if Method.of(name).publishing == "dense"]
    return {
        "least_dense": round(min(dense), 3),
        "least": round(min(ratios.values()), 3),
        "most": round(max(ratios.values()), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", default="40", help="for each row")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    start = time.perf_counter()
    found = audit_methods(names(), 1, arguments.seconds, arguments.processes, print, parts=False)
    taken = time.perf_counter() - start
    for line in found.lines():
        print(line)
    result: dict[str, object] = dict(summary({row.name: row for row in found.rows}))
    print(json.dumps(result | {"rows": len(found.rows), "seconds": round(taken, 1)}))


if __name__ == "__main__":
    main()
