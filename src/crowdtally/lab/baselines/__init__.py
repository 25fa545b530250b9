"""The papers' methods that Crowdtally is compared with: never a default, never released by it."""

from crowdtally.values.registry import Entry, Registry

_HERE = "crowdtally.lab.baselines"

BASELINES = Registry(
    "--methods",
    {
        "lpa": Entry(f"{_HERE}.lpa:LPA", "noise for the largest user on every count"),
    },
)
