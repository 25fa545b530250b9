"""What ``auto`` would do, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crowdtally.core.numbers import recorded

Facts = Mapping[str, Any]
"""What ``PlannedCourse.as_dict`` says."""

_AIMS = {
    "counts": "numbers near the truth for all items",
    "top": "the order and the numbers of the largest items",
    "recommend": "what to recommend in each context",
}
_COUNTED = {
    True: "All records of each user are counted",
    False: "Each user is counted once at each of their items",
}
_UNLIKE = "or three times as many where users have very unlike numbers of records"
_WIDEST = "10 to 100,000,000 users of 1 to 1,000 records each"


def course_lines(facts: Facts) -> Iterator[str]:
    """The steps, and how far off the estimates would be."""
    what = _divided(facts)
    yield (
        f"Method: auto, for {_AIMS[facts['for']]} (--for {facts['for']}). It divides {what} as it "
        "goes: which steps it takes follows from what earlier steps released, never from the "
        f"records, and they never spend more than {what} together.{_paying(facts)}"
    )
    if facts["guess_users"] is None or facts["guess_records"] is None:
        yield from _unguessed(facts)
    else:
        yield from _guessed(facts)


def _divided(facts: Facts) -> str:
    if "noise" not in facts:
        return "epsilon"
    return "rho" if facts["noise"] == "gaussian" else "epsilon and delta"


def _paying(facts: Facts) -> str:
    """With which noise, where there is a δ."""
    if "noise" not in facts:
        return ""
    if facts["noise"] == "gaussian":
        return " The noise is Gaussian: steps are paid for in rho, which epsilon and delta buy."
    found = {None: "", "rho": " By these guesses: rho.", "epsilon": " By these guesses: epsilon."}
    return (
        " The noise is decided once the sizes are released, by the smaller expected error: Laplace "
        "noise, paid for in epsilon, or Gaussian noise, paid for in the rho that delta and what is "
        f"left of epsilon buy. Either way it is charged epsilon and delta.{found[facts['paid_in']]}"
    )


def counted_words(*, repeats: bool) -> str:
    """What is counted of one user."""
    return (
        f"{_COUNTED[repeats]}; where that is more than a table can bear, all of a user's "
        "counts are scaled down together, to a sum that the release chooses. Readers are shown "
        "estimates that make up for it, with intervals, beside the noisy counts."
    )


def _unguessed(facts: Facts) -> Iterator[str]:
    of = {None: "epsilon, or later ones of rho", "rho": "rho"}
    told = of[facts["paid_in"]] if "paid_in" in facts else "epsilon"
    yield f"  Over {_WIDEST}, its steps take of {told}:"
    for number, step in enumerate(facts["steps"], start=1):
        low, high = (_percent(step[end]) for end in ("share_from", "share_to"))
        yield f"  {number}. {step['name']}: {low if low == high else f'{low} to {high}'}"
    yield (
        f"  Under about {facts['unreliable_below_users']} users (300/epsilon), {_UNLIKE}, the "
        "sizes of users' rows are unreliable, and estimates are rough."
    )


def _guessed(facts: Facts) -> Iterator[str]:
    users, least = facts["guess_users"], facts["unreliable_below_users"]
    if users < least or not facts["sizes_reliable"]:
        yield (
            f"  Too few users: under about {least} (300/epsilon), {_UNLIKE}, the sizes of users' "
            "rows are unreliable. The release then scales every row to a sum of 1, and estimates "
            "are rough: raise --epsilon, or name a method with --max-records L."
        )
    yield (
        f"  If {users} users had {facts['guess_records']} records, spread over users and items as "
        "is usual (log-normal, Zipf), it would take these steps:"
    )
    for number, step in enumerate(facts["steps"], start=1):
        yield f"  {number}. {step['name']}{_step(step)}"
    if facts["unspent"] not in (None, "0"):
        of = facts.get("paid_in") or "epsilon"
        yield f"  {_percent(facts['unspent'])} of {of} would stay unspent; it is charged too."
    if facts["expected_error"] is not None:
        yield _error(facts["expected_error"])


def _step(step: Facts) -> str:
    if "share" not in step:
        share = _percent(step["share_from"])
        return f": {share}" if share != "0%" else ", not taken"
    if step["share"] == "0":
        return f", not taken: {step['why']}"
    decided = [
        f"{name} {fact}" for name, fact in step.items() if name not in ("name", "share", "why")
    ]
    more = f" ({', '.join(decided)})" if decided else ""
    return f", {_percent(step['share'])}: {step['why']}{more}"


def _error(error: Facts) -> str:
    said = f"  Expected error: an item's estimate would be off by about {_amount(error['rmse'])}"
    if error["rmse_top"] is None:
        return f"{said} (root mean square over all items)."
    return (
        f"{said} (root mean square over all items), and those of the {error['top']} largest, about "
        f"{_amount(error['largest'])} each, by about {_amount(error['rmse_top'])}."
    )


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _percent(share: str) -> str:
    return f"{float(100 * recorded(share)):.3g}%"
