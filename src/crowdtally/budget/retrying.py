"""The same request again: known by its request id, compared with what was charged for it.

::

    the earlier charge is   the same request, made again
    reserved                takes that charge up: nothing was drawn
    drawing                 is refused: there may have been a draw, and one charge pays for one
    published               shows that release
    voided                  is refused: the id stands for a charge that was given back
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from crowdtally.budget.amounts import for_people
from crowdtally.budget.errors import DrawnBeforeError
from crowdtally.budget.record.charge import Charge
from crowdtally.budget.record.events import Reserved
from crowdtally.budget.record.history import Charged
from crowdtally.errors import CrowdtallyError, UsageError

_LONGEST_SHOWN = 80


def made_before(
    look_up: Callable[[str], Charged | None], dataset: str, event: Reserved
) -> Charged | None:
    """The charge of the same request, to be taken up or shown; ``None`` for a new request.

    Refused where neither can be done, and where the id belongs to another request. ``look_up``
    finds a charge by its request id.
    """
    key = event.asked.request_id
    found = None if key is None else look_up(key)
    if found is not None:
        require_same(found, dataset, event)
        if found.state != "published":
            require_undrawn(found)
    return found


def require_same(earlier: Charged, dataset: str, event: Reserved) -> None:
    """Refuse a request id that was used for something else."""
    differing = list(_differences(earlier, dataset, event))
    if differing:
        raise UsageError(
            f"the request id {_key(earlier)!r} was used for another request before (entry "
            f"{earlier.id}{_by_whom(earlier)}, {earlier.time}): {'; '.join(differing)}. One "
            "request id means one request: give this one an id of its own. Nothing was charged."
        )


def require_undrawn(earlier: Charged) -> None:
    """Refuse a charge for which noise was drawn, or that was given back."""
    if earlier.state != "reserved":
        raise _refusal(earlier)


def _refusal(earlier: Charged) -> CrowdtallyError:
    key = _key(earlier)
    if earlier.state == "voided":
        return UsageError(
            f"the charge of the request id {key!r} (entry {earlier.id}) was given back: "
            f"{earlier.reason!r}. A request id is not used twice: give this request a new one. "
            "Nothing was charged."
        )
    if earlier.state == "published":
        return DrawnBeforeError(
            f"another run of the request {key!r} has published its release meanwhile (entry "
            f"{earlier.id}): this one stops. Nothing was charged a second time. Run again with the "
            "same request id: it shows that release."
        )
    return DrawnBeforeError(
        f"noise was drawn, or is being drawn, for the request {key!r} already: entry {earlier.id}, "
        f"drawing since {earlier.drawing_at} by {earlier.drawn_by}. {_folder(earlier)}One charge "
        "pays for one draw: another one needs a new request id, and is charged anew. Nothing was "
        "charged now."
    )


def _folder(earlier: Charged) -> str:
    """What the unfinished folder tells about the run, and how its charge is given back."""
    staged = earlier.staged
    if staged is None:
        return ""
    void = f"crowdtally ledger void {earlier.id} --reason TEXT"
    wait = "if so, wait for its end and run again with the same request id to see its release"
    if not staged.is_this_host:
        return (
            f"Its unfinished folder is {staged.path} on the computer {staged.host!r}: while it is "
            f"there, that run may be alive; {wait}. Else `{void}`, run there, gives the charge "
            "back. "
        )
    if staged.is_here:
        return (
            f"Its unfinished folder {staged.path} is there, so that run may be alive; {wait}. If "
            f"it was killed, and nothing left the machine, `{void} --delete-staged` gives the "
            "charge back. "
        )
    return (
        f"Its unfinished folder {staged.path} is gone: that run has ended without a release. If "
        f"you are certain that nothing left the machine, `{void}` gives the charge back. "
    )


def _differences(earlier: Charged, dataset: str, event: Reserved) -> Iterator[str]:
    before, now = earlier.asked, event.asked
    old, new = earlier.charge, event.charge
    pairs: list[tuple[str, object, object]] = [
        ("--dataset", earlier.dataset, dataset),
        ("--epsilon", old.loss.epsilon, new.loss.epsilon),
        ("--delta", old.loss.delta, new.loss.delta),
        ("--rho", old.loss.rho, new.loss.rho),
        ("the source", before.source, now.source),
        ("the output", before.output, now.output),
    ]
    found = [words for pair in pairs for words in _compared(*pair)]
    found += _compared("", before.parameters, now.parameters)
    if earlier.unit != event.unit and not found:
        found.append("it protects another privacy unit")
    if _comparable(old) != _comparable(new) and not found:
        found.append("its mechanisms are others, as those of another version of Crowdtally are")
    yield from found


def _compared(name: str, old: object, new: object) -> Iterator[str]:
    """In words, where two values differ: each parameter by itself."""
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping) and "sha256" not in old:
        for key in sorted({*old, *new}):
            inner = f"{name} {key}" if name else f"--{key.replace('_', '-')}"
            yield from _compared(inner, old.get(key), new.get(key))
    else:
        yield f"{name} was {_said(old)} and is {_said(new)}"


def _said(value: object) -> str:
    """A recorded parameter for a person."""
    if value is None or value is False:
        return "not given"
    if value is True:
        return "given"
    if isinstance(value, Fraction):
        return for_people(value)
    if isinstance(value, Mapping):
        if "sha256" in value:
            digest = str(value["sha256"])  # of any kind: others may have recorded it
            return f"a list of {value.get('size')} (SHA-256 {digest[:12]}…)"
        value = [f"{key}: {_said(inner)}" for key, inner in value.items()]
    if isinstance(value, list | tuple):
        value = ", ".join(map(_said, value))
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _comparable(charge: Charge) -> Charge:
    """Without what differs between two runs of one request: the release's id, the programs."""
    return replace(charge, release_id="any", versions={})


def _key(charged: Charged) -> str:
    return charged.asked.request_id or ""


def _by_whom(charged: Charged) -> str:
    return f" by {charged.by}"
