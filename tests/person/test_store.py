"""One draw: the same request, the same bytes; another draw, another charge; whatever breaks."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdtally.core import files
from crowdtally.errors import BudgetError, CrowdtallyError, InputError, StoppedError, UsageError
from crowdtally.ledger import DrawnBeforeError, Ledger, LedgerError
from crowdtally.noise.draws import SystemDraws
from crowdtally.person import store as storing
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.draws import Unfinished
from crowdtally.person.home import Home
from crowdtally.person.plan import Plan
from crowdtally.person.store import DATASET, Store
from kit.dying import FILMS, OWN, STEPS, plan

DYING = Path(__file__).parents[1] / "kit" / "dying.py"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "own")


def states(store: Store) -> list[str]:
    return [charged.state for charged in store.charges()]


def content(store: Store) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in store.home.draws.rglob("*") if p.is_file()}


def test_the_same_request_returns_the_same_draw_uncharged(store: Store) -> None:
    first = store.perturb(OWN, plan())
    kept = content(store)
    for again in (OWN, OWN[::-1], (*OWN, *OWN)):
        draw = store.perturb(again, plan())
        assert (draw.perturbed, draw.new, draw.number) == (first.perturbed, False, 1)
    assert content(store) == kept
    assert store.spent() == 1
    assert first.new


def test_another_draw_costs_again_and_the_first_stays_the_first(store: Store) -> None:
    first = store.perturb(OWN, plan())
    second = store.perturb(OWN, plan(), again=True)
    assert (second.number, second.new, store.spent()) == (2, True, 2)
    assert store.perturb(OWN, plan()) == storing.Draw(first.perturbed, 1, first.entry, new=False)
    assert [draw.number for draw in store.stored(OWN, plan())] == [1, 2]


def test_whatever_differs_is_another_request(store: Store) -> None:
    films = plan().catalogue
    others = [
        (OWN[:1], plan()),
        (OWN, Plan.of(films, "1/2")),
        (OWN, Plan.of(films, 1, {"horror": "0.5"})),
        (OWN, Plan.of(Catalogue.of({**FILMS, "Heat": ["crime", "space"]}), 1)),
    ]
    store.perturb(OWN, plan())
    for own, other in others:
        assert store.perturb(own, other).new
    assert store.perturb(OWN, plan(), popularity={"Heat": 1.0}).new
    assert len(store.charges()) == 6


def test_what_means_the_same_is_the_same_request(store: Store) -> None:
    first = store.perturb(OWN, plan())
    films = Catalogue.of(dict(reversed(FILMS.items())))
    for same in (Plan.of(films, "1.0"), Plan.of(plan().catalogue, 1, {"horror": "1"})):
        assert store.perturb(OWN, same).perturbed == first.perturbed
    assert store.spent() == 1


def test_a_withheld_item_makes_no_other_request(store: Store) -> None:
    private = Plan.of(plan().catalogue, 1, {"horror": "no"})
    first = store.perturb(["Heat"], private)
    assert store.perturb(["Heat", "Saw", "Alien"], private).perturbed == first.perturbed
    assert store.spent() == 1


def test_the_store_holds_neither_the_history_nor_a_hash_that_can_be_guessed(store: Store) -> None:
    catalogue = Catalogue.of({f"secret-{n}": ["x", "y"][n % 2 :] for n in range(40)})
    large = Plan.of(catalogue, 1)
    silent = type("Silent", (SystemDraws,), {"laplace": lambda *_: np.array([-1000])})()
    store.perturb(["secret-7"], large, draws=silent)  # nothing of it is drawn
    for path in store.home.path.rglob("*"):
        if path.is_file():
            assert b"secret-7" not in path.read_bytes()
    other = Store(store.home.path.parent / "other")
    other.perturb(["secret-7"], large)
    ids = {one.charges()[0].asked.request_id for one in (store, other)}  # type: ignore[union-attr]
    assert len(ids) == 2, "the same without the key"


def test_it_is_the_owners_alone(store: Store) -> None:
    store.perturb(OWN, plan())
    for path in (store.home.path, *store.home.path.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert store.home.exposed() is None
    store.home.path.chmod(0o755)
    assert "chmod 700" in str(store.home.exposed())


def test_looking_makes_nothing_and_charges_nothing(store: Store) -> None:
    assert store.stored(OWN, plan()) == []
    assert (store.spent(), store.charges()) == (0, [])
    assert not store.home.path.exists()


def test_input_is_checked_before_anything_is_made(store: Store) -> None:
    with pytest.raises(InputError, match="not in the catalogue"):
        store.perturb(["nothing such"], plan())
    assert not store.home.path.exists()


def test_a_limit_is_kept(store: Store) -> None:
    store.perturb(OWN, plan())
    with Ledger.open(store.home.ledger) as ledger:
        ledger.set_limit(DATASET, epsilon="1.5", reason="enough")
    before = content(store)
    with pytest.raises(BudgetError, match="Nothing was charged"):
        store.perturb(OWN, plan(), again=True)
    assert content(store) == before
    assert not store.perturb(OWN, plan()).new


@pytest.mark.parametrize(
    "step",
    # Just before a step is, but for a moment, just after the one before it.
    [pytest.param(s, marks=[pytest.mark.long] if s.startswith("before") else []) for s in STEPS],
)
def test_killed_at_any_step_one_charge_pays_for_one_draw(store: Store, step: str) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, DYING, store.home.path, step], env=env, capture_output=True, check=False
    )
    assert done.returncode == 9, done.stderr.decode()
    when, _, name = step.partition(":")
    if step == "before:reserve":
        assert store.spent() == 0
        assert store.perturb(OWN, plan()).new
        assert store.spent() == 1
    elif step in ("after:reserve", "before:start_drawing"):
        assert states(store) == ["reserved"]
        assert store.perturb(OWN, plan()).new
        assert (states(store), store.spent()) == (["published"], 1)
    elif (when, name) == ("after", "mark_published") or name == "place":
        raw = next(iter(content(store).values()))
        draw = store.perturb(OWN, plan())
        assert not draw.new
        assert list(draw.perturbed.items) == json.loads(raw)["items"]
        assert (states(store), store.spent()) == (["published"], 1)
    else:
        assert states(store) == ["drawing"]
        with pytest.raises(DrawnBeforeError, match="--again draws anew"):
            store.perturb(OWN, plan())
        assert store.stored(OWN, plan()) == []
        assert store.perturb(OWN, plan(), again=True).new
        assert store.spent() == 2
        assert store.perturb(OWN, plan()).number == 2


@pytest.mark.parametrize(
    ("owner", "name", "words", "left"),
    [
        (Ledger, "start_drawing", "goes on without another charge", ["reserved"]),
        (storing, "perturb", "noise may have been drawn", ["drawing"]),
        (Unfinished, "write", "noise may have been drawn", ["drawing"]),
        (Ledger, "mark_published", "recorded as whole", ["drawing"]),
        (Unfinished, "place", "run the same command again, which shows it", ["published"]),
    ],
)
def test_each_failure_says_what_is_true(
    store: Store, owner: Any, name: str, words: str, left: list[str], monkeypatch: Any
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, fail)
        with pytest.raises(CrowdtallyError, match=words):
            store.perturb(OWN, plan())
    assert states(store) == left
    if left == ["published"]:
        assert not store.perturb(OWN, plan()).new
    elif left == ["reserved"]:
        assert store.perturb(OWN, plan()).new
        assert store.spent() == 1


def test_a_failure_whose_words_may_quote_an_item_does_not(store: Store, monkeypatch: Any) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("Alien")

    monkeypatch.setattr(storing, "perturb", fail)
    with pytest.raises(CrowdtallyError, match="unforeseen failure \\(KeyError\\)") as caught:
        store.perturb(OWN, plan())
    assert "Alien" not in str(caught.value)


def test_an_interruption_leaves_no_draft(store: Store, monkeypatch: Any) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(storing, "perturb", stop)
    with pytest.raises(StoppedError, match=r"interrupted. Nothing was shown"):
        store.perturb(OWN, plan())
    assert states(store) == ["drawing"]
    assert list(store.home.draws.iterdir()) == []


def test_a_full_disk_shows_before_the_charge(store: Store, monkeypatch: Any) -> None:
    store.home.make()

    def full(path: Path) -> None:
        if path.name == "room":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "flush", full)
    with pytest.raises(CrowdtallyError, match=r"No space left.* Nothing was charged"):
        store.perturb(OWN, plan())
    monkeypatch.undo()
    assert store.charges() == []


def test_a_charge_that_was_given_back_counts_for_nothing(store: Store, monkeypatch: Any) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(storing, "perturb", lambda *_, **__: 1 / 0)
        with pytest.raises(CrowdtallyError, match="gives the charge back"):
            store.perturb(OWN, plan())
    with Ledger.open(store.home.ledger) as ledger:
        ledger.void(store.charges()[0].id, "nothing was seen")
    assert store.spent() == 0
    assert store.perturb(OWN, plan()).new
    assert store.spent() == 1
    assert not store.perturb(OWN, plan()).new


@pytest.mark.parametrize("damage", ["changed", "deleted", "cut"])
def test_a_draw_that_is_not_as_it_was_made_is_never_drawn_anew(store: Store, damage: str) -> None:
    store.perturb(OWN, plan())
    (file,) = store.home.draws.rglob("draw.json")
    raw = file.read_bytes()
    file.write_bytes(raw[:-3] if damage == "cut" else raw.replace(b"horror", b"hirror"))
    if damage == "deleted":
        file.unlink()
    with pytest.raises(LedgerError, match=r"deleted or changed.* --again"):
        store.perturb(OWN, plan())
    with pytest.raises(LedgerError, match="deleted or changed"):
        store.stored(OWN, plan())
    assert store.spent() == 1


def test_many_at_once_make_one_draw_for_one_charge(store: Store) -> None:
    found: list[Any] = []
    start = threading.Barrier(6)

    def run() -> None:
        start.wait()
        try:
            found.append(Store(store.home.path).perturb(OWN, plan()).perturbed)
        except DrawnBeforeError:
            return  # it says that another run is drawing

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found
    assert all(one == found[0] for one in found)
    assert (states(store), store.spent()) == (["published"], 1)
    assert [path.name for path in store.home.draws.iterdir() if path.name.startswith(".")] == []


def test_two_that_both_saw_nothing_make_one_draw(store: Store, monkeypatch: Any) -> None:
    """The narrow race: another run draws between this one's look and its charge."""
    reserve, other = Ledger.reserve, []

    def slower(self: Ledger, *given: Any, **named: Any) -> Any:
        if not other:
            other.append(None)
            other.append(Store(store.home.path).perturb(OWN, plan()))
        return reserve(self, *given, **named)

    monkeypatch.setattr(Ledger, "reserve", slower)
    with pytest.raises(DrawnBeforeError, match="another run of the same request"):
        store.perturb(OWN, plan())
    assert (states(store), store.spent()) == (["published"], 1)
    assert store.perturb(OWN, plan()).perturbed == other[1].perturbed


def test_a_lost_or_damaged_key_is_told(store: Store) -> None:
    store.perturb(OWN, plan())
    key = store.home.key_file.read_bytes()
    store.home.key_file.write_bytes(key[:5])
    with pytest.raises(CrowdtallyError, match="should have 32 bytes"):
        store.perturb(OWN, plan())
    store.home.key_file.unlink()
    with pytest.raises(CrowdtallyError, match="lost its key"):
        store.perturb(OWN, plan())
    assert store.home.ledger.exists()
    assert not store.home.key_file.exists()


def test_a_folder_of_other_things_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(UsageError, match="with other things in it"):
        Store(tmp_path).perturb(OWN, plan())
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]
    with pytest.raises(UsageError, match="not a folder"):
        Store(tmp_path / "letters.txt").perturb(OWN, plan())


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDTALLY_PERSON_STORE", str(tmp_path / "a"))
    assert Home.of().path == tmp_path / "a"
    assert Home.of(tmp_path / "b").path == tmp_path / "b"
    monkeypatch.delenv("CROWDTALLY_PERSON_STORE")
    assert Home.of().path.name == "person"
    with pytest.raises(UsageError, match="empty"):
        Home.of(" ")


def test_nothing_is_drawn_before_it_is_recorded_that_it_may_be(store: Store) -> None:
    seen = []

    class Watching(SystemDraws):
        def laplace(self, scale: Any, size: int) -> Any:
            seen.append(states(store))
            return super().laplace(scale, size)

        def uniforms_below(self, bounds: Any) -> Any:
            seen.append(states(store))
            return super().uniforms_below(bounds)

    store.perturb(OWN, plan(), draws=Watching())
    assert seen == [["drawing"]] * len(seen)
    assert seen


def test_what_is_charged_is_one_item_of_a_history(store: Store) -> None:
    store.perturb(OWN, plan())
    (charged,) = store.charges()
    assert charged.unit is not None
    assert charged.unit.kind == "item"
    assert charged.charge.epsilon == plan().cost
    assert charged.asked is not None
    assert charged.asked.source is None
    assert charged.asked.output is None


def test_what_would_fail_while_drawing_is_refused_before_the_charge(store: Store) -> None:
    from crowdtally.person.history import History

    wrong = [{"Heat": -1.0}, {"Heat": "much"}, [1.0]]
    for popularity in wrong:
        with pytest.raises(UsageError, match="popularity"):
            store.perturb(OWN, plan(), popularity=popularity)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="two catalogues"):
        store.perturb(History.of(OWN, plan().catalogue), plan())
    with pytest.raises(InputError, match="not text in Unicode"):
        Plan.of(Catalogue.of({"\ud800": ["x"]}), 1)
    assert not store.home.path.exists()
