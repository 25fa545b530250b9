"""Which tests belong to a file of the source: ``python tools/near.py src/crowdtally/…/x.py``.

Its doctests, the tests of its own name or folder, and those that must notice its mutants, one in a
line. ``make near FILE=…`` runs them.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE, TESTS = "src/crowdtally", "tests"


def own_tests(file: str) -> list[str]:
    """Return the test file named after a module, else those of its folder that import it."""
    module = Path(file).relative_to(SOURCE)
    folder = ROOT / TESTS / module.parent
    for name in (f"{module.stem}.py", f"{module.parent.name}.py"):
        for place in (folder, folder.parent):
            if (place / f"test_{name}").is_file():
                return [str((place / f"test_{name}").relative_to(ROOT))]
    while not folder.is_dir():
        folder = folder.parent
    dotted = ".".join((Path(SOURCE).name, *module.with_suffix("").parts))
    all_of_it = sorted(folder.glob("test_*.py"))
    using = [path for path in all_of_it if dotted in path.read_text(encoding="utf-8")]
    return [str(path.relative_to(ROOT)) for path in using or all_of_it]


def tests_of_mutants(file: str) -> list[str]:
    """Return the tests that must notice a wrong line of the file."""
    found: dict[str, None] = {}
    for path in sorted((ROOT / TESTS / "mutants").glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            if entry["file"] == file:
                found |= dict.fromkeys(entry["tests"])
    return list(found)


def near(file: str) -> list[str]:
    """Return what to hand to pytest: the file's doctests, its tests, those of its mutants."""
    own = own_tests(file)
    beside = [test for test in tests_of_mutants(file) if test.partition("::")[0] not in own]
    return [file, *own, *beside]


def main(arguments: list[str]) -> int:
    """Print the tests of the one file that is named."""
    if len(arguments) != 1 or not (ROOT / arguments[0]).is_file():
        print(f"Name one file: make near FILE={SOURCE}/ledger/chain.py", file=sys.stderr)
        return 2
    file = str(Path(arguments[0]).resolve().relative_to(ROOT))
    if not file.startswith(SOURCE) or not file.endswith(".py"):
        print(f"{file} is no Python file of {SOURCE}", file=sys.stderr)
        return 2
    print("\n".join(near(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
