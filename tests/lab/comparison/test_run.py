"""Runs of a comparison: in processes, stored, gone on with, and summarised."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally import lab
from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.request.request import make_subject
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.lab.comparison import run
from crowdtally.lab.comparison.advice import lines
from crowdtally.lab.comparison.compare import Question, compared, summaries_of
from crowdtally.lab.comparison.plan import DENSE
from crowdtally.lab.comparison.run import Bench, Folder, Outcome, Task, Unit, check_folder
from crowdtally.lab.comparison.summary import Setting, typed
from crowdtally.lab.processes import Worker, answer
from kit.command import crowdtally

# ---- Processes of a comparison: one that dies, and a person who stops them all -------------------


USED = {"epsilon": 1, "methods": "sra", "max_records": [1, 2], "runs": 4}


def _runs(folder: Path) -> dict[str, bytes]:
    found = (folder / "runs").iterdir() if (folder / "runs").is_dir() else iter(())
    return {file.name: file.read_bytes() for file in found if file.suffix == ".json"}


def test_a_process_that_dies_loses_only_its_task(
    records: Records, domain: ct.Domain, tmp_path: Path
) -> None:
    """Two processes, one of which is killed at the first outcome."""
    processes: list[subprocess.Popen[str]] = []
    real_start, real_keep = Worker.__init__, run.Outcome.of

    def started(worker: Worker, *given: object) -> None:
        real_start(worker, *given)  # type: ignore[arg-type]
        processes.append(worker.process)

    def killing(told: object) -> Outcome:
        for process in processes:
            process.kill()
        return real_keep(told)  # type: ignore[arg-type]

    folder = tmp_path / "cmp"
    with (
        mock.patch.object(Worker, "__init__", started),
        mock.patch.object(run.Outcome, "of", killing),
        pytest.raises(CrowdtallyError, match=r"ended by signal 9.*the same command goes on"),
    ):
        lab.compare(records, domain, jobs=2, output=folder, **USED)
    assert len(processes) == 2
    assert all(process.poll() is not None for process in processes)
    kept = _runs(folder)
    assert 1 <= len(kept) < 4
    ran: list[str] = []
    real_run = Bench.run

    def noted(bench: Bench, task: Task) -> list[Outcome]:
        ran.extend(f"{u.setting.max_records}-k{u.key}" for u in task.units)
        return real_run(bench, task)

    with (
        mock.patch.object(Bench, "run", noted),
        mock.patch("crowdtally.lab.comparison.compare.write"),
    ):
        frame = lab.compare(records, domain, jobs=1, output=folder, **USED)
    assert len(ran) == len(set(ran)) == 4 - len(kept)
    assert _runs(folder).items() >= kept.items()
    assert len(_runs(folder)) == 4
    assert set(frame[frame.metric == "mae"]["runs"]) == {4}


def test_a_failure_in_a_process_is_told_in_words_without_a_value() -> None:
    def failing(error: Exception) -> None:
        raise error

    told = answer(failing, ValueError("visitor-99"))
    assert told == {"failed": "an unforeseen failure (ValueError)."}
    assert answer(failing, CrowdtallyError("the disk is full.")) == {"failed": "the disk is full."}


def _words(visits: Path, folder: Path) -> list[str]:
    return [
        "lab", "compare", str(visits), "--user", "who", "--item", "place", "--items",
        str(visits.parent / "places.csv"), "--epsilon", "1", "-o", str(folder), "--methods",
        "sra", "--max-records", "1,2",
    ]  # fmt: skip


def test_an_interrupted_comparison_goes_on(visits: Path, tmp_path: Path) -> None:
    """A real program with two processes, interrupted as a terminal does: the whole group."""
    (visits.parent / "places.csv").write_text("place\nbar\ncafe\npark\npier\nzoo\n")
    folder, scratch = tmp_path / "cmp", tmp_path / "scratch"
    scratch.mkdir()
    words = [*_words(visits, folder), "--runs", "400", "--jobs", "2"]
    program = subprocess.Popen(
        [sys.executable, "-m", "crowdtally", *words], stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    deadline = time.monotonic() + 300
    while len(_runs(folder)) < 3 and time.monotonic() < deadline and program.poll() is None:
        time.sleep(0.02)
    os.killpg(program.pid, signal.SIGINT)
    shown, said = program.communicate(timeout=300)
    assert program.returncode == 130, said
    assert shown == ""
    assert said.startswith("NOT PRIVATE")
    kept = _runs(folder)
    assert f"interrupted: {len(kept)} finished parts are kept in {folder}" in said
    assert "The same command goes on from there" in said
    assert "ledger" not in said
    assert "Traceback" not in said
    assert not list(scratch.iterdir())
    with pytest.raises(ProcessLookupError):
        os.killpg(program.pid, 0)  # nobody of the group is left
    assert 3 <= len(kept) < 200
    with mock.patch("crowdtally.lab.comparison.compare.write"):
        ended = crowdtally(*_words(visits, folder), "--runs", "4", "--jobs", "1", "--json")
    assert ended.code == 0, str(ended)
    found = json.loads(ended.out)
    errors = [row for row in found["rows"] if row["metric"] == "mae"]
    assert [row["runs"] for row in errors] == [4] * 2
    assert _runs(folder).items() >= kept.items()


# ---- A comparison's folder: whole files, and never runs of other records or settings -------------


DATA = {"records": 7, "users": 3, "digest": "ab"}
SETTINGS = {"count": "records", "cap": "5"}
UNIT = Unit(Setting("sra/filter", "1/3", 10), 0)
OUTCOME = Outcome(UNIT, ((("items", "mae", None, 0.5), ("items", "precision", 3, 1.0)),) * 2)


def _open(path: Path) -> Folder:
    return Folder.open(path, DATA, SETTINGS)


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    folder = _open(tmp_path / "cmp")
    assert folder.outcome(UNIT) is None
    folder.keep(OUTCOME)
    again = _open(tmp_path / "cmp")
    assert again.outcome(UNIT, 2) == OUTCOME
    assert (again.seed, again.started) == (folder.seed, folder.started)
    assert again.outcome(Unit(UNIT.setting, 1)) is None
    assert again.outcome(Unit(Setting("sra/filter", "3", 10), 0)) is None


def test_fewer_noises_than_asked_for_are_not_enough(tmp_path: Path) -> None:
    folder = _open(tmp_path / "cmp")
    folder.keep(OUTCOME)
    assert folder.outcome(UNIT, 3) is None
    assert [one.runs for one in summaries_of([OUTCOME], 1)] == [1, 1]


def test_a_damaged_unit_is_run_again(tmp_path: Path) -> None:
    folder = _open(tmp_path / "cmp")
    folder.keep(OUTCOME)
    (file,) = (tmp_path / "cmp" / "runs").iterdir()
    for damage in (b"", file.read_bytes()[:50], b"[]", b'{"unit": 1}'):
        file.write_bytes(damage)
        assert folder.outcome(UNIT) is None


def test_each_folder_draws_its_own_keys(tmp_path: Path) -> None:
    assert _open(tmp_path / "a").seed != _open(tmp_path / "b").seed


def test_a_folder_of_other_data_is_refused_and_left(tmp_path: Path) -> None:
    _open(tmp_path / "cmp").keep(OUTCOME)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.json")}
    with pytest.raises(UsageError, match=r"other data.*7 of 3 there and are 8 of 3 here.*-o DIR"):
        Folder.open(tmp_path / "cmp", {**DATA, "records": 8, "digest": "cd"}, SETTINGS)
    with pytest.raises(UsageError, match=r"other data.*as many records and users"):
        Folder.open(tmp_path / "cmp", {**DATA, "digest": "cd"}, SETTINGS)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.json")} == before


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({**SETTINGS, "cap": "6"}, "cap: 5 there, 6 here"),
        ({"count": "records"}, "cap: 5 there, not given here"),
        ({**SETTINGS, "size": "1"}, "size: not given there, 1 here"),
    ],
)
def test_a_folder_with_other_settings_is_refused(
    tmp_path: Path, settings: dict[str, str], words: str
) -> None:
    _open(tmp_path / "cmp")
    with pytest.raises(UsageError, match=words):
        Folder.open(tmp_path / "cmp", DATA, settings)


def test_places_that_are_not_free_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "release.json").write_text("{}")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "compare.json").write_text('{"seed": 1}')
    for place, words in {
        "file": "is a file",
        "full": "holds other things",
        "release": "lies in the release",
        "release/inside": "lies in the release",
        "no/such": "there is no folder",
    }.items():
        with pytest.raises(UsageError, match=words):
            check_folder(tmp_path / place)
    with pytest.raises(UsageError, match="damaged"):
        _open(tmp_path / "damaged")
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty")


def test_every_file_says_that_it_is_not_private(tmp_path: Path) -> None:
    _open(tmp_path / "cmp").keep(OUTCOME)
    files = list((tmp_path / "cmp").rglob("*.json"))
    assert len(files) == 2
    for file in files:
        assert next(iter(json.loads(file.read_bytes()))) == "warning"
        assert b"NOT PRIVATE" in file.read_bytes()[:40]


def test_what_was_kept_first_stays(tmp_path: Path) -> None:
    """Two processes with one folder show the same numbers: those that are there."""
    folder = _open(tmp_path / "cmp")
    folder.keep(OUTCOME)
    folder.keep(Outcome(UNIT, ((("items", "mae", None, 9.0),),) * 2))
    assert folder.outcome(UNIT) == OUTCOME
    longer = Outcome(UNIT, ((("items", "mae", None, 9.0),),) * 3)
    folder.keep(longer)
    assert folder.outcome(UNIT) == longer


@pytest.mark.parametrize("links", [True, False])
def test_of_two_that_begin_at_once_the_first_has_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Another process, of other data, made the manifest after we found none."""
    begin = run._begin

    def late(manifest: Path, data: dict[str, object], settings: dict[str, object]) -> None:
        begin(manifest, {**DATA, "digest": "cd"}, SETTINGS)
        begin(manifest, data, settings)

    def no_links(*paths: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if links:
        monkeypatch.setattr(run, "_begin", late)
        with pytest.raises(UsageError, match="other data"):
            _open(tmp_path / "cmp")
    else:
        monkeypatch.setattr(os, "link", no_links)
        assert _open(tmp_path / "cmp").seed == _open(tmp_path / "cmp").seed
    assert [path.name for path in (tmp_path / "cmp").iterdir()] == ["compare.json"]


def test_a_full_disk_names_the_file_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _open(tmp_path / "cmp")

    def full(path: Path, text: str, encoding: str) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*sra_filter-l10-e1_3-k0\.json'"):
        folder.keep(OUTCOME)
    assert list((tmp_path / "cmp" / "runs").iterdir()) == []


@pytest.mark.parametrize(
    "damage",
    [{"seed": "x"}, {"started": "2"}, {"started": 2}, {"data": [1]}, {"settings": "a"}],
)
def test_a_manifest_with_other_fields_is_damaged(tmp_path: Path, damage: dict[str, object]) -> None:
    _open(tmp_path / "cmp")
    manifest = tmp_path / "cmp" / "compare.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes()) | damage))
    with pytest.raises(UsageError, match="is damaged, or of something else"):
        _open(tmp_path / "cmp")


# ---- Means and standard errors, by hand ----------------------------------------------------------


SETTING = Setting("sra", "1", 10)


def _outcome(key: int, *runs: float, metric: str = "mae") -> Outcome:
    return Outcome(Unit(SETTING, key), tuple((("items", metric, None, value),) for value in runs))


def test_the_standard_error_is_that_of_the_keys_means() -> None:
    runs = [[1.0, 3.0], [4.0, 6.0], [8.0, 8.0]]
    (one,) = summaries_of((_outcome(key, *values) for key, values in enumerate(runs)), 2)
    # The keys' means are 2, 5 and 8: their deviation is 3, over the root of 3 keys.
    assert one.mean == pytest.approx(5)
    assert one.standard_error == pytest.approx(3 / math.sqrt(3))
    assert (one.keys, one.runs) == (3, 6)
    # From the six runs as if they were independent it would be another number.
    assert one.standard_error != pytest.approx(1.15, abs=0.05)


def test_each_number_has_its_own_summary() -> None:
    numbers = {"mae": (1, 3), "mse": (5, 5)}
    found = summaries_of(
        (
            _outcome(key, values[key], metric=metric)
            for metric, values in numbers.items()
            for key in (0, 1)
        ),
        1,
    )
    assert [(one.metric, one.mean, one.standard_error) for one in found] == [
        ("mae", 2, pytest.approx(1)),
        ("mse", 5, 0),
    ]


def test_one_key_has_no_standard_error() -> None:
    (one,) = summaries_of([_outcome(0, 1, 2)], 2)
    assert math.isnan(one.standard_error)


# ---- ``auto`` among the methods that are compared, judged by the reader's estimates --------------


ITEMS = 30


def records() -> tuple[Records, Domain]:
    rng = np.random.default_rng(1)
    users = np.repeat(np.arange(2_000), 8)
    items = (ITEMS * rng.random(len(users)) ** 2).astype(np.int64)
    table = pa.table({"user": users, "item": items, "day": np.array(["x", "y"])[users % 2]})
    read = ct.read(table, user="user", item="item", contexts=["day"])
    return read, ct.Domain(range(ITEMS), {"day": ["x", "y"]})


def test_auto_is_compared_by_what_a_reader_estimates(tmp_path: Path) -> None:
    question = Question.of(
        epsilon=1, methods="auto,sra", max_records=1, runs=2, jobs=1,
        fields={"aim": "top", "context_per_user": "day"},
    )  # fmt: skip
    found = compared(make_subject(*records()), question, tmp_path, called="here")
    by_table = {(one.setting.method, one.table, one.metric): one for one in found.summaries}
    for table in ("items", "edges"):
        auto, sra = (by_table[method, table, "mae"] for method in ("auto", "sra"))
        assert auto.setting.max_records is None
        assert auto.runs == sra.runs == 2
        assert 0 < auto.mean < sra.mean, "estimates are of all records"
    shown = [line.split()[:2] for line in lines(found.summaries, found.facts)]
    assert ["auto", "own"] in shown
    assert typed(Setting("auto", "1"), found.facts) == "--method auto:aim=top,context-per-user=day"


def test_auto_is_the_first_method_where_none_is_named() -> None:
    assert DENSE[0] == "auto"


def test_no_other_method_takes_what_auto_is_told() -> None:
    with pytest.raises(UsageError, match="no method that is compared has a field aim"):
        ct.lab.compare(*records(), epsilon=1, methods="sra", runs=2, jobs=1, aim="top")


# ---- Processes of the lab end with whoever started them ------------------------------------------


def _wait(passes: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 300
    while not passes():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"  # only its entry is left


def test_a_process_in_the_middle_of_long_work_does_not_outlive_its_program(tmp_path: Path) -> None:
    """The program is killed outright, so that it can end nobody itself."""
    program = "from kit.processes import main; main()"
    paths = os.pathsep.join(path for path in sys.path if path)
    started = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], env={**os.environ, "PYTHONPATH": paths}
    )
    try:
        assert _wait((tmp_path / "pid").is_file)
        worker = int((tmp_path / "pid").read_text())
        assert not _is_gone(worker)
    finally:
        started.kill()
        started.wait()
    assert _wait(lambda: _is_gone(worker))
