"""A scene: some commands in a folder of its own, and the texts that they end in."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from same import seams
from same.texts import Mask, folder_text, said

SEPARATOR = " / "
"""Between a scene and one of its cases."""


@dataclass(frozen=True)
class Scene:
    """Cases that share a folder."""

    name: str
    play: Callable[[Stage], None]
    quick: bool = False
    """Whether ``--quick`` plays it."""
    needs: str = ""
    """``spark`` or ``postgres``: scenes that need one are played by one process."""


@dataclass
class Stage:
    """Where a scene is played."""

    scene: str
    folder: Path
    quick: bool
    """Whether only quick cases are wanted."""
    places: dict[str, str] = field(default_factory=dict)
    """Texts that differ between runs, such as a server's address, and what stands for each."""
    found: dict[str, str] = field(default_factory=dict)
    """The text of each case."""
    marked: set[str] = field(default_factory=set)
    """The cases that are quick."""

    def seed(self, case: str) -> None:
        """What is drawn follows from the case alone, not from what was drawn before it."""
        seams.seed(f"{self.scene}{SEPARATOR}{case}")

    def note(self, case: str, *parts: str, quick: bool = True) -> None:
        """Keep the text of a case."""
        mask = Mask({str(self.folder): "<folder>", **self.places})
        name = f"{self.scene}{SEPARATOR}{case}"
        if name in self.found:
            raise ValueError(f"two cases are called {name}")
        self.found[name] = mask("\n".join(parts))
        if quick:
            self.marked.add(name)

    def run(self, *arguments: object) -> str:
        """What a command ends in."""
        ended = seams.command(*map(str, arguments))
        return f"exit {ended.code}\n-- out\n{ended.out}\n-- err\n{ended.err}"

    def case(
        self, case: str, *arguments: object, files: tuple[str, ...] = (), quick: bool = True
    ) -> None:
        """A command, and the files or folders that it leaves."""
        if self.quick and not quick:
            return
        self.seed(case)
        told = self.run(*arguments)
        self.note(case, told, *(folder_text(self._held(name)) for name in files), quick=quick)

    def _held(self, name: str) -> Path:
        """The folder of that name; a single file is put into one."""
        path = self.folder / name
        if not path.is_file():
            return path
        inside = self.folder / f"only {name}"
        inside.mkdir()
        shutil.copy(path, inside)
        return inside

    def write(self, name: str, text: str) -> Path:
        """A file for a command to read."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


def played(scene: Scene, quick: bool) -> Stage:
    """The cases of a scene; what fails there is told, and a case of its own."""
    # Lines are broken by the length of a path: it is the same wherever there is a /tmp.
    place = "/tmp" if Path("/tmp").is_dir() else None
    home = Path(tempfile.mkdtemp(prefix="crowdtally-equal-", dir=place)).resolve()
    before = Path.cwd()
    stage = Stage(scene.name, home, quick)
    os.environ.update(HOME=str(home), XDG_DATA_HOME=str(home / "data"), TMPDIR=str(home))
    os.chdir(home)
    tempfile.tempdir = str(home)
    try:
        scene.play(stage)
    except Exception as failure:
        said(f"{scene.name} failed:\n{traceback.format_exc()}")
        stage.note("failed", type(failure).__name__)
    finally:
        os.chdir(before)
        tempfile.tempdir = None
        shutil.rmtree(home, ignore_errors=True)
    return stage
