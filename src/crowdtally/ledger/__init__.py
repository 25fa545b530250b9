"""Budgets that cannot be overspent: what may be released, and the record of what was.

    ledger = Ledger.open()
    reservation = ledger.reserve("taxi", PrivacyUnit("user", "driver"), charge)   # durable
    ledger.start_drawing(reservation.id, staged=folder)          # durable; noise may be drawn
    ...                                                          # noise; write under another name
    ledger.mark_published(reservation.id, sha256)                # paid for; now rename it

SQLAlchemy is imported when a ledger is opened, not before.
"""

from crowdtally.ledger.accountants import SequentialComposition, ZeroConcentrated
from crowdtally.ledger.amounts import Loss
from crowdtally.ledger.balance import Balance
from crowdtally.ledger.chain import Entry, Head
from crowdtally.ledger.charge import Asked, Charge, Part
from crowdtally.ledger.errors import (
    DamagedLedgerError,
    DrawnBeforeError,
    LedgerError,
    MissingLedgerError,
    NotAllowedError,
    OverBudgetError,
    TooMuchAtOnceError,
    UnknownOutcomeError,
    VoidedError,
)
from crowdtally.ledger.events import (
    Created,
    Drawing,
    Event,
    LimitSet,
    MarkedPublished,
    Reserved,
    Voided,
    Withdrawn,
)
from crowdtally.ledger.history import Charged, Reservation, Withdrawal
from crowdtally.ledger.ledger import Ledger
from crowdtally.ledger.provenance import Author, Sources, StagedFolder
from crowdtally.ledger.verify import Problem, Verification

__all__ = [
    "Asked",
    "Author",
    "Balance",
    "Charge",
    "Charged",
    "Created",
    "DamagedLedgerError",
    "Drawing",
    "DrawnBeforeError",
    "Entry",
    "Event",
    "Head",
    "Ledger",
    "LedgerError",
    "LimitSet",
    "Loss",
    "MarkedPublished",
    "MissingLedgerError",
    "NotAllowedError",
    "OverBudgetError",
    "Part",
    "Problem",
    "Reservation",
    "Reserved",
    "SequentialComposition",
    "Sources",
    "StagedFolder",
    "TooMuchAtOnceError",
    "UnknownOutcomeError",
    "Verification",
    "Voided",
    "VoidedError",
    "Withdrawal",
    "Withdrawn",
    "ZeroConcentrated",
]
