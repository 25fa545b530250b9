"""The pages of research: its commands and options, and its map."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.render import RESEARCH, RESEARCH_DOCS, rendered, research_tables
from kit.command import COMMANDS, PLUGGED

RESEARCH_ROOT = Path(__file__).parents[1]


def test_every_command_of_research_is_plugged_in_and_has_its_page() -> None:
    assert {f"crowdtally {name}" for name in RESEARCH} == PLUGGED


@pytest.mark.parametrize("name", RESEARCH)
def test_every_option_is_on_the_page_of_its_command(name: str) -> None:
    page = RESEARCH_DOCS / RESEARCH[name]
    text = page.read_text(encoding="utf-8")
    assert f"\n## crowdtally {name}\n" in text
    assert rendered(text, research_tables()[page]) == text, "run python tests/docs/render.py"
    section = text.partition(f"\n## crowdtally {name}\n")[2]
    command = COMMANDS[f"crowdtally {name}"]
    flags = {flag for p in command.params if p.param_type_name == "option" for flag in p.opts}
    for flag in flags - {"--debug"}:
        assert f"`{flag}`" in section, f"{page.name} does not explain {flag}"
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section)) <= flags


def test_everything_on_the_map_exists() -> None:
    text = (RESEARCH_ROOT / "README.md").read_text(encoding="utf-8")
    known = {path.name for path in RESEARCH_ROOT.rglob("*")}
    named = set(re.findall(r"`(?:[\w]+/)*([\w]+(?:\.py|/))`", text))
    assert len(named) > 10
    assert {name.rstrip("/") for name in named} - known == set()
