"""Which Haar coefficients a range depends on."""

from __future__ import annotations

from crowdtally.errors import UsageError


def range_weights(levels: int, low: int, high: int) -> dict[int, float]:
    """The coefficients that the sum of the values low..high−1 depends on, with their weights.

    Node j with leaves on both sides enters with (leaves of the range in its left half − in its
    right half)/(leaves of j), the total with (leaves of the range)/2^k: at most 2k of them beside
    the total.

    >>> range_weights(2, 0, 1)
    {0: 0.25, 1: 0.25, 2: 0.5}
    """
    if not 0 <= low < high <= 1 << levels:
        raise UsageError(
            f"a range must hold at least one of {1 << levels} values: received positions {low} to "
            f"{high - 1}."
        )
    weights = {0: (high - low) / (1 << levels)}
    for level in range(levels):
        width = 1 << (levels - level)
        for end in {low // width, (high - 1) // width}:  # others lie wholly inside or outside
            start, half = end * width, end * width + width // 2
            left = max(0, min(high, half) - max(low, start))
            right = max(0, min(high, start + width) - max(low, half))
            if left != right:
                weights[(1 << level) + end] = (left - right) / width
    return dict(sorted(weights.items()))
