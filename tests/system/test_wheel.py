"""The package as it is installed: what it carries, and what it may be installed with."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from kit.documents import ROOT, Place, marked, sessions, shape

# ---- The package as it is installed: a wheel in an environment that does not know the checkout
#
# The environment is new and has the libraries of the tests' own, but not what is installed there
# as editable: a ``.pth`` file adds a folder of libraries and reads no other ``.pth`` file in it.


PACKAGE = ROOT / "src" / "crowdtally"
RESEARCH = ROOT / "research" / "src" / "crowdtally_research"


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by what the test extra brings, without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder, ROOT)
    (found,) = folder.glob("crowdtally-*.whl")
    return found


@pytest.fixture(scope="module")
def research(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of crowdtally-research, built in the same way."""
    folder = tmp_path_factory.mktemp("research")
    offline = ("--no-deps", "--no-build-isolation", "--no-index")
    pip("wheel", *offline, "--wheel-dir", folder, ROOT / "research")
    (found,) = folder.glob("crowdtally_research-*.whl")
    return found


@pytest.fixture(scope="module")
def programs(wheel: Path, research: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment in which both wheels are installed."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", wheel, research)
    # After the wheels: pip would take what is installed beside these libraries for an older one.
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin"


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def modules(wheel: Path) -> set[str]:
    return {name for name in names(wheel) if ".dist-info/" not in name}


def files_of(package: Path) -> set[str]:
    return {
        str(path.relative_to(package.parent))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    """Every module, the proofs beside them, the mark of its types; no test, no page of docs."""
    found = modules(wheel)
    assert found == files_of(PACKAGE)
    assert "crowdtally/py.typed" in found
    kinds = {Path(name).suffix for name in found}
    assert kinds == {".css", ".html", ".js", ".md", ".py", ".sql", ".svg", ".typed"}
    for name in ("htmx.min.js", "icon.svg", "style.css"):
        assert f"crowdtally/web/static/{name}" in found


def test_the_wheel_says_what_the_project_says(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        told = archive.read(metadata).decode()
        (entries,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        assert "crowdtally = crowdtally.cli:main" in archive.read(entries).decode()
    assert any(name.endswith("licenses/LICENSE") for name in names(wheel))
    assert any(name.endswith("licenses/LICENSES/htmx.txt") for name in names(wheel))
    assert f"\nVersion: {project['version']}\n" in told
    for dependency in project["dependencies"]:
        assert f"\nRequires-Dist: {dependency}\n" in told
    assert "\nRequires-Python: >=3.11\n" in told


def test_the_readme_works_from_the_wheel(programs: Path, tmp_path: Path) -> None:
    """Its blocks in an empty folder, by the installed program; the checkout is out of reach.

    The output that it shows is what is printed, but for its numbers. CONTRIBUTING's blocks go on
    with the files that these made.
    """
    place = Place.empty(tmp_path, programs, ("TMPDIR",))
    where = place.run(
        [str(programs / "python"), "-c", "import crowdtally; print(crowdtally.__file__)"]
    )
    assert Path(where.strip()).is_relative_to(programs.parent)
    assert not Path(where.strip()).is_relative_to(ROOT)
    assert marked(ROOT / "CONTRIBUTING.md")
    for block in marked(ROOT / "README.md") + marked(ROOT / "CONTRIBUTING.md"):
        place.run_block(block)
    for command, shown in sessions(ROOT / "README.md"):
        printed = [shape(line) for line in place.run(["sh", "-euc", command]).splitlines()]
        for line in shown:
            assert shape(line) in printed, f"{command} does not print {line!r} but {printed}"
    described = place.run(["crowdtally", "describe", "visits-release"])
    assert "What is not covered" in described
    place.run(["crowdtally", "check"])
    assert place.run(["crowdtally", "--version"]).startswith("crowdtally ")


def test_the_demonstration_is_among_the_commands_of_the_readme() -> None:
    """What ``make demo`` runs is then run from the wheel, too."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\t$(BIN)/crowdtally demo\n" in makefile
    assert any("crowdtally demo " in block.text for block in marked(ROOT / "README.md"))


def test_research_is_a_wheel_of_its_own_whose_commands_join_the_lab(
    programs: Path, research: Path, tmp_path: Path
) -> None:
    assert modules(research) == files_of(RESEARCH)
    assert any(name.endswith("licenses/LICENSE") for name in names(research))
    place = Place.empty(tmp_path, programs, ("TMPDIR",))
    code = "import crowdtally_research; print(crowdtally_research.__file__)"
    where = place.run([str(programs / "python"), "-c", code])
    assert Path(where.strip()).is_relative_to(programs.parent)
    shown = place.run(["crowdtally", "lab", "--help"])
    assert "Cannot be" not in shown
    for name in ("lookalike", "recommend", "reproduce"):
        assert f"\n  {name} " in shown
    assert "fan-jin" in place.run(["crowdtally", "lab", "reproduce"])
    made = ["lab", "lookalike", "gowalla", "-o", "gowalla.parquet", "--scale", "0.01"]
    assert place.run(["crowdtally", *made]) == "gowalla.parquet\n"


# ---- What the package must carry besides its code, and what it may be installed with -------------


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RESEARCH_PACKAGE = tomllib.loads((ROOT / "research" / "pyproject.toml").read_text("utf-8"))
ADVISORIES = tomllib.loads((ROOT / "tests" / "advisories.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    "told", [PROJECT, RESEARCH_PACKAGE], ids=lambda told: told["project"]["name"]
)
def test_types_are_shipped_as_the_metadata_say(told: dict[str, Any]) -> None:
    assert "Typing :: Typed" in told["project"]["classifiers"]
    package = told["project"]["name"].replace("-", "_")
    assert files(package).joinpath("py.typed").is_file()


def test_research_needs_the_crowdtally_that_it_lies_beside() -> None:
    (needed,) = (one for one in required() if one.name == PROJECT["project"]["name"])
    assert needed.extras == {"lab"}
    assert least(needed) <= Version(PROJECT["project"]["version"])
    for one in required():
        same = {least(other) for other in required() if other.name == one.name}
        assert len(same) == 1, f"{one.name} has several lower bounds"


def required() -> list[Requirement]:
    """Of both packages, of each extra and of the build; not a package's own extras."""
    found: list[Requirement] = []
    for told in (PROJECT, RESEARCH_PACKAGE):
        project = told["project"]
        lists = [project["dependencies"], *project["optional-dependencies"].values()]
        every = [Requirement(one) for one in sum(lists, told["build-system"]["requires"])]
        found += [one for one in every if one.name != project["name"]]
    return found


def least(requirement: Requirement) -> Version:
    (bound,) = requirement.specifier
    assert bound.operator == ">=", f"{requirement}: one lower bound, and no upper one"
    return Version(bound.version)


@pytest.mark.parametrize("advisory", ADVISORIES["advisory"], ids=lambda one: one["id"])
def test_no_version_with_a_known_advisory_is_admitted(advisory: dict[str, Any]) -> None:
    """By a stored list with its date: a test asks nobody."""
    bounds = [least(one) for one in required() if one.name.lower() == advisory["package"]]
    assert bounds, f"{advisory['package']} is no dependency any more: take its advisories away"
    assert min(bounds) >= Version(advisory["fixed_in"]), advisory["what"]


def test_every_requirement_has_a_lower_bound_alone() -> None:
    assert len({one.name for one in required()}) > 30
    for one in required():
        assert least(one)
