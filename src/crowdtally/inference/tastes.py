"""What users of a context like, by public features of items (step F), and what items gain."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdtally.inference.lifts import Shrunk, mvshrink
from crowdtally.inference.stopping import LAPLACE

Floats = NDArray[np.float64]

_FEWEST, _HAVING = 0.05, 0.9
_STRONGEST = 1.0
"""No liking is taken to be stronger: a dozen features cannot tell a very small context from noise,
and on the scale of logarithms a chance of 2 would make items of a kind seven times as popular."""
_LEAN = 0.15
"""How far a share of records may be from the share of users, relatively."""


@dataclass(frozen=True, eq=False)
class Tastes:
    """Step F: centred profiles of users, summed per context."""

    features: Floats
    """(m, f) the share of feature f in item i, after merging; a group sums to 1."""
    sums: Floats
    """(f, h) released Σ_u w_f(P_uf − p̄_f)·scale, divided by the grid g."""
    anchors: Floats
    """(h,) released Σ_u β·scale, divided by the grid g."""
    profile: Floats
    """(f,) p̄."""
    weights: Floats
    """(f,) w."""
    anchor: float
    """β."""
    deviation: float
    """Of one cell's noise, divided by the grid g."""
    squares: float = LAPLACE
    """How far squares of that noise scatter, see :func:`~crowdtally.inference.stopping`."""


def shrunk_tastes(tastes: Tastes, shares: Floats, shares_variance: Floats, users: float) -> Shrunk:
    """B (f × h): by how much, relatively, feature f is liked more in context j than on average.

    The anchors tell how many users the sums stand for, W: a user whose row was scaled down counts
    for less than one. d_fj = (S_jf/(w_f·n_j) − plain mean over j)/p̄_f with n_j = W·share_j, which
    is blended with the context's own anchor.
    """
    people = _people(tastes, shares, shares_variance, users)
    part = people / people.sum()
    unit = tastes.weights[:, None] * people * tastes.profile[:, None]
    raw = tastes.sums / unit
    noise = (tastes.deviation / unit) ** 2
    around = (noise * part**2).sum(axis=1, keepdims=True)
    found = mvshrink(
        raw - raw @ part[:, None], noise * (1 - 2 * part) + around + np.finfo(float).tiny
    )
    return replace(found, mean=np.clip(found.mean, -_STRONGEST, _STRONGEST))


def represented(tastes: Tastes, users: float) -> float:
    """W: how many whole users the sums stand for, within 5% and all of them.

    One deviation is added to the noisy sum: too small a W would stretch every taste.
    """
    noisy = float(tastes.anchors.sum()) + np.sqrt(len(tastes.anchors)) * tastes.deviation
    return float(np.clip(noisy / tastes.anchor, _FEWEST * users, users))


def _people(tastes: Tastes, shares: Floats, shares_variance: Floats, users: float) -> Floats:
    """n_j: users of each context, at least 2.

    W·share_j is as wrong as the share, and leans to contexts of heavy users. The anchor S_jβ/β is
    unbiased and noisier where contexts are small. A share that is too small by chance would stretch
    all tastes of its context.
    """
    expected = represented(tastes, users) * shares
    own = (tastes.deviation / tastes.anchor) ** 2
    lean = expected**2 * (shares_variance + _LEAN**2)
    seen = tastes.anchors / tastes.anchor
    return np.asarray(np.maximum((own * expected + lean * seen) / (own + lean), 2.0))


def odds(mean: Floats, users: float, *, repeats: bool) -> Floats:
    """How far a liking can raise each item: less where most people have it already.

    Likings act on the odds of having an item, c/(n̂ − c): an item that everyone has cannot be more
    popular anywhere. Several records per person have no such limit.
    """
    if repeats:
        return np.ones_like(mean)
    return np.asarray(1.0 - np.minimum(np.maximum(mean, 0.0) / max(users, 1.0), _HAVING))
