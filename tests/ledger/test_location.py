"""Where a ledger is, from what people type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crowdtally.errors import UsageError
from crowdtally.ledger.database.location import File, Server, place


def test_default_is_the_per_user_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CROWDTALLY_LEDGER", raising=False)
    found = place(None)
    assert isinstance(found, File)
    assert found.path.name == "ledger.sqlite"
    assert found.path.parent.name == "crowdtally"


def test_the_variable_comes_before_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDTALLY_LEDGER", "/data/a.sqlite")
    assert place(None) == File(Path("/data/a.sqlite"))
    assert place("/data/b.sqlite") == File(Path("/data/b.sqlite"))
    monkeypatch.setenv("CROWDTALLY_LEDGER", "")
    assert isinstance(place(None), File)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("ledger.sqlite", Path("ledger.sqlite").absolute()),
        ("sqlite:///ledger.sqlite", Path("ledger.sqlite").absolute()),
        ("sqlite:////var/ledger.sqlite", Path("/var/ledger.sqlite")),
        ("~/x.sqlite", Path.home() / "x.sqlite"),
        ("odd name?mode=memory#%41.db", Path("odd name?mode=memory#%41.db").absolute()),
    ],
)
def test_files(text: str, path: Path) -> None:
    assert place(text) == File(path)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg", "POSTGRES"])
def test_servers_never_show_their_password(scheme: str) -> None:
    found = place(f"{scheme}://ana:s%40cret@db.example:5433/budget?password=other&sslmode=require")
    assert isinstance(found, Server)
    assert found.url.startswith("postgresql+psycopg://ana:")
    assert str(found) == "postgresql://ana@db.example:5433/budget"
    assert {"s%40cret", "s@cret", "other"} <= set(found.secrets)


@pytest.mark.parametrize("text", ["", "  ", ":memory:", "sqlite://", "sqlite:///:memory:", "a\0b"])
def test_what_would_not_outlive_the_program(text: str) -> None:
    with pytest.raises(UsageError, match="outlives"):
        place(text)


@pytest.mark.parametrize("location", [5, b"ledger.sqlite", ["ledger.sqlite"]])
def test_what_is_no_name(location: Any) -> None:
    with pytest.raises(UsageError, match=r"by a path or a PostgreSQL URL: received a \w+"):
        place(location)


def test_other_databases() -> None:
    with pytest.raises(UsageError, match="begins with mysql://") as caught:
        place("mysql://ana:secret@host/db")
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match="cannot be read") as caught:
        place("postgresql://ana:secret@host:port/db")
    assert "secret" not in str(caught.value)
