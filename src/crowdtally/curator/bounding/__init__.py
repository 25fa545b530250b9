"""Rules that bound what one user contributes. A new one is one line here."""

from crowdtally.core.registry import Entry, Registry

_HERE = "crowdtally.curator.bounding"

BOUNDINGS = Registry(
    "--bounding",
    {
        "auto": Entry(f"{_HERE}.auto:Auto", "the least error: measures first, then decides"),
        "sra": Entry(f"{_HERE}.sra:SRA", "a uniform sample of each user's records"),
        "hpa": Entry(f"{_HERE}.hpa:HPA", "each user's records of the most popular items"),
        "declared": Entry(f"{_HERE}.sra:Declared", "a bound that is meant to cut nobody"),
        "dpsense": Entry(f"{_HERE}.dpsense:DPSense", "rows scaled down to a sum"),
        "dpsense-s": Entry(f"{_HERE}.dpsense:DPSenseS", "the same, counts scaled up again"),
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
