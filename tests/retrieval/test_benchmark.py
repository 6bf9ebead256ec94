"""`benchmarks/quality.py retrieval` and `stance` with small models."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

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
    arguments = []
    for town in TOWNS:
        stay = f"The tram of {town} should stay."
        go = f"The tram of {town} should go."
        topic = f"Trams in {town}"
        for text, attacks, supports, original in (
            ("It is quick and clean", go, stay, "attacks"),
            ("It is loud and dear", stay, go, "supports"),
        ):
            claims = {"attacks": attacks, "supports": supports, "original": original}
            record = {"id": f"{town}-{original}", "text": f"{text}, says {town}.", "topic": topic}
            arguments.append(Argument.model_validate(record | claims))
    return arguments


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    with gzip.open(folder / "claimrev-4441.jsonl.gz", "wt") as out:
        out.writelines(files.argument_line(argument) + "\n" for argument in _towns())
    return folder


def _run_quality(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *words, "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _cells(out: str, first: str) -> list[str]:
    (line,) = (line for line in out.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_each_backend_has_a_pipeline_and_a_line(data: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    # A model that finds no difference between claims.
    undecided = always(tmp_path / "undecided", "ENTAILMENT", 3.0)
    options = ("--split", "test", "--write", str(page), "--stance", f"nli:{undecided}")
    for command in (("retrieval", "--keep", str(data / "kept"), "--task", "counter"), ("stance",)):
        ran = _run_quality(data, *command, *options)
        assert ran.returncode == 0, ran.stderr
    written = page.read_text()
    assert written.startswith("before\n")
    assert written.endswith("<!-- end -->\nafter\n")
    assert "| chain | stays |" in written
    assert "| counter | goes |" not in written
    assert str(tmp_path) not in written

    # A model that finds both claims entailed alike is right half the time.
    count = str([split_of(argument.topic) for argument in _towns()].count("test"))
    assert _cells(written, "nli:undecided")[:2] == [count, "0.500 (0.500-0.500)"]


def test_a_trained_encoder_is_measured_on_held_out_topics_only(data: Path) -> None:
    ran = _run_quality(data, "retrieval", "--task", "counter", "--encoder", "trained")
    assert ran.returncode == 2
    assert "--split test" in ran.stderr
