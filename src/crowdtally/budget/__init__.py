"""Budgets that cannot be overspent: what may be released, and the record of what was.

    ledger = Ledger.open()
    reservation = ledger.reserve("taxi", PrivacyUnit("user", "driver"), charge)   # durable
    ledger.start_drawing(reservation.id, staged=folder)          # durable; noise may be drawn
    ...                                                          # noise; write under another name
    ledger.mark_published(reservation.id, sha256)                # paid for; now rename it

SQLAlchemy is imported when a ledger is opened, not before.
"""

from crowdtally.budget.audit import Problem, Verification
from crowdtally.budget.errors import (
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
from crowdtally.budget.ledger import Ledger
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.accountant import SequentialComposition
from crowdtally.budget.record.authors import Author
from crowdtally.budget.record.balance import Balance
from crowdtally.budget.record.chain import Entry, Head
from crowdtally.budget.record.charge import Asked, Charge, Part
from crowdtally.budget.record.events import (
    Created,
    Drawing,
    Event,
    LimitSet,
    MarkedPublished,
    Reserved,
    Voided,
    Withdrawn,
)
from crowdtally.budget.record.history import Charged, Reservation, Withdrawal
from crowdtally.budget.record.sources import Sources
from crowdtally.budget.record.staged import StagedFolder
from crowdtally.budget.record.zcdp import ZeroConcentrated

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
