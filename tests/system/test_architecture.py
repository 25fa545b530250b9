"""What docs/architecture.md says about the code is so."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.reader import tables
from crowdtally.reader.questions import top
from crowdtally.records.duckdb import DuckDBEngine
from kit.pages import serving
from kit.stored import stored

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "crowdtally"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_CALLS = 8
IMPORT = ast.Import | ast.ImportFrom


def calls(tmp_path: Path, patch: pytest.MonkeyPatch) -> list[str]:
    """The calls from ``ct.release`` to the place where a record is kept or dropped."""
    found: list[list[str]] = []
    least = DuckDBEngine.least

    def watched(*given: object, **named: object) -> object:
        frames = [frame for frame in inspect.stack() if "crowdtally" in Path(frame.filename).parts]
        names = [
            f"{Path(frame.filename).parent.name}/{Path(frame.filename).stem}.{frame.function}"
            for frame in reversed(frames)
        ]
        found.append([*names, "records/duckdb.least"])
        return least(*given, **named)  # type: ignore[arg-type]

    patch.setattr(DuckDBEngine, "least", watched)
    rows = pa.table({"who": ["a", "b"], "item": ["x", "y"]})
    ct.release(
        ct.read(rows, user="who", item="item"), ct.Domain(["x", "y"]), epsilon=1,
        ledger=tmp_path / "ledger.sqlite", dataset="town", new_dataset=True, method=ct.SRA(10),
    )  # fmt: skip
    (only,) = found
    return only


def test_few_calls_lead_to_where_a_record_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = calls(tmp_path, monkeypatch)
    assert trace[0] == "crowdtally/api.release"
    assert len(trace) <= MOST_CALLS, trace
    printed = re.search(r"```text\n(crowdtally/api\.release.*?)\n```", TEXT, re.DOTALL)
    assert printed is not None, trace
    assert [line.split()[0] for line in printed[1].splitlines()] == trace


def stack() -> list[str]:
    """The calls of Crowdtally that led here, from the first one on."""
    frames = ((Path(frame.filename), frame.function) for frame in reversed(inspect.stack()))
    return [
        f"{path.parent.name}/{path.stem}.{function}"
        for path, function in frames
        if path.is_relative_to(SOURCE)
    ]


def printed(first: str) -> list[str]:
    """The calls that the map prints in the block that begins with this one."""
    found = re.search(rf"```text\n({re.escape(first)} .*?)\n```", TEXT, re.DOTALL)
    assert found is not None, first
    return [line.split()[0] for line in found[1].splitlines()]


def traced(patch: pytest.MonkeyPatch, module: object, name: str) -> list[list[str]]:
    """Collects the calls that lead to a function, each time that it is called."""
    found: list[list[str]] = []
    function = getattr(module, name)

    def watched(*given: object, **named: object) -> object:
        found.append(stack())
        return function(*given, **named)

    patch.setattr(module, name, watched)
    return found


def test_the_map_follows_a_top_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDTALLY_CACHE", "")  # else estimates are found, not made
    found = traced(monkeypatch, tables, "column")
    ct.load(stored("hpa")).top(3)
    assert found[0] == printed("reader/release.top")


def test_the_map_follows_a_served_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving([ct.load(stored("hpa"))]) as server:
        server.until_ready()
        found = traced(monkeypatch, top, "_of_table")
        assert server.ask("/r/hpa/top.json").status == 200
    assert found[0] == printed("web/server._work")


def test_the_map_is_short() -> None:
    assert len(TEXT.split()) <= 1_200


def test_every_folder_and_file_it_names_exists() -> None:
    named = set(re.findall(r"`((?:src|tests|docs|bench|research)/[\w./-]+)`", TEXT))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_package_is_on_the_map() -> None:
    packages = {path.parent.name for path in (ROOT / "src/crowdtally").glob("*/__init__.py")}
    assert [name for name in sorted(packages) if f"`{name}/`" not in TEXT] == []


# ---- what each folder says of itself -------------------------------------------------------------


FOLDERS = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)


def imported(folder: Path) -> set[str]:
    """The other packages of Crowdtally that modules of a folder import."""
    found = set[str]()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "crowdtally":
                found |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crowdtally."):
                found.add(str(node.module).split(".")[1])
    return found - {folder.relative_to(SOURCE).parts[0]}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_folder_says_what_lives_there_and_what_it_imports(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 30
    lines = dict(re.findall(r"- ([\w ]+): ((?:.|\n  )+)", text))
    first = re.findall(r"`([^`]+)`", lines["Read first"])
    assert first
    assert [name for name in first if not (folder / name).is_file()] == []
    assert imported(folder) <= set(re.findall(r"`(\w+)`", lines["May import"]))
    assert lines["Rule"]


# ---- figures that only go down -------------------------------------------------------------------


def lines_of(path: Path) -> tuple[int, int]:
    """How many lines a module has, and how many of them import."""
    text = path.read_text("utf-8")
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, IMPORT)]
    return text.count("\n"), sum((one.end_lineno or 0) - one.lineno + 1 for one in imports)


def test_the_house_does_not_grow(capsys: pytest.CaptureFixture[str]) -> None:
    """How many modules and lines there are: lower these figures when you can."""
    paths = {str(path.relative_to(SOURCE)): path for path in SOURCE.rglob("*.py")}
    lines, imports = map(sum, zip(*map(lines_of, paths.values()), strict=True))
    modules = [name for name in paths if not name.endswith("__init__.py")]
    folders = Counter(str(Path(name).parent) for name in modules)
    used = Counter(Path(name).name for name in modules)
    with capsys.disabled():
        print(f"\n{len(modules)} modules, {lines} lines, {imports} of them imports")
    assert len(modules) <= 254
    assert lines <= 62_650
    assert imports <= 4_480
    assert max(folders.values()) <= 15, folders.most_common(3)
    assert max(used.values()) <= 4, used.most_common(3)


def test_the_tests_do_not_grow() -> None:
    """A folder of tests for each folder of the source, and few files in it."""
    tests = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "research" / "tests").rglob("*.py")]
    assert len(tests) <= 300
