"""The oracle of equal behaviour: its digest names every kind of case, and a slip changes it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("method", "noise", "summary", "transform", "source", "engine")
SOURCES = {
    "csv", "tsv", "parquet", "glob", "duckdb-file", "sqlite", "postgres", "pandas", "polars",
    "pyarrow", "relation", "ibis", "stream", "spark-frame",
}  # fmt: skip
READERS = {
    "check", "describe", "top", "sum", "recommend", "special", "like", "changes", "top.csv",
    "top.xlsx", "top.parquet", "special.json", "report.html", "report.json", "entry.yaml",
    "croissant.json", "site",
}  # fmt: skip
FEWEST, FEWEST_QUICK = 3500, 700
"""Cases that there are at least."""


@pytest.fixture(scope="module", autouse=True)
def _tools() -> Iterator[None]:
    """The oracle is no part of the program: it stands in ``tools``."""
    sys.path.append(str(ROOT / "tools"))
    yield
    sys.path.remove(str(ROOT / "tools"))


def digest() -> list[tuple[str, str, str]]:
    lines = (ROOT / "tools" / "equal.txt").read_text(encoding="utf-8").splitlines()
    return [(name, hashed, kind) for name, hashed, kind in (line.split("\t") for line in lines)]


def released(quick: bool) -> list[dict[str, str]]:
    """What each release of the digest is made with."""
    scenes = {name.split(":")[0] for name, _, kind in digest() if not quick or kind == "quick"}
    words = [scene.split()[1:] for scene in scenes if scene.startswith("release ")]
    return [dict(zip(PARTS, one, strict=True)) for one in words]


def test_the_digest_is_well_formed() -> None:
    lines = digest()
    names = [name for name, _, _ in lines]
    assert names == sorted(set(names))
    assert all(re.fullmatch(r"[0-9a-f]{16}", hashed) for _, hashed, _ in lines)
    assert {kind for _, _, kind in lines} == {"quick", "whole"}
    assert len(lines) >= FEWEST
    assert sum(kind == "quick" for _, _, kind in lines) >= FEWEST_QUICK
    assert not [name for name in names if name.endswith("/ failed")]


def test_every_scene_has_its_cases() -> None:
    from same.every import scenes

    assert {name.split(" / ")[0] for name, _, _ in digest()} == {one.name for one in scenes()}


@pytest.mark.parametrize("quick", [False, True], ids=["whole", "quick"])
def test_every_name_that_may_be_typed_has_a_case(quick: bool) -> None:
    from same import seams

    made = released(quick)
    for part, known in seams.names().items():
        assert known <= {one[part] for one in made}, f"a {part} is in no case"


def test_every_method_summary_and_transform_is_counted_by_both_engines() -> None:
    from same import seams

    for engine in ("duckdb", "spark"):
        made = [one for one in released(False) if one["engine"] == engine]
        for part, known in seams.names().items():
            assert known <= {one[part] for one in made}, f"{engine} makes no case of a {part}"


def test_every_source_and_reader_has_a_case() -> None:
    assert {one["source"] for one in released(False)} == SOURCES
    for kinds in (("quick",), ("quick", "whole")):
        cases = {name.split(" / ")[-1] for name, _, kind in digest() if kind in kinds}
        assert cases >= READERS


def test_every_command_has_a_case() -> None:
    from same import seams

    told = {name.split(" / ")[1] for name, _, _ in digest() if name.startswith("helps / ")}
    assert told >= set(seams.commands())


# ---- that it is equal, and that a slip is seen -------------------------------------------------


def compared(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The oracle of a checkout, in a fresh process."""
    hidden = ("PYTHONPATH", "CROWDTALLY_SEARCH")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [sys.executable, str(root / "tools" / "equal.py"), *arguments],
        capture_output=True, text=True, check=False, env=environment, cwd=root,
    )  # fmt: skip


@pytest.mark.long
def test_what_the_program_says_is_what_it_said() -> None:
    ended = compared(ROOT, "--quick")
    assert ended.returncode == 0, ended.stdout + ended.stderr


SLIPS = {
    "values": ("core/hierarchy.py", "(left - right) / width", "(right - left) / width", "haar csv"),
    "laws": ("laws/laplace.py", "2 * (-rate * (width + 1)).exp()", "2 * (-rate * width).exp()",
             "laws"),
    "noise": ("noise/geometric.py", "draw(rate, n) - draw(rate, n))", "draw(rate, n))", "draws"),
    "budget": ("ledger/amounts.py", 'f"ε = {for_people(loss.epsilon)}"',
               'f"ε = {for_people(2 * loss.epsilon)}"', "ledger sequential sqlite"),
    "curator": ("curator/bounding/sampling.py", "limit=self.limit)", "limit=self.limit + 1)",
                "release sra laplace dense none csv duckdb: items"),
    "published": ("format/parse.py", "ensure_ascii=False", "ensure_ascii=True, sort_keys=True",
                  "release sra laplace dense none csv duckdb: items"),
    "estimation": ("inference/items.py", "kept = min(float(", "kept = 0.5 * min(float(",
                   "release sra laplace dense none csv duckdb: contexts"),
    "reader": ("reader/questions/noisy_sums.py", "value = sum(tables.total(path, question.rows)",
               "value = -sum(tables.total(path, question.rows)",
               "release sra laplace dense none csv duckdb: contexts"),
    "web": ("web/pages.py", "{grouped(low)} to {grouped(high)}",
            "{grouped(high)} to {grouped(low)}", "server"),
    "person": ("person/words.py", "So far nothing was drawn", "So far all was drawn",
               "person commands"),
    "lab": ("lab/metrics.py", "np.abs(errors(truth, estimate)).mean()",
            "np.abs(errors(truth, estimate)).max()", "lab compare"),
    "cli": ("cli/__init__.py", 'print(f"crowdtally: {spelled_out(words)}"',
            'print(f"crowdtaly: {spelled_out(words)}"', "refusals"),
}  # fmt: skip
"""One wrong line in each package, and the cases in which it shows."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program and the oracle, to be spoilt."""
    root = tmp_path_factory.mktemp("copy")
    for part in ("src", "tools"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tests").symlink_to(ROOT / "tests")
    return root


@pytest.mark.long
@pytest.mark.parametrize("package", SLIPS)
def test_a_slip_in_any_package_changes_the_digest(package: str, copy: Path) -> None:
    name, right, wrong, cases = SLIPS[package]
    path = copy / "src" / "crowdtally" / name
    before = path.read_text(encoding="utf-8")
    assert before.count(right) == 1, f"the slip in {name} no longer applies"
    try:
        path.write_text(before.replace(right, wrong), encoding="utf-8")
        ended = compared(copy, "--quick", "--only", cases)
        assert ended.returncode == 1, ended.stdout + ended.stderr
        assert "changed " in ended.stdout
    finally:
        path.write_text(before, encoding="utf-8")
