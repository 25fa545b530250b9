"""Ways to publish counts with noise. A new one is one line here."""

from crowdtally.core.registry import Entry, Registry

_HERE = "crowdtally.curator.summaries"

PUBLISHINGS = Registry(
    "--summary",
    {
        "dense": Entry(f"{_HERE}.base:Dense", "every cell"),
        "filter": Entry(f"{_HERE}.threshold:Filter", "noisy counts of a cut or more"),
        "threshold": Entry(f"{_HERE}.threshold:Threshold", "a sample in proportion to the counts"),
        "priority": Entry(f"{_HERE}.priority:Priority", "a sample of a fixed size"),
        "filter-priority": Entry(
            f"{_HERE}.priority:FilterPriority", "a cut, then a sample of a fixed size"
        ),
    },
)
