"""What a form sends: read as far as it may be long, within a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from crowdtally.web.serving.refusing import Refused

if TYPE_CHECKING:
    from starlette.requests import Request

LONGEST = 1 << 18
"""Bytes of a form."""
MOST_FIELDS = 1000
SECONDS = 10.0
"""Within which all of it must have come."""
_KIND = "application/x-www-form-urlencoded"


async def fields(request: Request) -> list[tuple[str, str]]:
    """The fields of a form, in order, empty ones too.

    Raises:
        Refused: it is no form, too long, too slow or not UTF-8.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise Refused(415, f"Send the page's own form, of the type {_KIND}.")
    try:
        body = await asyncio.wait_for(_body(request), SECONDS)
    except TimeoutError:
        raise Refused(408, "The form did not come in time: send it again.") from None
    try:
        return parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except (UnicodeDecodeError, ValueError):
        raise Refused(400, "The form is damaged: load the page again, and send it anew.") from None


async def _body(request: Request) -> bytes:
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > LONGEST:
            raise Refused(413, f"At most {LONGEST:,} bytes of a form are read.")
    return bytes(found)
