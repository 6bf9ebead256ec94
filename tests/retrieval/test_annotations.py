"""The argument memory: annotated as the paper does, resumed after kills, looked up by id."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.models.by_schema import answering, called
from tests.models.scripted import Scripted
from tests.retrieval.small import BEES, changes_that_doctor_notices, opened
from tests.schemes import ANSWERS, marks
from tests.terminal import Ended
from touche_rad import cli, files
from touche_rad.debate import Argument
from touche_rad.debaters.rdebater.schemes import (
    SCHEMES,
    Annotation,
    Dimension,
    Level,
    Scheme,
    collapsed,
)
from touche_rad.errors import UserError
from touche_rad.plugins import annotations_of, build_index, open_index

PAPER = ("--annotate", "schemes(calls=separate)")
SINGLE = ("--annotate", "schemes(per_call=1)")
LEVELS = some.lists(some.sampled_from(list(Level)), min_size=4, max_size=4)


@pytest.fixture
def server(server: Scripted) -> Scripted:
    answering(server, ANSWERS)
    return server


def collection(folder: Path, count: int) -> Path:
    path = folder / "arguments.jsonl"
    made = (Argument(id=f"{n:04}", text=f"Argument {n} on bees.") for n in range(count))
    path.write_text("".join(files.argument_line(one) + "\n" for one in made))
    return path


def index(source: Path, place: Path, server: Scripted, *more: str) -> Ended:
    """Call the verb in this process."""
    words = ("index", source, "-o", place, "-m", f"{server.url}#tiny", *more)
    if "--annotate" not in more:
        words += ("--annotate", "schemes")
    with redirect_stderr(io.StringIO()) as err, redirect_stdout(io.StringIO()) as out:
        code = cli.run([str(word) for word in words])
    return Ended(code, out.getvalue(), err.getvalue())


def remembered(place: Path | str) -> Any:
    """The stored annotations, or None."""
    return annotations_of(open_index(str(place))).get(SCHEMES)


def annotations(stored: Any, ids: list[str]) -> list[Any]:
    return [one and Annotation.model_validate(one) for one in stored.get_all(ids)]


@pytest.mark.parametrize("calls", ["merged", "separate"])
def test_each_argument_has_its_schemes_with_labels_and_reasons(
    server: Scripted, tmp_path: Path, calls: str
) -> None:
    how = ("--annotate", f"schemes(calls={calls})")
    ended = index(collection(tmp_path, 9), tmp_path / "ix", server, *how)
    assert ended.code == 0, ended.err
    memory = remembered(tmp_path / "ix")
    assert len(memory) == 9
    for one in open_index(str(tmp_path / "ix")).arguments():
        (found,) = annotations(memory, [one.id])
        wanted = marks(one.text)
        assert found.schemes == tuple(wanted)
        for scheme, labels in wanted.items():
            levels = found.marks[scheme].levels
            assert {dimension: level.word for dimension, level in levels.items()} == labels
            assert found.marks[scheme].reason == f"of {one.text[:20]}".strip()
    assert annotations(memory, ["nobody"]) == [None]
    assert changes_that_doctor_notices(tmp_path / "ix", "annotations") == ["records.jsonl"]


def test_lean_asks_once_for_four_arguments_and_the_paper_twice_for_each(
    server: Scripted, tmp_path: Path
) -> None:
    source = collection(tmp_path, 9)
    index(source, tmp_path / "lean", server)
    assert called(server) == ["Together"] * 3
    server.asked.clear()
    index(source, tmp_path / "paper", server, *PAPER)
    texts = [f"Argument {n} on bees." for n in range(9)]
    assert called(server).count("Schemes") == 9
    assert called(server).count("Scoring") == sum(bool(marks(text)) for text in texts)


@pytest.mark.parametrize("fourth", ["Robustness", "Defeasibility"])
def test_the_papers_other_names_of_the_dimensions_are_read(
    server: Scripted, tmp_path: Path, fourth: str
) -> None:
    labels = {"Acceptability": "good", "inference": "poor", "Relevance": "good", fourth: "average"}
    one = Scheme.VALUE.value
    answering(server, {"Schemes": {one: {"reason": "R"}}, "Scoring": {one: labels}})
    index(collection(tmp_path, 1), tmp_path / "ix", server, *PAPER)
    (found,) = annotations(remembered(tmp_path / "ix"), ["0000"])
    words = [level.word for level in found.marks[Scheme.VALUE].levels.values()]
    assert words == ["good", "poor", "good", "average"]


@pytest.mark.parametrize(
    ("schemes", "labels"),
    [
        ({Scheme.VALUE.value: {"reason": "R"}}, dict.fromkeys(Dimension, "none")),
        ({"Shouting Argumentation": {"reason": "R"}}, {}),
    ],
)
def test_a_scheme_without_labels_and_an_unknown_one_are_ignored(
    server: Scripted, tmp_path: Path, schemes: dict[str, Any], labels: dict[Any, str]
) -> None:
    scores = {Scheme.VALUE.value: {one.value: label for one, label in labels.items()}}
    answering(server, {"Schemes": schemes, "Scoring": scores})
    index(collection(tmp_path, 1), tmp_path / "ix", server, *PAPER)
    (found,) = annotations(remembered(tmp_path / "ix"), ["0000"])
    assert found.marks == {}


def test_a_second_time_nothing_is_asked_and_another_model_is_told(
    server: Scripted, tmp_path: Path
) -> None:
    source = collection(tmp_path, 5)
    index(source, tmp_path / "ix", server)
    server.asked.clear()
    assert "annotated already" in index(source, tmp_path / "ix", server).err
    other = index(source, tmp_path / "ix", server, *PAPER)
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "to annotate again" in other.err
    assert not server.asked


def test_a_model_that_is_down_stops_the_making_and_the_same_settings_resume_it(
    server: Scripted, tmp_path: Path
) -> None:
    source, place = collection(tmp_path, 130), tmp_path / "ix"
    ended = index(source, place, server, "--max-calls", "64", *SINGLE)
    assert ended.code == 1
    assert "run the same command again" in ended.err
    assert remembered(place) is None
    server.asked.clear()
    other = index(source, place, server, *SINGLE, "-O", "model.temperature=0.2")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "is of another run: model was " in other.err
    assert not server.asked
    assert index(source, place, server, *SINGLE).code == 0
    assert len(server.asked) == 130 - 64


def test_an_argument_that_is_left_out_is_asked_for_alone_and_at_last_has_none(
    server: Scripted, tmp_path: Path
) -> None:
    def forgetful(told: str) -> dict[str, Any]:
        answer = together(told)
        return {"arguments": [one for one in answer["arguments"] if one["number"] != 2]}

    together = ANSWERS["Together"]
    answering(server, {"Together": forgetful})
    index(collection(tmp_path, 4), tmp_path / "ix", server)
    memory = remembered(tmp_path / "ix")
    assert called(server) == ["Together", "Together"], "argument 0001 is second: asked for alone"
    assert all(annotations(memory, ["0000", "0001", "0002", "0003"]))
    told = json.loads((tmp_path / "ix" / "annotations" / SCHEMES / "about.json").read_text())
    assert (told["arguments"], told["annotated"]) == (4, 4)


def test_what_no_answer_fits_is_not_annotated_and_says_why(
    server: Scripted, tmp_path: Path
) -> None:
    def refusing(told: str) -> Any:
        return "No." if "Argument 1 " in told else ANSWERS["Together"](told)

    answering(server, {"Together": refusing})
    index(collection(tmp_path, 3), tmp_path / "ix", server, *SINGLE)
    found = annotations(remembered(tmp_path / "ix"), ["0000", "0001", "0002"])
    assert [one is None for one in found] == [False, True, False]


def test_the_memory_belongs_to_the_arguments_of_its_index(server: Scripted, tmp_path: Path) -> None:
    assert not opened(BEES, tmp_path / "bees").annotations
    index(collection(tmp_path, 3), tmp_path / "ix", server)
    shutil.copytree(tmp_path / "ix" / "annotations", tmp_path / "bees" / "annotations")
    with pytest.raises(UserError, match="belongs to another collection"):
        annotations_of(open_index(str(tmp_path / "bees")))
    build_index(BEES, str(tmp_path / "ix"), replace=True)
    assert remembered(tmp_path / "ix") is None


@given(LEVELS)
def test_the_mean_goes_to_the_nearest_label_and_a_half_goes_down(levels: list[Level]) -> None:
    named = [int(level) for level in levels if level]
    if not named:
        assert collapsed(levels) is Level.NONE
    else:
        mean = sum(named) / len(named)
        one = collapsed(levels)
        assert -0.5 <= mean - one <= 0.5
        assert mean - one != -0.5, "ties go down"
