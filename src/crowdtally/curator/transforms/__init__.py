"""Linear maps of counts, each with the bound that its result obeys. A new one is one line here."""

from crowdtally.core.registry import Entry, Registry

_HERE = "crowdtally.curator.transforms"

TRANSFORMS = Registry(
    "--transform",
    {
        "none": Entry(f"{_HERE}.base:Untransformed", "cells as they are"),
        "dyadic": Entry(f"{_HERE}.trees:Dyadic", "counts of ranges, as a tree"),
        "haar": Entry(f"{_HERE}.trees:Haar", "integer wavelet coefficients"),
        "sketch": Entry(f"{_HERE}.base:Sketch", "a count sketch of a few buckets"),
    },
)
