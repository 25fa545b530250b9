"""Which ledger is used, and why: what is named and cannot be obeyed is an error."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from crowdtally.errors import CrowdtallyError
from crowdtally.ledger.database import location
from crowdtally.ledger.database.location import choose
from kit.command import Ended, crowdtally
from kit.town import Town

FAILURE = 1
SECRET = "s3cret"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The computer's own setting, which names no ledger yet, of an account without a ledger."""
    found = tmp_path / "etc" / "config.toml"
    found.parent.mkdir()
    monkeypatch.setattr(location, "path", lambda: found)
    monkeypatch.delenv("CROWDTALLY_LEDGER", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    return found


def test_the_first_that_says_anything(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = choose(None)
    assert (own.by, str(own.place)) == (
        "default", str(tmp_path / "home" / "data" / "crowdtally" / "ledger.sqlite"),
    )  # fmt: skip
    config.write_text('# ours\nledger = "/srv/budget/ledger.sqlite"\n')
    assert (choose(None).by, str(choose(None).place)) == (
        "system-file", "/srv/budget/ledger.sqlite",
    )  # fmt: skip
    monkeypatch.setenv("CROWDTALLY_LEDGER", "/tmp/mine.sqlite")
    assert (choose(None).by, str(choose(None).place)) == ("variable", "/tmp/mine.sqlite")
    assert (choose("/a/b").by, str(choose("/a/b").place)) == ("named", "/a/b")
    monkeypatch.setenv("CROWDTALLY_LEDGER", "")
    assert choose(None).by == "system-file"
    config.write_bytes(b'\xef\xbb\xbfledger = "postgresql://ana:s3cret@budget.example/ledger"\r\n')
    assert str(choose(None).place) == "postgresql://ana@budget.example/ledger"


BROKEN = {
    "no TOML": f"ledger = postgresql://ana:{SECRET}@h/db\n".encode(),
    "an open quote": f'ledger = "postgresql://ana:{SECRET}@h/db\n'.encode(),
    "no UTF-8": b'ledger = "\xff"\n',
    "another key": f'ledgr = "postgresql://ana:{SECRET}@h/db"\n'.encode(),
    "a key more": b'ledger = "/srv/l.sqlite"\nlimit = 3\n',
    "a password as a key": f'"postgresql://ana:{SECRET}@h" = 1\n'.encode(),
    "nothing": b"",
    "a blank name": b'ledger = "  "\n',
    "a number": b"ledger = 5\n",
    "a relative path": b'ledger = "ledger.sqlite"\n',
    "a relative URL": b'ledger = "sqlite:///ledger.sqlite"\n',
    "an account's path": b'ledger = "~/ledger.sqlite"\n',
    "another database": f'ledger = "mysql://ana:{SECRET}@h/db"\n'.encode(),
    "a number beyond measure": b"ledger = " + b"1" * 5000 + b"\n",
    "lists beyond measure": b"ledger = " + b"[" * 5000 + b"\n",
    "an end of text within": f'ledger = "/srv/{SECRET}\\u0000"\n'.encode(),
    "an unreadable URL": f'ledger = "postgresql://ana:{SECRET}@h:port/db"\n'.encode(),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_setting_that_cannot_be_obeyed(config: Path, content: bytes) -> None:
    config.write_bytes(content)
    with pytest.raises(CrowdtallyError) as caught:
        choose(None)
    assert str(config) in str(caught.value)
    assert SECRET not in str(caught.value)
    assert choose("/a/b").by == "named"  # whoever names one does not need it


def test_a_setting_that_cannot_be_read(config: Path) -> None:
    config.mkdir()
    with pytest.raises(CrowdtallyError, match="cannot be read"):
        choose(None)


def test_a_broken_setting_charges_no_other_ledger(town: Town, config: Path) -> None:
    os.environ.pop("CROWDTALLY_LEDGER", None)
    config.write_text("ledger = nonsense\n")
    home = config.parent.parent / "home"
    for arguments in (
        town.arguments(), ["plan", *town.arguments(output=None)[1:]], ["ledger", "show"],
        ["ledger", "create", "visits", "--epsilon", "1"],
    ):  # fmt: skip
        town.refuses(arguments, FAILURE, str(config), "no TOML (at line 1, column 10)")
    assert not home.exists()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The self-test itself is tested elsewhere."""
    from crowdtally import check

    monkeypatch.setattr(check, "run", lambda: {"exact noise": None})


def checked() -> tuple[Ended, dict[str, object]]:
    ended = crowdtally("check", "--json")
    return ended, json.loads(ended.out)["ledger"]


@pytest.mark.usefixtures("quick")
def test_check_says_which_ledger_and_why(
    town: Town, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, ledger = checked()
    assert (ended.code, ledger["by"], ledger["exists"]) == (0, "default", False)
    assert "there is none yet" in crowdtally("check").out
    config.write_text(f'ledger = "{town.ledger}"\n')
    assert crowdtally("ledger", "create", "visits", "--epsilon", "1").code == 0
    ended, ledger = checked()
    assert ended.code == 0
    assert ledger == {
        "location": str(town.ledger), "by": "system-file", "exists": True,
        "why": f"as {config} says for every account of this computer", "problem": None,
    }  # fmt: skip
    assert f"ok    ledger in use: {town.ledger} (as {config} says" in crowdtally("check").out
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(town.folder / "places.csv"))
    ended, ledger = checked()
    assert ended.code == FAILURE
    assert ledger["by"] == "variable"
    assert "not a Crowdtally ledger" in str(ledger["problem"]) or "damaged" in str(
        ledger["problem"]
    )
    assert "FAIL  ledger in use" in crowdtally("check").out


@pytest.mark.usefixtures("quick")
def test_check_on_a_broken_setting(config: Path) -> None:
    config.write_text(f'ledger = "postgresql://ana:{SECRET}@h"x\n')
    ended, ledger = checked()
    assert ended.code == FAILURE
    assert ledger["location"] is None
    assert "no TOML" in str(ledger["problem"])
    assert SECRET not in str(ended)
    assert f"FAIL  ledger in use: {config}" in crowdtally("check").out


def test_where_the_setting_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for name in ("linux", "darwin", "win32"):
        monkeypatch.setattr("sys.platform", name)
        monkeypatch.setenv("PROGRAMDATA", r"D:\Data")
        found[name] = str(location.path())
    assert found["linux"] == "/etc/crowdtally/config.toml"
    assert found["darwin"] == "/Library/Application Support/crowdtally/config.toml"
    assert found["win32"].startswith("D:\\Data")
