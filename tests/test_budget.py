"""The size of the project stays below its ceilings, so that what is added is paid for."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from retrieval.index.engine import pisa_is_here
from touche_rad.demo import open_demo

ROOT = Path(__file__).parent.parent
PRODUCT = ("touche_rad", "retrieval", "judges")


def paths(folders: Iterable[str], *endings: str) -> list[Path]:
    """Return the files below some folders, without compiled ones."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return [
        path
        for path in found
        if "__pycache__" not in path.parts and (not endings or path.suffix in endings)
    ]


def lines(files: Iterable[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in files)


@pytest.mark.parametrize(
    ("folders", "endings", "most"),
    [
        (PRODUCT, (".py",), 50_000),
        (PRODUCT, (".js", ".css"), 1_600),
        (("tests",), (".py",), 36_000),
        (("benchmarks",), (".py",), 2_260),
    ],
)
def test_the_lines_of_code_stay_below_the_ceiling(
    folders: tuple[str, ...], endings: tuple[str, ...], most: int
) -> None:
    assert lines(paths(folders, *endings)) <= most


@pytest.mark.parametrize(("folders", "most"), [(PRODUCT, 700_000), (("benchmarks",), 200_000)])
def test_the_data_stay_below_the_ceiling(folders: tuple[str, ...], most: int) -> None:
    data = [path for path in paths(folders) if path.suffix not in (".py", ".js", ".css")]
    assert sum(path.stat().st_size for path in data) <= most


def test_the_formatter_is_never_overruled() -> None:
    files = paths((*PRODUCT, "tests", "benchmarks"), ".py")
    marks = ("# fmt: " + "skip", "# fmt: " + "off")
    assert [path for path in files if any(mark in path.read_text("utf-8") for mark in marks)] == []


@pytest.mark.parametrize(
    ("command", "functions", "files"), [("respond", 180, 25), ("serve", 62, 12), ("judge", 260, 27)]
)
def test_the_path_of_a_request_stays_short(command: str, functions: int, files: int) -> None:
    open_demo()  # the first time, the demo's index is made
    trace = [sys.executable, ROOT / "benchmarks" / "trace.py", command]
    run = subprocess.run(trace, capture_output=True, text=True, check=True, cwd=ROOT)
    entered = re.search(r"(\d+) files, (\d+) functions", run.stdout)
    assert entered is not None
    own_engine = command == "respond" and not pisa_is_here()
    assert int(entered[1]) <= files + own_engine
    assert int(entered[2]) <= functions


@pytest.mark.parametrize(
    ("counted", "most"),
    [(lambda text: len(text.split()), 28_070), (lambda text: 1, 27)],
    ids=["words", "pages"],
)
def test_the_documents_stay_below_the_ceiling(counted: Callable[[str], int], most: int) -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    pages += (ROOT / "docs" / "fidelity").glob("*.md")
    assert sum(counted(page.read_text("utf-8")) for page in pages) <= most


COMMON_WORDS = ("Plan", "Recipe", "Sample", "Mark", "Report", "Engine", "Pool", "Estimate")


@pytest.mark.parametrize("word", COMMON_WORDS)
def test_a_common_word_names_one_class_at_most(word: str) -> None:
    line = re.compile(rf"^class {word}\b", re.MULTILINE)
    named = [path for path in paths(PRODUCT, ".py") if line.search(path.read_text("utf-8"))]
    assert len(named) <= 1


def test_no_command_passes_its_options_as_a_dictionary() -> None:
    commands = paths(("touche_rad/cli",), ".py")
    untyped = re.compile(r"\*\*given|given\[")
    assert [path.name for path in commands if untyped.search(path.read_text("utf-8"))] == []


def test_one_context_variable_has_the_call() -> None:
    found = [
        path.name for path in paths(PRODUCT, ".py") if "ContextVar(" in path.read_text("utf-8")
    ]
    assert found == ["__init__.py"]
