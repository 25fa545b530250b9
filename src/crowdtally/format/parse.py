"""Bytes to Manifest: seal, versions, old names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from crowdtally.errors import InputError
from crowdtally.format.agreement import disagreements
from crowdtally.format.manifest import HASH, RELEASE, damaged, faults, received

# ``release.json`` carries its own SHA-256, so that a changed byte in it is seen.
#
# The hash is of the file as it would be with 64 zeros instead of the hash. It is against
# accidents: who changes the file on purpose can compute it anew. Against that stands the ledger.

FIELD = "sha256"
"""The last field of ``release.json``."""
_ZEROS = "0" * 64


def sealed(metadata: dict[str, Any]) -> bytes:
    """The bytes of ``release.json``; ``metadata`` gets the hash, as its last field."""
    metadata.pop(FIELD, None)
    metadata[FIELD] = _ZEROS
    text = json.dumps(metadata, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    metadata[FIELD] = hashlib.sha256(text.encode()).hexdigest()
    # The last occurrence: a value of a public list may be 64 zeros too.
    before, _, after = text.rpartition(_ZEROS)
    return f"{before}{metadata[FIELD]}{after}".encode()


def holds(raw: bytes, digest: str) -> bool:
    """Whether ``digest``, found in the file ``raw``, is the file's own."""
    before, _, after = raw.rpartition(digest.encode())
    return hashlib.sha256(before + _ZEROS.encode() + after).hexdigest() == digest


def parsed(path: Path, raw: bytes, schema: str) -> dict[str, Any]:
    """The contents of ``release.json``, or an InputError that says what is wrong with it.

    Args:
        path: where it was read, for messages.
        raw: its bytes.
        schema: the layout that this version reads.
    """
    metadata = json_object(raw, lambda what: damaged(path, what))
    if "schema" in metadata and metadata["schema"] != schema:
        raise InputError(
            f"{str(path)!r} has layout {received(metadata['schema'])}; this version reads "
            f"{schema!r} alone: use the version that wrote it."
        )
    digest = metadata.get(FIELD)
    if HASH.fits(digest) and not holds(raw, str(digest)):
        raise damaged(path, "it was changed after it was written (its SHA-256 is another)")
    # What disagrees is looked at only once the shape is right: a generator starts when it is asked.
    for fault in chain(faults(RELEASE, metadata), disagreements(metadata)):
        raise damaged(path, fault)
    return metadata


def json_object(raw: bytes, fault: Callable[[str], InputError]) -> dict[str, Any]:
    """The JSON object that a file holds.

    Args:
        raw: the file's bytes.
        fault: makes the error from what is wrong with them.
    """
    try:
        found = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_refused
        )
    except UnicodeDecodeError:
        raise fault("it is not text in UTF-8") from None
    except (ValueError, RecursionError):
        raise fault("it is not the JSON that a release has") from None
    if not isinstance(found, dict):
        raise fault(f"it must hold an object, and holds {received(found)}")
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field stands there twice")
    return found


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
