"""One of several processes that charge a shared ledger at once: ``racing.py URL REQUESTS``.

Waits for the end of its standard input, so that all begin together; prints how many of its requests
were granted and refused.
"""

from __future__ import annotations

import json
import sys

from crowdtally.ledger import Ledger, OverBudgetError
from kit.ledgers import USER, charge


def main(url: str, requests: int) -> dict[str, int]:
    counts = {"granted": 0, "refused": 0}
    with Ledger.open(url) as ledger:
        sys.stdin.read()
        for number in range(requests):
            try:
                made = ledger.reserve("data", USER, charge("1/7", release=f"release-{number}"))
                ledger.start_drawing(made.id)
                counts["granted"] += 1
            except OverBudgetError:
                counts["refused"] += 1
    return counts


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
