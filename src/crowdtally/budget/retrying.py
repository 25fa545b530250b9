"""The same request again: known by its request id, compared with what was charged for it."""

from __future__ import annotations

from dataclasses import replace

from crowdtally.budget.charge import Asked, Charge
from crowdtally.budget.events import Reserved
from crowdtally.budget.history import Charged
from crowdtally.errors import UsageError


def require_same(earlier: Charged, dataset: str, event: Reserved) -> None:
    """Refuse a request id that was used for something else."""
    differing = list(_differences(earlier, dataset, event))
    if differing:
        asked = event.asked or Asked()
        raise UsageError(
            f"the request id {asked.request_id!r} was used for another request (entry "
            f"{earlier.id}): {', '.join(differing)} differ. One request id means one request: "
            "give this one an id of its own. Nothing was charged."
        )


def _differences(earlier: Charged, dataset: str, event: Reserved) -> list[str]:
    before, now = earlier.asked or Asked(), event.asked or Asked()
    pairs = {
        "the dataset": (earlier.dataset, dataset),
        "the privacy unit": (earlier.unit, event.unit),
        "the charge": (_comparable(earlier.charge), _comparable(event.charge)),
        "the source": (before.source, now.source),
        "the output": (before.output, now.output),
        "the parameters": (before.parameters, now.parameters),
        "the versions of the programs": (earlier.charge.versions, event.charge.versions),
    }
    return [name for name, (old, new) in pairs.items() if old != new]


def _comparable(charge: Charge) -> Charge:
    return replace(charge, release_id="any", versions={})
