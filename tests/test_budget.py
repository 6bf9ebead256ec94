"""The size of the project stays below its ceilings, so that what is added is paid for."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache

import pytest

from retrieval.index.engine import pisa_is_here
from tests.size import PRODUCT, ROOT, nodes, paths, shapes
from touche_rad.demo import open_demo

PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(path for path in paths("docs", endings=(".md",)) if "reference" not in path.parts),
)
SHAPES = {
    # Mechanisms, of which there should be one.
    "Any": 200,  # but for JSON
    "except Exception": 30,  # the plugins and models of others may raise anything
    "getattr and hasattr": 60,  # abilities by name
    "changes of the working folder": 1,  # back from where a plugin went
    "context variables": 1,  # for tracing and the deadline of a call
    "starts of an event loop": 1,
    "tables keyed by the event loop": 0,
    "writing to os.environ": 1,
    # Names that do not say what a thing is.
    "class names of several modules": 6,
    "loop variables without a name": 10,
    "uses of the variable one": 0,
    "vague variables": 5,
    # Forms that have to be read twice.
    "assignments in a comprehension": 0,
    "assignments of several values": 0,
    "chained conditional expressions": 0,
    "conditions in an f-string": 2,
    "dense comprehensions": 6,
    "f-strings in an f-string": 0,
    "loops over a conditional expression": 0,
    "loops over one value": 0,
    "texts multiplied by a condition": 0,
}
"""The most of each that `tests/size.py` may count in the product. Each number only goes down."""


@pytest.mark.parametrize(
    ("folders", "most"), [(PRODUCT, 200_000), (("tests",), 190_000), (("benchmarks",), 12_000)]
)
def test_the_nodes_of_python_stay_below_the_ceiling(folders: tuple[str, ...], most: int) -> None:
    assert nodes(*folders) <= most


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_hard_to_follow_becomes_less(shape: str) -> None:
    places = _shapes()[shape]
    assert len(places) <= SHAPES[shape], "\n".join(places)


@cache
def _shapes() -> dict[str, list[str]]:
    return shapes()


def test_the_javascript_and_css_stay_below_the_ceiling() -> None:
    """At most 110 whole kB: white space around lines and the scripts of others do not count."""
    assets = paths(*PRODUCT, endings=(".js", ".css"))
    assets = [path for path in assets if path.parent.name != "vendor"]
    texts = [path.read_text("utf-8") for path in assets]
    assert sum(len(line.strip()) for text in texts for line in text.splitlines()) < 111_000


@pytest.mark.parametrize(
    ("folders", "most"),
    [(PRODUCT, 1_500_000), (("benchmarks",), 200_000)],
    ids=["product", "bench"],
)
def test_the_data_stay_below_the_ceiling(folders: tuple[str, ...], most: int) -> None:
    data = [path for path in paths(*folders) if path.suffix not in (".py", ".js", ".css")]
    assert sum(path.stat().st_size for path in data) <= most


def test_the_documents_stay_below_the_ceiling() -> None:
    words = {path: len(path.read_text("utf-8").split()) for path in PAGES}
    assert sum(words.values()) <= 30_000
    assert sum("docs" in path.parts for path in PAGES) <= 27
    assert len((ROOT / "CHANGELOG.md").read_text("utf-8").split()) <= 1_500


def test_the_formatter_is_never_overruled() -> None:
    modules = paths(*PRODUCT, "tests", "benchmarks", endings=(".py",))
    marks = ("# fmt: " + "skip", "# fmt: " + "off")
    texts = {path: path.read_text("utf-8") for path in modules}
    assert [path for path, text in texts.items() if any(mark in text for mark in marks)] == []


ENTERED = {"respond": (38, 191), "serve": (18, 70), "judge": (44, 315)}
"""The most files and functions of ours that a request enters; the aims are 160, 62, 220 functions."""


@pytest.mark.parametrize("command", ENTERED)
def test_the_path_of_a_request_stays_short(command: str) -> None:
    open_demo()  # the first time, the demo's index is made
    trace = [sys.executable, ROOT / "benchmarks" / "trace.py", command]
    run = subprocess.run(trace, capture_output=True, text=True, check=True, cwd=ROOT)
    entered = re.search(r"(\d+) files, (\d+) functions", run.stdout)
    assert entered is not None
    files, functions = ENTERED[command]
    has_our_engine = command == "respond" and not pisa_is_here()
    assert int(entered[1]) <= files + has_our_engine
    assert int(entered[2]) <= functions


COMMON_WORDS = ("Plan", "Recipe", "Sample", "Mark", "Report", "Engine", "Pool", "Estimate")


@pytest.mark.parametrize("word", COMMON_WORDS)
def test_a_common_word_names_one_class_at_most(word: str) -> None:
    line = re.compile(rf"^class {word}\b", re.MULTILINE)
    modules = paths(*PRODUCT, endings=(".py",))
    named = [path for path in modules if line.search(path.read_text("utf-8"))]
    assert len(named) <= 1


def test_no_command_passes_its_options_as_a_dictionary() -> None:
    commands = paths("touche_rad/cli", endings=(".py",))
    untyped = re.compile(r"\*\*given|given\[")
    assert [path.name for path in commands if untyped.search(path.read_text("utf-8"))] == []
