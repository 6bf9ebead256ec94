"""`benchmarks/quality.py retrieval` and `stance` and `stance` with small models."""

from __future__ import annotations

import gzip
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from retrieval._tasks import split_of
from tests.nli import always
from touche_rad import files
from touche_rad.debate import Argument

pytestmark = pytest.mark.long
SCRIPT = Path(__file__).parents[2] / "benchmarks/quality.py"
TOWNS = (
    "Alton Brill Corby Dunmow Ely Frome Glossop Hexham Ilkley Jarrow Keswick Ludlow Malton Nantwich "
    "Oakham Penrith Quorn Ripon Selby Thirsk Ulverston Ventnor Whitby Yarm"
).split()
PAGE = """before
<!-- benchmarks/quality.py -->

**chain**, 1 queries

| chain | stays |

**counter/test**, 1 queries

| counter | goes |
<!-- end -->
after
"""


def _towns() -> list[Argument]:
    """In each town somebody is for the tram and somebody against it."""
    found = []
    for town in TOWNS:
        stay, go = f"The tram of {town} should stay.", f"The tram of {town} should go."
        common = {"topic": f"Trams in {town}"}
        for said, attacks, supports, original in (
            ("It is quick and clean", go, stay, "attacks"),
            ("It is loud and dear", stay, go, "supports"),
        ):
            claims = {"attacks": attacks, "supports": supports, "original": original}
            text = f"{said}, says {town}."
            record = {"id": f"{town}-{original}", "text": text, **common, **claims}
            found.append(Argument.model_validate(record))
    return found


@dataclass(frozen=True)
class World:
    """A collection, and a model that finds no difference between claims."""

    data: Path
    undecided: Path


def _write(arguments: list[Argument], data: Path) -> None:
    data.mkdir()
    with gzip.open(data / "claimrev-4441.jsonl.gz", "wt") as out:
        out.writelines(files.argument_line(one) + "\n" for one in arguments)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("world")
    _write(_towns(), root / "data")
    return World(root / "data", always(root / "undecided", "ENTAILMENT", 3.0))


def _ran(world: World, *words: str, data: Path | None = None) -> Any:
    """Run `retrieval`, unless the words begin with another command."""
    kept = data or world.data
    command = [] if words[0] == "stance" else ["retrieval", "--keep", str(kept / "kept")]
    return subprocess.run(
        [sys.executable, str(SCRIPT), *command, *words, "--data", str(kept)],
        capture_output=True,
        text=True,
        check=False,
    )


def _cells(out: str, first: str) -> list[str]:
    (line,) = (line for line in out.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_each_backend_has_a_pipeline_and_a_line(world: World, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    stances = ("--stance", f"nli:{world.undecided}")
    for command in (("--task", "counter"), ("stance",)):
        ran = _ran(world, *command, "--split", "test", "--write", str(page), *stances)
        assert ran.returncode == 0, ran.stderr
    written = page.read_text()
    assert written.startswith("before\n")
    assert written.endswith("<!-- end -->\nafter\n")
    assert "| chain | stays |" in written
    assert "| counter | goes |" not in written
    assert str(world.data.parent) not in written

    # A model that finds both claims entailed alike is right half the time.
    count = str(sum(split_of(one.topic) == "test" for one in _towns()))
    assert _cells(written, "nli:undecided")[:2] == [count, "0.500 (0.500-0.500)"]


def test_a_trained_encoder_is_measured_on_held_out_topics_only(world: World) -> None:
    ran = _ran(world, "--task", "counter", "--encoder", "trained")
    assert ran.returncode == 2
    assert "a trained encoder is measured with --split test" in ran.stderr
