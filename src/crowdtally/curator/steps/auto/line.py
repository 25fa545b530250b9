"""The steps of ``auto`` in the order in which they are taken. A new one joins the list here."""

from __future__ import annotations

from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.sizes import SizesStep
from crowdtally.curator.steps.step import Step


def auto_steps(design: Design) -> tuple[Step, ...]:
    """All steps; which of them run is decided on the way."""
    return (SizesStep(design),)
