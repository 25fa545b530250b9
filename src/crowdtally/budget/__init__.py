"""Budgets that cannot be overspent: what may be released, and the record of what was.

    ledger = Ledger.open()
    reservation = ledger.reserve("taxi", PrivacyUnit("user", "driver"), charge)   # durable
    ...                                                          # noise; write under another name
    ledger.mark_published(reservation.id, sha256)                # paid for; now rename it

SQLAlchemy is imported when a ledger is opened, not before.
"""

from crowdtally.budget.accountant import Loss, SequentialComposition
from crowdtally.budget.audit import Problem, Verification
from crowdtally.budget.balance import Balance
from crowdtally.budget.chain import Entry, Head
from crowdtally.budget.errors import (
    DamagedLedgerError,
    LedgerError,
    MissingLedgerError,
    OverBudgetError,
    UnknownOutcomeError,
    VoidedError,
)
from crowdtally.budget.events import (
    Charge,
    Created,
    Event,
    LimitSet,
    MarkedPublished,
    Part,
    Reserved,
    Voided,
)
from crowdtally.budget.history import Charged, Reservation
from crowdtally.budget.ledger import Ledger
from crowdtally.budget.sources import Sources
from crowdtally.budget.staged import StagedFolder

__all__ = [
    "Balance",
    "Charge",
    "Charged",
    "Created",
    "DamagedLedgerError",
    "Entry",
    "Event",
    "Head",
    "Ledger",
    "LedgerError",
    "LimitSet",
    "Loss",
    "MarkedPublished",
    "MissingLedgerError",
    "OverBudgetError",
    "Part",
    "Problem",
    "Reservation",
    "Reserved",
    "SequentialComposition",
    "Sources",
    "StagedFolder",
    "UnknownOutcomeError",
    "Verification",
    "Voided",
    "VoidedError",
]
