"""The methods that a person may name, with the rules that bound users. A new one is a line here."""

from crowdtally.core.registry import Entry, Registry

_HERE = "crowdtally.curator.bounding"

BOUNDINGS = Registry(
    "--method",
    {
        "auto": Entry(f"{_HERE}.auto:Auto", "the least error: measures first, then decides"),
        "sra": Entry(f"{_HERE}.sampling:SRA", "a uniform sample of each user's records"),
        "hpa": Entry(f"{_HERE}.sampling:HPA", "each user's records of the most popular items"),
        "declared": Entry(f"{_HERE}.sampling:Declared", "a bound that is meant to cut nobody"),
        "dpsense": Entry(f"{_HERE}.scaling:DPSense", "rows scaled down to a sum"),
        "dpsense-s": Entry(f"{_HERE}.scaling:DPSenseS", "the same, counts scaled up again"),
    },
)
"""Those that go with every summary and transform, but for ``auto``, which decides itself."""
METHODS = Registry(
    BOUNDINGS.option,
    {
        **BOUNDINGS,
        "top": Entry(f"{_HERE}.rules:Top", "only the items that most users have"),
        "discover": Entry(f"{_HERE}.rules:Discover", "columns that have no public list"),
    },
)
_CHOICE = "crowdtally.curator.choices.bounds"
CHOICES = Registry(
    "choose",
    {
        "rank": Entry(f"{_CHOICE}:RankChoice", "the bound that the right number of users exceed"),
        "dpsense": Entry(
            f"{_CHOICE}:DPSenseChoice", "by the error that DPSense's algorithms expect"
        ),
        "histogram": Entry(
            f"{_CHOICE}:NormChoice", "by a noisy histogram of how long rows are (norm l2)"
        ),
    },
)
"""The private choices of a bound, which some methods have in their field ``choose``."""
