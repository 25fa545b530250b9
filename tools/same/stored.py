"""Releases and ledgers that earlier versions wrote, which must open as they did."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from same.stage import Scene, Stage

_CORPUS = Path(__file__).resolve().parents[2] / "tests" / "corpus"
_READERS = (("check",), ("describe",), ("top", "-k", "3", "--json"), ("sum", "--json"))


def _releases(stage: Stage) -> None:
    for folder in sorted((_CORPUS / "releases").iterdir()):
        stage.places[str(folder)] = "<stored>"
        for reader, *options in _READERS:
            stage.case(f"{folder.name}, {reader}", reader, folder, *options)


def _ledgers(stage: Stage) -> None:
    for path in sorted((_CORPUS / "ledgers").glob("*.sqlite")):
        shutil.copy(path, stage.folder)
        for words in ("show", "show --json", "verify", "export", "upgrade", "verify", "export"):
            number = sum(f"{path.stem}, " in name for name in stage.found)
            case = f"{path.stem}, {number} {words}"
            stage.case(case, "ledger", *words.split(), "--ledger", path.name)


def scenes() -> Iterator[Scene]:
    """What is kept beside the tests."""
    yield Scene("stored releases", _releases)
    yield Scene("stored ledgers", _ledgers, quick=True)
