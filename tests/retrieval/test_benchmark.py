"""`benchmarks/quality.py retrieval` and `stance` with trained models."""

from __future__ import annotations

import gzip
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from retrieval.stance.trained import report_of
from tests.nli import always, by_chance
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import trainer

pytestmark = pytest.mark.long
SCRIPT = Path(__file__).parents[2] / "benchmarks/quality.py"
TOWNS = (
    "Alton Brill Corby Dunmow Ely Frome Glossop Hexham Ilkley Jarrow Keswick Ludlow Malton Nantwich "
    "Oakham Penrith Quorn Ripon Selby Thirsk Ulverston Ventnor Whitby Yarm"
).split()
FOLDS = 3
PAGE = """before
<!-- benchmarks/quality.py -->

**chain**, 1 queries

| chain | stays |

**counter**, 1 queries

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
    """A collection, a model that finds no difference between claims, and one model a fold."""

    data: Path
    undecided: Path
    folds: tuple[Path, ...]

    @property
    def trained(self) -> str:
        return "trained:" + ",".join(map(str, self.folds))


def _written(arguments: list[Argument], data: Path) -> Path:
    data.mkdir()
    path = data / "claimrev-4441.jsonl.gz"
    with gzip.open(path, "wt") as out:
        out.writelines(files.argument_line(one) + "\n" for one in arguments)
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("world")
    collection = _written(_towns(), root / "data")
    base, folds = by_chance(root / "base"), []
    for number in range(1, FOLDS + 1):
        folds.append(root / f"fold{number}")
        trainer("stance")(
            collection, folds[-1], base=str(base), held_out=f"{number}/{FOLDS}", epochs=2, rate=0.01
        )
    return World(root / "data", always(root / "undecided", "ENTAILMENT", 3.0), tuple(folds))


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
    stances = ("--stance", f"nli:{world.undecided}", "--stance", world.trained)
    for command in (("--task", "counter"), ("stance",)):
        ran = _ran(world, *command, "--write", str(page), *stances)
        assert ran.returncode == 0, ran.stderr
    written = page.read_text()
    assert written.startswith("before\n")
    assert written.endswith("<!-- end -->\nafter\n")
    assert "| chain | stays |" in written
    assert "| counter | goes |" not in written
    assert str(world.data.parent) not in written

    # A model that finds both claims entailed alike is right half the time.
    assert _cells(written, "nli:undecided")[:2] == ["48", "0.500 (0.500-0.500)"]

    # Each argument is decided by the model that never saw its topic, as its report measured it.
    reports = [report_of(folder) for folder in world.folds]
    right = sum((one.after or 0) * one.tested_on for one in reports) / 48
    count, accuracy = _cells(written, "trained:fold1,fold2,fold3")[:2]
    assert count == "48"
    assert float(accuracy.split()[0]) == pytest.approx(right, abs=1e-3)


def test_a_model_is_not_asked_of_topics_that_it_saw(world: World) -> None:
    of_one_fold = ("--stance", f"trained:{world.folds[0]}")
    ran = _ran(world, "stance", *of_one_fold)
    assert _cells(ran.stdout, "rules")[0] == "48"
    assert _cells(ran.stdout, "trained:fold1")[0] == str(report_of(world.folds[0]).tested_on)


def test_a_model_of_another_collection_is_refused(world: World, tmp_path: Path) -> None:
    _written(_towns()[:-2], tmp_path / "data")
    words = ("stance", "--stance", world.trained)
    ran = _ran(world, *words, data=tmp_path / "data")
    assert ran.returncode == 1
    assert "trained on another collection" in ran.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--stance", "nli:one/model", "--stance", "nli:another/model"), "have the same name"),
        (("--task", "counter", "--beside", "stella"), "--beside needs --encoder"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    world: World, words: tuple[str, ...], told: str
) -> None:
    ran = _ran(world, *words)
    assert ran.returncode == 2
    assert told in ran.stderr
