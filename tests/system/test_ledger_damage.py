"""A SQLite ledger whose file was cut short, or has a wrong byte.

**Detected** means: opening or verifying says so in words, or else nothing that the ledger says has
changed (the byte was in unused space). And whatever happens, a charge on such a file is either
refused in words, or is a true charge on the true sum, after which verify still says what is wrong.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from budget.ledger_kit import SHA, USER, charge, folder
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Asked, Ledger

__all__ = ["folder"]
EACH = Fraction(1, 7)


@pytest.fixture
def original(folder: Path) -> tuple[bytes, object]:
    """A ledger with some history, as bytes and as what it says."""
    ledger = Ledger.open(folder / "original.sqlite", create=True)
    ledger.create("a", USER, epsilon=100)
    for number in range(12):
        made = ledger.reserve("ab"[number % 2], USER, charge(EACH), new_dataset=True)
        if number % 3:
            ledger.start_drawing(made.id)
            ledger.mark_published(made.id, SHA)
    ledger.void(made.id if number % 3 == 0 else ledger.charges()[0].id, "certain")
    ledger.withdraw("release-1", "a wrong list")
    asked = Asked(source="trips", output="out", purpose="a test", request_id="request-1")
    ledger.start_drawing(
        ledger.reserve("a", USER, charge(EACH, release="release-2"), asked=asked).id
    )
    ledger.set_limit("b", epsilon=50, each_epsilon=1, reason="as agreed")
    return (folder / "original.sqlite").read_bytes(), ledger.export()


def outcome(path: Path, content: bytes, says: object) -> str:
    """What happens with a damaged copy; only words are allowed, never another exception."""
    path.write_bytes(content)
    try:
        ledger = Ledger.open(path, create=False)
        detected = not ledger.verify().ok
    except CrowdtallyError as error:
        assert_in_words(error)
        return _charge_refused(path)
    if not detected:
        assert ledger.export() == says, "changed and not detected"
    return f"{'detected' if detected else 'harmless'}, {_charge(ledger, says, detected)}"


def assert_in_words(error: CrowdtallyError) -> None:
    text = str(error)
    assert error.exit_code == 1, text
    assert not any(word in text for word in ("Traceback", "[SQL", "sqlite3", "Error")), text
    assert 40 < len(text) < 600, text


def _charge_refused(path: Path) -> str:
    with pytest.raises(CrowdtallyError):
        Ledger.open(path, create=False).reserve("a", USER, charge(EACH), new_dataset=True)
    return "refused at once"


def _charge(ledger: Ledger, says: object, damaged: bool) -> str:
    true = Fraction(_spent(says, "a"))
    try:
        made = ledger.reserve("a", USER, charge(EACH), new_dataset=True)
    except CrowdtallyError as error:
        assert_in_words(error)
        return "charge refused"
    assert not damaged, "verify notices what a first charge does not"
    assert (made.before.spent.epsilon, made.after.spent.epsilon) == (true, true + EACH)
    assert ledger.verify().ok
    return "charged truly"


def _spent(says: object, dataset: str) -> str:
    contents = [entry["content"] for entry in says["entries"]]  # type: ignore[index]
    return [c["balance"]["spent"]["epsilon"] for c in contents if c["dataset"] == dataset][-1]


def test_cut_at_a_thousand_places(original: tuple[bytes, object], folder: Path) -> None:
    whole, says = original
    size = len(whole)
    places = [0, 1, 99, 100, 512, 4096, 8192, size - 4096, size - 40, size - 1]
    places += random.Random(3).sample(range(size), 990)
    counts = Counter(outcome(folder / "cut.sqlite", whole[:place], says) for place in places)
    assert sum(counts.values()) == 1000
    assert counts["refused at once"] > 800, counts


@pytest.mark.parametrize("wrong", [400, pytest.param(1000, marks=pytest.mark.long)])
def test_hundreds_of_wrong_bytes(original: tuple[bytes, object], folder: Path, wrong: int) -> None:
    whole, says = original
    generator = random.Random(5)
    counts: Counter[str] = Counter()
    used = [place for place, byte in enumerate(whole) if byte]
    for number in range(wrong):
        # The first hundred bytes are SQLite's own header: each gets its turn. Of the others, most
        # are taken where something is written.
        place = generator.choice(used) if number % 4 else generator.randrange(len(whole))
        place = number if number < 100 else place
        content = bytearray(whole)
        content[place] ^= generator.randrange(1, 256)
        counts[outcome(folder / "flip.sqlite", bytes(content), says)] += 1
    assert sum(counts.values()) == wrong
    print(counts)
    found = sum(count for what, count in counts.items() if not what.startswith("harmless"))
    assert found > wrong * 0.3, counts
