"""``release.json`` carries its own SHA-256, so that a changed byte in it is seen.

The hash is of the file as it would be with 64 zeros instead of the hash. It is against
accidents: who changes the file on purpose can compute it anew. Against that stands the ledger.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

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
