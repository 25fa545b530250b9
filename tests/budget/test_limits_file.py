"""Limits in a file that only an officer can write: they hold, and no bad file is "no limit"."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget.ledger_kit import HERE, NOBODY, USER, PostgresServer, charge, memory, skip
from crowdtally.budget import (
    Asked,
    Charge,
    Ledger,
    LedgerError,
    LimitSet,
    LimitsFile,
    Loss,
    NotAllowedError,
    OverBudgetError,
    Part,
    TooMuchAtOnceError,
)
from crowdtally.budget.limits.limits_file import LONGEST, read_limits
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.values.epsilon import Delta, Rho

LIMITS = """\
[visits]
epsilon = "2"
delta = "1e-6"
each_epsilon = 0.5
reason = "approved by the board"

["taxi.csv"]
epsilon = "1/3"
reason = "a trial"
"""


class Office:
    """An officer's folder with a limits file, and a ledger in a folder that all may write."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.closed, self.shared = folder / "officer", folder / "shared"
        self.closed.mkdir(mode=0o755)
        self.shared.mkdir()
        self.shared.chmod(0o777)
        self.file = self.closed / "limits.toml"
        self.location = self.shared / "ledger.sqlite"
        self.write(LIMITS)
        self.ledger = Ledger.open(self.location, create=True)
        self.location.chmod(0o666)

    def write(self, text: str | bytes) -> str:
        """Replace the file, in one step; its SHA-256."""
        new = self.file.with_suffix(".new")
        content = text.encode() if isinstance(text, str) else text
        new.write_bytes(content)
        new.chmod(0o644)
        new.replace(self.file)
        return sha256(content).hexdigest()

    def start(self) -> Ledger:
        """Use the file, with the dataset visits made."""
        self.ledger.use_limits_file(self.file, reason="the board's rules")
        self.ledger.create("visits", USER)
        return self.ledger

    def analyst(self, *attempts: tuple[str, dict[str, Any]]) -> list[Any]:
        """What becomes of these calls by an account that cannot write the file."""
        if os.getuid() != 0:
            skip("only root can drop its rights")
        paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, str(HERE / "analyst.py"), str(self.location)],
            input=json.dumps(attempts), capture_output=True, text=True, check=False, timeout=120,
            env={**os.environ, "PYTHONPATH": paths, "USER": "root", "LOGNAME": "root"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout))


@pytest.fixture
def office() -> Iterator[Office]:
    with tempfile.TemporaryDirectory(dir=memory()) as name:
        yield Office(Path(name))


def limits_set(ledger: Ledger) -> list[LimitSet]:
    return [e.event for e in ledger.entries() if isinstance(e.event, LimitSet)]


def test_the_limits_of_the_file_hold(office: Office) -> None:
    ledger = office.start()
    assert ledger.check("visits", USER, "0.5").limit == Loss(Fraction(2), Fraction(1, 10**6))
    for attempt in (
        lambda: ledger.check("visits", USER, "0.51"),
        lambda: ledger.reserve("visits", USER, charge("0.51")),
    ):
        with pytest.raises(TooMuchAtOnceError):
            attempt()
    for _ in range(4):
        ledger.reserve("visits", USER, charge("0.5"))
    with pytest.raises(OverBudgetError):
        ledger.reserve("visits", USER, charge("1e-9"))
    assert ledger.balance("visits").spent == Loss(Fraction(2))
    assert ledger.verify().ok


def test_the_hash_is_in_the_chain_before_the_charge(office: Office) -> None:
    ledger, first = office.start(), sha256(LIMITS.encode()).hexdigest()
    ledger.reserve("visits", USER, charge("0.5"))
    second = office.write(LIMITS.replace('"2"', "1").replace("board", "new board"))
    ledger.reserve("visits", USER, charge("0.1"))
    ledger.reserve("visits", USER, charge("0.1"))  # nothing new: no entry
    kinds = [entry.event.kind for entry in ledger.entries()]
    assert kinds == [
        "limits-file", "created", "limit", "reserved", "limit", "reserved", "reserved",
    ]  # fmt: skip
    assert [event.file for event in limits_set(ledger)] == [first, second]
    assert [event.reason for event in limits_set(ledger)] == [
        "approved by the board", "approved by the new board",
    ]  # fmt: skip
    assert [entry.balance.limits_file for entry in ledger.entries("visits")][1:] == [
        first, first, second, second, second,
    ]  # fmt: skip
    assert ledger.verify().ok
    assert ledger.datasets() == [ledger.balance("visits")]


def test_a_comment_is_another_file(office: Office) -> None:
    ledger = office.start()
    digest = office.write(f"# read on Monday\n{LIMITS}")
    ledger.reserve("visits", USER, charge("0.5"))
    assert limits_set(ledger)[-1].file == digest


def test_lowered_below_what_was_spent(office: Office) -> None:
    ledger = office.start()
    ledger.reserve("visits", USER, charge("0.5"))
    office.write(LIMITS.replace('"2"', "0.25"))
    head = ledger.head()
    for attempt in (
        lambda: ledger.check("visits", USER, "0.01"),
        lambda: ledger.reserve("visits", USER, charge("0.01")),
    ):
        with pytest.raises(OverBudgetError, match="used up"):
            attempt()
    assert ledger.head() == head
    office.write(LIMITS.replace('"2"', "3"))
    ledger.reserve("visits", USER, charge("0.5"))
    assert ledger.balance("visits").limit == Loss(Fraction(3), Fraction(1, 10**6))


def test_a_charge_that_was_taken_up_again_and_runs_go_on_without_the_file(office: Office) -> None:
    """What was charged is charged; only another charge needs the file."""
    ledger = office.start()
    made = ledger.reserve("visits", USER, charge("0.5"), asked=Asked(request_id="monday"))
    office.file.unlink()
    again = ledger.reserve("visits", USER, charge("0.5"), asked=Asked(request_id="monday"))
    assert again.id == made.id
    ledger.start_drawing(made.id)
    ledger.mark_published(made.id, "5a" * 32)
    assert ledger.charges()[0].state == "published"


def test_datasets_that_exist_get_the_limits_at_once(office: Office) -> None:
    ledger = office.ledger
    ledger.create("visits", USER, epsilon=9)
    ledger.create("other", USER, epsilon=9)
    file = ledger.use_limits_file(office.file, reason="the board's rules")
    assert ledger.balance("visits").limit == file.datasets["visits"].total
    assert ledger.balance("visits").each == Loss(Fraction(1, 2), Fraction(1, 10**6))
    with pytest.raises(UsageError, match="'other' is not in the limits file"):
        ledger.reserve("other", USER, charge(1))
    assert "does not list 'other'" in str(ledger.limits_file_notice())


def test_what_the_file_does_not_list(office: Office) -> None:
    ledger = office.start()
    head = ledger.head()
    for attempt in (
        lambda: ledger.reserve("visit", USER, charge("0.1"), new_dataset=True),
        lambda: ledger.check("visit", USER, "0.1", new_dataset=True),
        lambda: ledger.create("visit", USER, epsilon="0.1"),
    ):
        with pytest.raises(UsageError, match="Did you mean 'visits'") as refused:
            attempt()
        assert "ask whoever keeps the file" in str(refused.value)
    assert ledger.head() == head


def test_new_datasets_take_their_limits_from_the_file(office: Office) -> None:
    ledger = office.start()
    third = Loss(Fraction(1, 3))
    for wrong in ({"epsilon": 1}, {"epsilon": "1/3", "each_epsilon": 1}):
        with pytest.raises(UsageError, match=r"limits of dataset 'taxi.csv' are in .*limits.toml"):
            ledger.create("taxi.csv", USER, **wrong)  # type: ignore[arg-type]
    assert ledger.names() == ["visits"]
    assert ledger.create("taxi.csv", USER, epsilon="1/3").limit == third
    office.write(LIMITS + '[later]\nepsilon = 1\neach_epsilon = 1\nreason = "new"\n')
    made = ledger.reserve("later", USER, charge(1), new_dataset=True)
    assert made.before.limit == made.before.each == Loss(Fraction(1))
    assert ledger.verify().ok


def test_limits_are_changed_in_the_file_alone(office: Office) -> None:
    ledger = office.start()
    with pytest.raises(NotAllowedError, match=r"are in .*limits.toml: change them there"):
        ledger.set_limit("visits", epsilon=9, reason="more")
    assert ledger.balance("visits").limit == Loss(Fraction(2), Fraction(1, 10**6))


def test_another_file(office: Office) -> None:
    ledger = office.start()
    other = office.closed / "other.toml"
    other.write_text('[visits]\nepsilon = 1\nreason = "less"\n')
    other.chmod(0o644)
    ledger.use_limits_file(other, reason="moved")
    assert ledger.limits_file() == str(other)
    assert ledger.balance("visits").limit == Loss(Fraction(1))
    office.file.unlink()  # of no account any more
    ledger.reserve("visits", USER, charge(1))
    assert ledger.verify().ok


def test_nothing_without_a_file(office: Office) -> None:
    assert office.ledger.limits_file() is None
    assert office.ledger.limits_file_notice() is None
    office.ledger.create("x", USER, epsilon=1)
    office.ledger.set_limit("x", epsilon=2, reason="more")
    assert limits_set(office.ledger)[0].file is None


def test_the_notice(office: Office) -> None:
    ledger = office.start()
    assert ledger.limits_file_notice() == (
        f"The limits are in {office.file} (why: the board's rules), which is read at every charge."
    )
    office.write(LIMITS.replace('"2"', "1"))
    assert "what it says of 'visits' holds already" in str(ledger.limits_file_notice())
    office.file.unlink()
    assert "Now it cannot be used: " in str(ledger.limits_file_notice())


def test_one_name_however_it_is_composed(office: Office) -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    office.write(f'["{apart}"]\nepsilon = 1\nreason = "r"\n')
    ledger = office.ledger
    ledger.use_limits_file(office.file, reason="r")
    ledger.create(composed, USER)
    assert ledger.reserve(apart, USER, charge(1)).after.limit == Loss(Fraction(1))
    office.write(
        f'["{apart}"]\nepsilon = 1\nreason = "r"\n["{composed}"]\nepsilon = 2\nreason = "r"\n'
    )
    with pytest.raises(LedgerError, match="listed twice, in two spellings"):
        ledger.check(composed, USER, 1)


# --- files that cannot be used ---------------------------------------------------------------


def refuses_everything(office: Office, *said: str) -> None:
    """Whatever needs the limits fails with exit code 1 and these words, and nothing is added."""
    head = office.ledger.head()
    for attempt in (
        lambda: office.ledger.check("visits", USER, "0.1"),
        lambda: office.ledger.reserve("visits", USER, charge("0.1")),
        lambda: office.ledger.reserve("taxi.csv", USER, charge("0.1"), new_dataset=True),
        lambda: office.ledger.create("taxi.csv", USER),
        lambda: office.ledger.use_limits_file(office.file, reason="again"),
    ):
        with pytest.raises(LedgerError) as refused:
            attempt()
        assert refused.value.exit_code == 1
        for words in (str(office.file), "nothing is charged", *said):
            assert words in str(refused.value)
    assert office.ledger.head() == head


BAD = {
    "empty": ("", "is empty"),
    "blank": (" \n\n", "is empty"),
    "comments only": ("# nothing yet\n", "lists no dataset"),
    "cut": (LIMITS[:-1], "cut while it was written"),
    "no TOML": ("visits: 2\n", "is not TOML"),
    "a ratio without quotes": (LIMITS.replace('"1/3"', "1/3"), 'quotes, "1/3"'),
    "no UTF-8": (b"[caf\xe9]\nepsilon = 1\n", "not text in UTF-8"),
    "nested": (f"a = {'[' * 20000}\n", "nested too deeply"),
    "digits": (f"[a]\nepsilon = {'9' * 5000}\n", "not TOML"),
    "long": (LIMITS + "#" * LONGEST + "\n", "longer than 262,144 bytes"),
    "no table": ("epsilon = 1\n", "outside of any dataset's table"),
    "list of tables": ('[[visits]]\nepsilon = 1\nreason = "r"\n', "outside of any dataset's table"),
    "dotted": ('[visits.csv]\nepsilon = 1\nreason = "r"\n', '["visits.csv"]'),
    "unknown key": ('[v]\nepsilon = 1\nreason = "r"\neach_eps = 1\n', "mean 'each_epsilon'"),
    "epsilon and rho": ('[v]\nepsilon = 1\nrho = 1\nreason = "r"\n', "give one of them"),
    "each of both": (
        '[v]\nrho = 1\neach_epsilon = 1\neach_rho = 1\nreason = "r"\n', "each_epsilon and each_rho",
    ),
    "no rho": ('[v]\nrho = 0\nreason = "r"\n', "[v] rho: rho must be greater than 0"),
    "rho without a reason": ("[v]\nrho = 1\n", "[v] has no reason"),
    "no epsilon": ('[v]\nreason = "r"\n', "[v] has no epsilon"),
    "no reason": ("[v]\nepsilon = 1\n", "[v] has no reason"),
    "neither": ("[v]\n", "no epsilon and no reason"),
    "each_delta alone": ('[v]\nepsilon = 1\nreason = "r"\neach_delta = 0\n', "give both"),
    "no name": ('[""]\nepsilon = 1\nreason = "r"\n', "a dataset's name is one line"),
    "twice": ("[v]\n[v]\n", "is not TOML"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_never_no_limit(office: Office, name: str) -> None:
    text, said = BAD[name]
    office.start()
    office.write(text)
    refuses_everything(office, said)
    office.write(LIMITS)
    office.ledger.reserve("visits", USER, charge("0.1"))


@pytest.mark.parametrize(
    "value",
    ["true", "-1", "0", "0.0", "nan", "inf", "-inf", '"nan"', '""', '"one"', "[1]", "{}",
     "1979-05-27", '"1/0"', "1e999"],
)  # fmt: skip
@pytest.mark.parametrize("key", ["epsilon", "each_epsilon"])
def test_epsilons_that_are_none(office: Office, key: str, value: str) -> None:
    rest = "" if key == "epsilon" else "epsilon = 1\n"
    office.write(f'[v]\n{rest}{key} = {value}\nreason = "r"\n')
    with pytest.raises(LedgerError, match=rf"\[v\] {key}: epsilon "):
        read_limits(str(office.file))


@pytest.mark.parametrize("value", ["true", "-1e-9", "1", "nan", '"x"', "[]"])
@pytest.mark.parametrize("key", ["delta", "each_delta"])
def test_deltas_that_are_none(office: Office, key: str, value: str) -> None:
    office.write(f'[v]\nepsilon = 1\neach_epsilon = 1\n{key} = {value}\nreason = "r"\n')
    with pytest.raises(LedgerError, match=rf"\[v\] {key}: delta "):
        read_limits(str(office.file))


@pytest.mark.parametrize(
    "value", ["1", '""', '" "', '"\\u001b[2J"', '"""a\nb"""', f'"{"a" * 501}"']
)
def test_reasons_that_are_none(office: Office, value: str) -> None:
    office.write(f"[v]\nepsilon = 1\nreason = {value}\n")
    with pytest.raises(LedgerError, match=r"\[v\] reason: give one line"):
        read_limits(str(office.file))


def test_numbers_are_exact(office: Office) -> None:
    office.write(
        '[v]\nepsilon = 0.1\ndelta = 1e-9\neach_epsilon = "1/3"\neach_delta = 0\nreason = "r"\n'
    )
    found = read_limits(str(office.file)).datasets["v"]
    assert found.total == Loss(Fraction(1, 10), Fraction(1, 10**9))
    assert found.each == Loss(Fraction(1, 3))


def test_the_example_of_the_docs(office: Office) -> None:
    text = (HERE.parents[1] / "docs" / "ledger.md").read_text(encoding="utf-8")
    office.write(text.partition("```toml\n")[2].partition("```")[0])
    found = read_limits(str(office.file)).datasets
    assert list(found) == ["visits", "taxi", "trips.csv"]
    assert found["visits"].each == Loss(Fraction(1, 2), Fraction(1, 10**6))


def _gone(office: Office) -> None:
    office.file.unlink()


def _folder(office: Office) -> None:
    office.file.unlink()
    office.file.mkdir()


def _pipe(office: Office) -> None:
    office.file.unlink()
    os.mkfifo(office.file)


def _link(office: Office) -> None:
    office.file.rename(office.closed / "real.toml")
    office.file.symlink_to("real.toml")


def _linked_folder(office: Office) -> None:
    real = office.closed.with_name("real")
    office.closed.rename(real)
    office.closed.symlink_to(real)


def _mode(which: Callable[[Office], Path], mode: int) -> Callable[[Office], None]:
    return lambda office: which(office).chmod(mode)


WRONG_PLACES: dict[str, tuple[Callable[[Office], None], str]] = {
    "gone": (_gone, "is not there"),
    "folder gone": (lambda o: o.closed.rename(o.closed.with_name("away")), "is not there"),
    "a folder": (_folder, "not a regular file"),
    "a pipe": (_pipe, "not a regular file"),
    "group": (_mode(lambda o: o.file, 0o664), "mode 664"),
    "others": (_mode(lambda o: o.file, 0o646), "mode 646"),
    "group of the folder": (_mode(lambda o: o.closed, 0o775), "because of the folder"),
    "others in the folder": (_mode(lambda o: o.closed, 0o757), "chmod go-w"),
    "sticky folder": (_mode(lambda o: o.closed, 0o1777), "mode 1777"),
    "folder above": (_mode(lambda o: o.closed.parent, 0o775), "because of the folder"),
}


@pytest.mark.parametrize("name", WRONG_PLACES)
def test_a_file_that_others_can_write_or_that_is_none(office: Office, name: str) -> None:
    spoil, said = WRONG_PLACES[name]
    office.start()
    spoil(office)
    refuses_everything(office, said)
    with pytest.raises(LedgerError):  # nor may anybody count as its keeper
        office.ledger.void("1-00000000", "none")


@pytest.mark.parametrize("spoil", [_link, _linked_folder])
def test_a_link_that_was_put_there_since(office: Office, spoil: Callable[[Office], None]) -> None:
    """Before it is named, a link is resolved; later it would be another file."""
    ledger = office.start()
    spoil(office)
    with pytest.raises(LedgerError, match="behind a link"):
        ledger.reserve("visits", USER, charge("0.1"))
    fresh = Ledger.open(office.shared / "fresh.sqlite", create=True)
    fresh.use_limits_file(office.file, reason="by another way")
    assert fresh.limits_file() == str(office.file.resolve()) != str(office.file)


def test_a_sticky_folder_further_up_is_safe(office: Office) -> None:
    """As /tmp: nobody can rename what is another's there."""
    ledger = office.start()
    office.closed.parent.chmod(0o1777)
    ledger.reserve("visits", USER, charge("0.1"))


def test_folders_of_another_account(office: Office) -> None:
    if os.getuid() != 0:
        skip("only root can give a folder away")
    ledger = office.start()
    os.chown(office.file, NOBODY, NOBODY)  # an officer who is not root, in root's folder
    ledger.reserve("visits", USER, charge("0.1"))
    os.chown(office.closed, NOBODY, NOBODY)
    ledger.reserve("visits", USER, charge("0.1"))
    os.chown(office.file, 0, 0)
    refuses_everything(office, "of another account than the file's own")


# --- two accounts ----------------------------------------------------------------------------


def test_what_an_analyst_can_and_cannot(office: Office) -> None:
    ledger = office.start()
    mine = ledger.reserve("visits", USER, charge("0.1"))
    other = office.shared / "mine.toml"
    other.write_text('[visits]\nepsilon = 99\nreason = "mine"\n')
    refusals: dict[str, tuple[str, dict[str, Any]]] = {
        "too much": ("reserve", {"name": "visits", "epsilon": "0.6"}),
        "void": ("void", {"reservation_id": mine.id, "reason": "mine"}),
        "limit": ("set_limit", {"name": "visits", "epsilon": 9, "reason": "mine"}),
        "create": ("create", {"name": "taxi.csv"}),
        "create by a charge": (
            "reserve", {"name": "taxi.csv", "epsilon": "0.1", "new_dataset": True},
        ),
        "move": (
            "import_from",
            {"source": str(office.location), "location": str(office.shared / "moved.sqlite")},
        ),
        "repoint": ("use_limits_file", {"path": str(other), "reason": "mine"}),
    }  # fmt: skip
    fits = ("reserve", {"name": "visits", "epsilon": "0.5"})
    first, second, *refused = office.analyst(fits, fits, *refusals.values())
    assert (first, second) == (None, None)
    found = dict(zip(refusals, refused, strict=True))
    assert found.pop("too much")[:2] == [3, "TooMuchAtOnceError"]
    assert "change them there" in found.pop("limit")[2]
    for name, (code, kind, said) in found.items():
        assert (code, kind) == (1, "NotAllowedError"), name
        assert "nobody, cannot" in said
        assert str(office.file) in said
    entries = ledger.entries()
    assert [entry.event.kind for entry in entries][-3:] == ["reserved"] * 3
    authors = [entry.by.account for entry in entries if entry.by is not None]
    assert authors == ["root"] * 4 + ["nobody"] * 2  # whatever $USER says
    assert ledger.balance("visits").spent == Loss(Fraction(11, 10))
    assert ledger.verify().ok
    assert ledger.closed() is None
    assert not (office.shared / "moved.sqlite").exists()


def test_a_changed_file_holds_for_an_analyst_at_the_next_charge(office: Office) -> None:
    ledger = office.start()
    digest = office.write(LIMITS.replace("0.5", "0.2"))
    too_much, fits = office.analyst(
        ("reserve", {"name": "visits", "epsilon": "0.5"}),
        ("reserve", {"name": "visits", "epsilon": "0.2"}),
    )
    assert too_much[:2] == [3, "TooMuchAtOnceError"]
    assert fits is None
    recorded = [entry for entry in ledger.entries() if isinstance(entry.event, LimitSet)][-1]
    assert (recorded.event.file, str(recorded.by).split("@")[0]) == (digest, "nobody")


def test_a_file_that_an_analyst_cannot_read(office: Office) -> None:
    office.start()
    for path, mode in ((office.file, 0o600), (office.closed, 0o700)):
        before = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode)
        (refused,) = office.analyst(("reserve", {"name": "visits", "epsilon": "0.1"}))
        path.chmod(before)
        assert refused[:2] == [1, "LedgerError"]
        assert "cannot be read by this account, nobody" in refused[2]


def test_an_officer_need_not_be_root(office: Office) -> None:
    """Who can write the file may void, make a dataset and name another file."""
    ledger = office.start()
    made = ledger.reserve("visits", USER, charge("0.1"))
    if os.getuid() == 0:
        for path in (office.closed, office.file):
            os.chown(path, NOBODY, NOBODY)
    assert office.analyst(
        ("void", {"reservation_id": made.id, "reason": "nothing was drawn"}),
        ("create", {"name": "taxi.csv"}),
        ("use_limits_file", {"path": str(office.file), "reason": "as before"}),
    ) == [None, None, None]
    assert ledger.balance("visits").spent == Loss()


# --- on a server, and always -----------------------------------------------------------------


def test_roles_do_it_on_postgresql(server: PostgresServer, office: Office) -> None:
    """What a file said before a ledger was moved there stays recorded; the file is not read."""
    ledger = Ledger.open(server.new_schema(), create=True)
    with pytest.raises(UsageError, match="ledger grant"):
        ledger.use_limits_file(office.file, reason="r")
    assert ledger.head().number == 0
    ledger.create("visits", USER, epsilon=1)
    moved = LimitsFile("/nowhere/limits.toml", "r")
    ledger._access.write(lambda book: book.append("", moved))
    assert ledger.limits_file() is None
    ledger.reserve("visits", USER, charge(1))
    with pytest.raises(OverBudgetError):
        ledger.reserve("visits", USER, charge("0.1"))
    ledger.set_limit("visits", epsilon=2, reason="more")


AMOUNTS = st.sampled_from([Fraction(n, 6) for n in range(1, 19)])
FILES = st.one_of(
    st.tuples(AMOUNTS, st.none() | AMOUNTS),
    st.tuples(AMOUNTS, st.none() | AMOUNTS),
    st.sampled_from(["missing", "unlisted", "empty", "shared"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(AMOUNTS, AMOUNTS, FILES), min_size=1, max_size=12))
def test_spent_never_exceeds_the_file_of_the_moment(steps: list[Any]) -> None:
    """Whatever the file becomes between charges; and all that fits is granted."""
    with tempfile.TemporaryDirectory(dir=memory()) as name:
        office = Office(Path(name))
        ledger, spent = office.start(), Fraction(0)
        now: Any = (Fraction(2), Fraction(1, 2))
        for step in steps:
            if not isinstance(step, Fraction):
                now = _put(office, step)
                continue
            total, each = now if isinstance(now, tuple) else (Fraction(0), None)
            fits = step <= (total if each is None else each) and spent + step <= total
            before = ledger.head()
            try:
                ledger.reserve("visits", USER, charge(step))
            except CrowdtallyError:
                assert not fits
                assert ledger.head() == before
            else:
                assert fits
                spent += step
                assert ledger.entries()[-1].balance.limits_file == (
                    sha256(office.file.read_bytes()).hexdigest()
                )
            assert ledger.balance("visits").spent.epsilon == spent
        assert ledger.verify().ok


def _put(office: Office, what: Any) -> Any:
    if what == "missing":
        office.file.unlink(missing_ok=True)
    elif what == "unlisted":
        office.write('[visit]\nepsilon = 9\nreason = "r"\n')
    elif what == "empty":
        office.write("")
    elif what == "shared":
        office.write(LIMITS)
        office.file.chmod(0o664)
    else:
        total, each = what
        single = "" if each is None else f'each_epsilon = "{each}"\n'
        office.write(f'[visits]\nepsilon = "{total}"\n{single}reason = "r"\n')
    return what


def gaussian(rho: object, delta: object = 0) -> Charge:
    part = Part("items", None, "discrete-gaussian", {}, Delta.of(delta), rho=Rho.of(rho))
    return Charge.by_rho("release-1", [part])


def test_limits_of_rho(office: Office) -> None:
    office.write('[visits]\nrho = 0.01\ndelta = 1e-9\neach_rho = "1/250"\nreason = "r"\n')
    ledger = office.start()
    assert ledger.balance("visits").accountant == "zcdp"  # as the file's limits need it
    ledger.reserve("visits", USER, gaussian("0.004"))
    with pytest.raises(TooMuchAtOnceError):
        ledger.reserve("visits", USER, gaussian("0.005"))
    office.write('[visits]\nepsilon = 1\ndelta = 1e-9\nreason = "r"\n')
    ledger.reserve("visits", USER, gaussian("0.00001"))
    assert ledger.balance("visits").limit == Loss(Fraction(1), Fraction(1, 10**9))
    head = ledger.head()
    office.write('[visits]\nepsilon = 1\nreason = "r"\n')  # a δ of 0: no limit that holds ρ
    for attempt in (
        lambda: ledger.reserve("visits", USER, gaussian("0.00001")),
        lambda: ledger.check("visits", USER, rho="0.00001"),
    ):
        with pytest.raises(UsageError, match="needs a delta above 0"):
            attempt()
    assert ledger.head() == head
    assert "needs a delta above 0" in (ledger.limits_file_notice() or "")
    assert ledger.verify().ok


def test_limits_of_rho_for_a_pure_dataset(office: Office) -> None:
    ledger = office.start()
    head = ledger.head()
    office.write('[visits]\nrho = 0.01\nreason = "r"\n')
    with pytest.raises(UsageError, match="rho does not add to them"):
        ledger.reserve("visits", USER, charge("0.1"))
    with pytest.raises(UsageError, match="rho does not add to them"):
        ledger.use_limits_file(office.file, reason="again")
    assert ledger.head() == head


def test_a_dataset_by_zcdp_under_a_file(office: Office) -> None:
    office.write('[visits]\nepsilon = 1\ndelta = 1e-9\nreason = "r"\n')
    office.ledger.use_limits_file(office.file, reason="the board's rules")
    made = office.ledger.create("visits", USER, accountant="zcdp")
    assert (made.accountant, made.limit) == ("zcdp", Loss(Fraction(1), Fraction(1, 10**9)))
