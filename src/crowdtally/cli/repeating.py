"""``--request-id``: whether the same request was made before, as the command line looks it up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdtally.ledger import Charged


def made_before(ledger: str | None, request_id: str | None) -> Charged | None:
    """The charge of a request id that was used before; looking makes no ledger."""
    from crowdtally.ledger import Ledger, MissingLedgerError

    if request_id is None:
        return None
    try:
        with Ledger.open(ledger) as books:
            return books.request(request_id)
    except MissingLedgerError:
        return None


def unless_known(
    look_up: Callable[[], Charged | None], check: Callable[..., None]
) -> Callable[..., None]:
    """A check that holds nothing against a request that was charged before, or is just now.

    Its own charge may be what leaves no budget, and its release what is in the way; what follows
    from that is for the main line to say.
    """
    from crowdtally.errors import CrowdtallyError

    def checked(*given: Any) -> None:
        try:
            check(*given)
        except CrowdtallyError:
            if look_up() is None:
                raise

    return checked


def taken_up(earlier: Charged) -> str:
    """What is said of a charge that an earlier run made, before its amount."""
    return (
        f"The charge was made by an earlier run of this request, on {earlier.time} (entry "
        f"{earlier.id}): nothing more was charged now."
    )


def used_before(earlier: Charged) -> str:
    """What a dry run says of a request that was made before."""
    return (
        f"The request id was used before: its charge is entry {earlier.id}, {earlier.state}. The "
        "same request is not charged again; another one is refused. Which of them this is was not "
        "compared."
    )
