"""The whole paper, quickly: every panel is drawn, every claim is judged, nothing is run twice."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from crowdtally_research.reproducing import reproduction
from crowdtally_research.reproducing.figure import AUTO
from crowdtally_research.reproducing.papers.fan_jin import PAPER
from crowdtally_research.reproducing.reproduction import Question, reproduced


@pytest.mark.long
def test_every_panel_has_numbers_and_auto_and_every_claim_a_verdict(tmp_path: Path) -> None:
    with mock.patch.object(reproduction, "papers", return_value=(PAPER,)):
        question = Question.of("fan-jin", None, quick=True, jobs=2)
        found = reproduced(question, tmp_path / "out")
    assert [one.figure.name for one in found] == [figure.name for figure in PAPER.figures]
    for one in found:
        for panel in one.figure.panels:
            lines = one.numbers.lines(panel.name)
            assert lines[-1] == AUTO or "figure 7" in panel.title, (one.figure.name, panel.name)
        for claim, judged in one.judged:
            assert judged.found, claim.words
            assert one.figure.name == "6" or "nothing was measured" not in judged.found
    assert (tmp_path / "out" / "pictures" / "fan-jin-table5.svg").is_file()
