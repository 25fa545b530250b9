"""What was spent on the same records, before and with this release."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from crowdtally.core.numbers import show
from crowdtally.format import Published
from crowdtally.format.manifest import Standing
from crowdtally.laws.conversion import rounded_down
from crowdtally.reader.describing.promise import at_most


def spending_lines(published: Published) -> Iterator[str]:
    """The ledger's words on it: they were true when it was made."""
    charged = published.charged
    if charged.spent_before == Standing(Fraction(0)):
        yield (
            "It was the first release that this ledger charged to the dataset: "
            f"{standing_words(charged.spent_after)} in all."
        )
    else:
        yield (
            f"{standing_words(charged.spent_before)} had been spent on the dataset before; with "
            f"this release it is {standing_words(charged.spent_after)}.{_belief(published)}"
        )
    if charged.limit is None:
        yield "No limit was set: nothing stops further releases of the same records."
    else:
        left = left_words(published)
        rest = "" if left is None else f", of which {left} were left"
        yield f"The limit was {standing_words(charged.limit)}{rest}."
    yield (
        f"This is as it was when the release was made (ledger entry {charged.entry}). Later "
        "releases of the same records add to it, and only the ledger knows them."
    )


def standing_words(standing: Standing) -> str:
    """The sums that say something.

    >>> standing_words(Standing(Fraction(1, 2)))
    'ε 0.5'
    >>> standing_words(Standing(Fraction(0), Fraction(1, 100), Fraction(1, 50)))
    'ρ 0.02, δ 0.01'
    """
    said = [f"ε {show(standing.epsilon)}"] if standing.epsilon or not standing.rho else []
    said += [f"ρ {show(standing.rho)}"] if standing.rho else []
    said += [f"δ {show(standing.delta)}"] if standing.delta else []
    return ", ".join(said)


def epsilon_after(published: Published) -> Fraction | None:
    """ε of all releases together, at the δ of the limit or of this release; None if unknown."""
    charged = published.charged
    if not charged.by_zcdp:
        return charged.spent_after.epsilon
    limit = charged.limit.delta if charged.limit is not None else Fraction(0)
    return charged.spent_after.epsilon_at(limit or published.guarantee.delta)


def left_words(published: Published) -> str | None:
    """What was left of the limit; None without one, or where no δ is left to say it with."""
    charged, after = published.charged, epsilon_after(published)
    if charged.limit is None:
        return None
    if charged.limit.rho:
        spent = charged.spent_after.rho + charged.spent_after.pure_rho
        return f"ρ {show(max(charged.limit.rho - spent, Fraction(0)))}"
    if after is None:
        return None
    left = max(charged.limit.epsilon - after, Fraction(0))
    return f"ε {show(rounded_down(left))}" if charged.by_zcdp else show(left)


def belief_after(published: Published) -> str | None:
    """What a belief of 50% about one person can become by all releases together, at most."""
    after = epsilon_after(published)
    return None if after is None else at_most(after, Fraction(1, 2))


def _belief(published: Published) -> str:
    half = belief_after(published)
    if half is None:
        return ""
    # Their sum is no limit: it was not there to stop anybody.
    given = (
        ", unless what earlier ones said decided how much later ones cost"
        if published.charged.by_zcdp and published.charged.limit is None
        else ""
    )
    return f" By all of them together a belief of 50% can become {half} at most{given}."
