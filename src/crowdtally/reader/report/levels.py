"""The words of a report, level by level, in the order in which each rests on the next.

The order is that of NIST SP 800-226: the guarantee itself, what can undermine it, what it rests on.
Sentences about a release come from ``describe``; here are those about its curator, which no
release can know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from crowdtally.format import Published
from crowdtally.format.manifest import AUTO, STATED, UNCUT
from crowdtally.reader.describe import promise
from crowdtally.reader.describe.description import Section
from crowdtally.reader.describe.protection import bounding_lines, exactness_line, noise_lines
from crowdtally.reader.describe.tables import declared_lines, subject_line
from crowdtally.reader.describe.words import statement, who, whom_lines


@dataclass(frozen=True)
class Level:
    """One level: it holds only as far as those below it do."""

    name: str
    """What programs know it by."""
    title: str
    words: str
    sections: tuple[Section, ...]


def levels(published: Published) -> tuple[Level, ...]:
    known = (subject_line(published), *declared_lines(published))
    return (
        _level(
            "guarantee",
            "The guarantee",
            "What is promised to each person in the data, whatever anyone else knows or does.",
            ("odds", "What ε means as odds", promise.promise_lines(published)),
            ("remark", "A remark on so large an ε", promise.remark_lines(published)),
            ("unit", "Who is protected, and what is compared", whom_lines(published)),
            ("bounded", "What one person counts at most", bounding_lines(published)),
            ("public", "What was taken as public", promise.public_lines(published)),
            ("not_covered", "What is not covered", promise.unprotected_lines(published)),
        ),
        _level(
            "undermining",
            "What can undermine it",
            "The guarantee is mathematics. It holds as far as what carries it out does.",
            ("mechanism", "The mechanism", noise_lines(published)),
            ("exactness", "Exactness", _exactness(published)),
            ("side_channels", "Side channels", _SIDE_CHANNELS),
            ("storage", "Storage and access", _STORAGE),
            ("trust", "Whom one has to trust", _trust(published)),
            ("accuracy", "Usefulness and bias", promise.accuracy_lines(published)),
        ),
        _level(
            "resting",
            "What it rests on",
            "How the data came to be. A release cannot make good what was collected wrongly.",
            ("known", "What the release knows", known),
            ("to_say", "What whoever holds the records must say", _to_say(published)),
        ),
    )


def _level(name: str, title: str, words: str, *sections: tuple[str, str, Iterable[str]]) -> Level:
    made = (Section(short, head, tuple(lines)) for short, head, lines in sections)
    return Level(name, title, words, tuple(one for one in made if one.lines))


def _exactness(published: Published) -> Iterator[str]:
    yield exactness_line(published)
    yield (
        "Counts and noise are whole numbers, and ε and its parts are exact fractions: no rounding "
        "of floating-point numbers decides what is released. The parts of ε add up exactly."
    )
    versions = published.metadata.get("versions", {})
    if "crowdtally" in versions:
        yield (
            f"It was made by crowdtally {versions['crowdtally']}. The proofs lie beside that "
            "version's code; whether it was that code is not something a release can prove."
        )


_SIDE_CHANNELS = (
    "The guarantee is about the release, not about its making. How long a run took, its exit code, "
    "its remarks to whoever ran it and the load of the machine are outside: they must be kept "
    "from readers.",
    "By default the records do not decide whether a release appears. Where somebody stopped a run "
    "because of what was in the records, or ran it again with other lists, that is outside too.",
)
_STORAGE = (
    "Everything in the release's folder may be shown to anyone. What it was made from may not: "
    "records, joined tables, the engine's temporary files and backups are protected by access "
    "rights alone, and a theft there is not touched by any ε.",
    "The hashes in the folder show accidents. A change on purpose shows only beside the ledger, "
    "which is kept by whoever charged the release.",
)


def _trust(published: Published) -> Iterator[str]:
    yield (
        f"Central model: the curator, who ran the program, saw every {who(published)}'s records. "
        "The promise is about readers of the release, not about the curator."
    )
    yield (
        "One has to trust that the curator ran the program unchanged, on the records named, kept "
        "back what it told besides, and charged every release of the same people to one ledger."
    )
    method = published.method
    if method.bounding == STATED:
        yield statement(published)
    if method.bounding not in (*UNCUT, AUTO) and method.chosen_by is None:
        yield (
            "The bound was the curator's choice. One that was chosen by looking at the records is "
            "a leak that this report cannot see."
        )


def _to_say(published: Published) -> Iterator[str]:
    person = who(published)
    yield "Who is in the data and who is missing; from when to when it was collected, and by whom."
    yield "On which legal ground it was collected, what people were told, and whether they agreed."
    if published.guarantee.unit == "bounded-elsewhere":
        yield (
            "Who bounded the rows of each person before they reached the curator, how, and how "
            "that is known: the release does not show it."
        )
    elif published.guarantee.unit in ("row", "person"):
        yield (
            "Whether nobody is in several rows: whoever is, is protected for each of them alone."
        )
    else:
        yield (
            f"Whether the column that tells {person}s apart does: several ids of one person, or "
            "one id of several, change what the guarantee protects."
        )
    yield "What was done to the records before: cleaning, guessing of types, joining, sampling."
    if not all(one.is_discovered for one in published.domain.lists):
        yield "Where the public lists come from, and that nobody took them from the records."
    yield "Which other releases of the same people there are, under whatever name."
    yield "How long the records are kept, and who may see them."
