"""A self-test of the installation: each part once, end to end, on made-up records."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from crowdtally.core.domain import Domain
from crowdtally.curator.request.declare import read_list
from crowdtally.facade import read, release
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.release import load


def run() -> dict[str, str | None]:
    """Each check's name, with None where it passed and a sentence where it did not."""
    with tempfile.TemporaryDirectory(prefix="crowdtally-check-") as name:
        folder = Path(name)
        checks: dict[str, Callable[[Path], None]] = {
            "exact noise": _noise,
            "release, charge and reading back": _release,
        }
        return {name: _outcome(check, folder) for name, check in checks.items()}


def _outcome(check: Callable[[Path], None], folder: Path) -> str | None:
    try:
        check(folder)
    except Exception as error:  # whatever it is, it is the finding
        return f"{type(error).__name__}: {error}"
    return None


def _noise(_: Path) -> None:
    drawn = SystemDraws().laplace(Fraction(10), 10_000)
    # Both bounds are twelve standard errors and more away from the truth.
    if not (abs(float(drawn.mean())) < 2 and 10 < float(drawn.std()) < 18):
        raise ValueError("the noise does not follow its law")


def _release(folder: Path) -> None:
    lines = [f"{user},{item}" for user in range(50) for item in ("a", "b")]
    (folder / "records.csv").write_text("user,item\n" + "\n".join(lines) + "\n")
    (folder / "items.csv").write_text("item\na\nb\nc\n")
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    made = release(
        read(folder / "records.csv", user="user", item="item"),
        Domain(read_list(folder / "items.csv", "item")),
        epsilon=100, max_records=2, ledger=ledger, new_dataset=True, output=folder / "release",
    )  # fmt: skip
    counts = {row.item: row.count or 0 for row in load(made.folder).top(3)}
    if not (abs(counts["a"] - 50) < 5 and abs(counts["c"]) < 5):
        raise ValueError("the released counts are not the records' counts")
    ledger.verify()
