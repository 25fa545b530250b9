"""The papers' methods that Crowdtally is compared with: never a default, never released by it."""

from crowdtally.core.registry import Entry, Registry

_HERE = "crowdtally.lab.baselines"

BASELINES = Registry(
    "--methods",
    {
        "lpa": Entry(f"{_HERE}.base:LPA", "noise for the largest user on every count"),
        "alpa": Entry(f"{_HERE}.base:ALPA", "the noisy total, spread evenly over all cells"),
        "dft": Entry(f"{_HERE}.dft:DFT", "the first noisy coefficients of a cosine transform"),
        "gs": Entry(f"{_HERE}.gs:GS", "noisy means of groups of cells that look alike"),
    },
)
