"""Rules that bound what one user contributes. A new one is one line here."""

from crowdtally.core.registry import Entry, Registry

_HERE = "crowdtally.curator.bounding"

BOUNDINGS = Registry(
    "--bounding",
    {
        "auto": Entry(f"{_HERE}.scaling:Auto", "the least error: measures first, then decides"),
        "sra": Entry(f"{_HERE}.sampling:SRA", "a uniform sample of each user's records"),
        "hpa": Entry(f"{_HERE}.sampling:HPA", "each user's records of the most popular items"),
        "declared": Entry(f"{_HERE}.sampling:Declared", "a bound that is meant to cut nobody"),
        "dpsense": Entry(f"{_HERE}.scaling:DPSense", "rows scaled down to a sum"),
        "dpsense-s": Entry(f"{_HERE}.scaling:DPSenseS", "the same, counts scaled up again"),
    },
)
CHOICES = Registry(
    "--choose",
    {
        "rank": Entry(
            "crowdtally.curator.choices.bounds:RankChoice",
            "the bound that the right number of users exceed",
        ),
        "dpsense": Entry(
            "crowdtally.curator.choices.bounds:DPSenseChoice",
            "by the error that DPSense's algorithms expect",
        ),
        "histogram": Entry(
            "crowdtally.curator.choices.bounds:NormChoice",
            "by a noisy histogram of how long rows are (--norm l2)",
        ),
    },
)
