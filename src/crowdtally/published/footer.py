"""What the footer of every table says of its release: which one it is, and what it promises.

A table may travel without its folder. The notes are facts of ``release.json`` that were public
before the records were read, and the release's random name. Nothing else may stand there: no count,
no time, no name of a computer, a person or a dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crowdtally.published.metadata import promise

PREFIX = "crowdtally."
"""What the keys of the notes begin with: other programs have keys of their own."""


def facts(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The promise, and whose it is, in a few texts.

    Args:
        metadata: ``release.json``.
    """
    promised = metadata["guarantee"]
    return {
        "schema": metadata["schema"],
        "release": metadata["id"],
        "guarantee": promise(metadata),
        "epsilon": promised["epsilon"],
        "delta": promised["delta"],
        "unit": promised["unit"]["kind"],
    }


def notes(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The same as notes of a Parquet footer, by key."""
    return {f"{PREFIX}{name}": words for name, words in facts(metadata).items()}


def disagreements(found: Mapping[str, str], metadata: Mapping[str, Any]) -> Iterator[str]:
    """What ``release.json`` says that a footer does not."""
    for key, words in notes(metadata).items():
        if found.get(key) != words:
            yield f"its footer does not say the {key.removeprefix(PREFIX)} of release.json"
