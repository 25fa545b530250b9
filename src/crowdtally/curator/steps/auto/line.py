"""The steps of ``auto`` in the order in which they are taken. A new one joins the list here."""

from __future__ import annotations

from crowdtally.core.layout import HEAD_ROWS, TASTES
from crowdtally.curator.converse import Step
from crowdtally.curator.steps.auto.bins import Bins
from crowdtally.curator.steps.auto.contexts import Contexts
from crowdtally.curator.steps.auto.crowd import Crowd
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.head import Head
from crowdtally.curator.steps.auto.head_rows import HeadRows, HeadRowsAgain
from crowdtally.curator.steps.auto.items import Items
from crowdtally.curator.steps.auto.pilot import Pilot
from crowdtally.curator.steps.auto.planned import PlannedStep
from crowdtally.curator.steps.auto.sizes import SizesStep
from crowdtally.curator.steps.auto.split_head import SplitHead
from crowdtally.curator.steps.auto.stop import LookStep, Unsaid
from crowdtally.curator.steps.auto.tastes import Tastes, TastesAgain
from crowdtally.curator.steps.auto.zoom import Zoom


def auto_steps(design: Design) -> tuple[Step, ...]:
    """All steps; which of them run is decided on the way."""
    return (
        SizesStep(design),
        PlannedStep(Pilot(design)),
        PlannedStep(Crowd(design)),
        PlannedStep(Items(design)),
        Unsaid(design, PlannedStep(Contexts(design))),
        LookStep(design, PlannedStep(Tastes(design)), PlannedStep(HeadRows(design))),
        PlannedStep(Zoom(design)),
        PlannedStep(Bins(design)),
        PlannedStep(Head(design)),
        Unsaid(design, PlannedStep(SplitHead(design))),
        Unsaid(design, PlannedStep(Tastes(design))),
        Unsaid(design, PlannedStep(TastesAgain(design)), after=TASTES.name),
        Unsaid(design, PlannedStep(HeadRows(design))),
        Unsaid(design, PlannedStep(HeadRowsAgain(design)), after=HEAD_ROWS.name),
    )
