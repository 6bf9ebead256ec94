"""The argument memory: annotated as the paper does, resumed after kills, looked up by id."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.cases import with_cases
from tests.models.by_schema import answering, called, form_of
from tests.models.scripted import Scripted
from tests.records import write_lines
from tests.refusals import expect_error
from tests.retrieval.small import BEES, changes_that_doctor_notices, opened
from tests.schemes import ANSWERS, marks
from tests.terminal import Ended, touche_rad
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.debaters.rdebater.schemes import (
    SCHEMES,
    Annotation,
    Level,
    Scheme,
    collapsed,
)
from touche_rad.plugins import annotations_of, build_index, open_index

PAPER = ("--annotate", "schemes(calls=separate)")
SINGLE = ("--annotate", "schemes(per_call=1)")
LEVELS = some.lists(some.sampled_from(list(Level)), min_size=4, max_size=4)


@pytest.fixture
def server(server: Scripted) -> Scripted:
    answering(server, ANSWERS)
    return server


def collection(count: int) -> Path:
    arguments = (Argument(id=f"{n:04}", text=f"Argument {n} on bees.") for n in range(count))
    return write_lines("arguments.jsonl", map(files.argument_line, arguments))


def run_index(source: Path, place: str, server: Scripted, *options: str, code: int = 0) -> Ended:
    """Call the command; annotate with schemes unless the options say otherwise."""
    words = ("index", source, "-o", place, "-m", f"{server.url}#tiny", *options)
    if "--annotate" not in options:
        words += ("--annotate", "schemes")
    return touche_rad(*words, code=code)


def stored_annotations(place: str) -> Any:
    """The stored annotations, or None."""
    return annotations_of(open_index(place)).get(SCHEMES)


def read_annotations(place: str, *ids: str) -> list[Any]:
    stored = stored_annotations(place).get_all(ids)
    return [record and Annotation.model_validate(record) for record in stored]


@pytest.mark.parametrize("calls", ["merged", "separate"])
def test_each_argument_has_its_schemes_with_labels_and_reasons(
    server: Scripted, calls: str
) -> None:
    place = "ix"
    schemes = ("--annotate", f"schemes(calls={calls})")
    run_index(collection(9), place, server, *schemes)
    assert len(stored_annotations(place)) == 9
    for argument in open_index(place).arguments():
        (annotation,) = read_annotations(place, argument.id)
        expected = marks(argument.text)
        assert annotation.schemes == tuple(expected)
        for scheme, labels in expected.items():
            levels = annotation.marks[scheme].levels
            assert {dimension: level.word for dimension, level in levels.items()} == labels
            reason = f"of {argument.text[:20]}".strip() if calls == "separate" else ""
            assert annotation.marks[scheme].reason == reason
    assert read_annotations(place, "nobody") == [None]
    assert changes_that_doctor_notices(place, "annotations") == ["records.jsonl"]


def test_lean_asks_once_for_four_arguments_and_the_paper_twice_for_each(server: Scripted) -> None:
    source = collection(9)
    run_index(source, "lean", server)
    assert called(server) == ["Together"] * 3
    forms = [form_of(body)["$defs"]["Numbered"]["properties"] for body in server.asked]
    assert {form["number"]["minimum"] for form in forms} == {1}
    assert sorted(form["number"]["maximum"] for form in forms) == [1, 4, 4]
    server.asked.clear()
    run_index(source, "paper", server, *PAPER)
    texts = [f"Argument {n} on bees." for n in range(9)]
    assert called(server).count("Schemes") == 9
    assert called(server).count("Scoring") == sum(bool(marks(text)) for text in texts)


@pytest.mark.parametrize("fourth", ["Robustness", "Defeasibility"])
def test_the_papers_other_names_of_the_dimensions_are_read(server: Scripted, fourth: str) -> None:
    labels = {"Acceptability": "good", "inference": "poor", "Relevance": "good", fourth: "average"}
    scheme = Scheme.VALUE.value
    answering(server, {"Schemes": {scheme: {"reason": "R"}}, "Scoring": {scheme: labels}})
    run_index(collection(1), "ix", server, *PAPER)
    (annotation,) = read_annotations("ix", "0000")
    words = [level.word for level in annotation.marks[Scheme.VALUE].levels.values()]
    assert words == ["good", "poor", "good", "average"]


@with_cases(("schemes", "labels"), "retrieval/schemes_to_ignore.json")
def test_a_scheme_without_labels_and_an_unknown_one_are_ignored(
    server: Scripted, schemes: dict[str, Any], labels: dict[Any, str]
) -> None:
    answering(server, {"Schemes": schemes, "Scoring": {Scheme.VALUE.value: labels}})
    run_index(collection(1), "ix", server, *PAPER)
    (annotation,) = read_annotations("ix", "0000")
    assert annotation.marks == {}


def test_a_second_time_nothing_is_asked_and_other_settings_are_refused(server: Scripted) -> None:
    source = collection(5)
    run_index(source, "ix", server)
    server.asked.clear()
    run_index(source, "ix", server)
    refused = run_index(source, "ix", server, *PAPER, code=2)
    assert "ix" in refused.error
    assert not server.asked


def test_a_model_that_is_down_stops_the_making_and_the_same_settings_resume_it(
    server: Scripted,
) -> None:
    source = collection(130)
    place = "ix"
    run_index(source, place, server, "--max-calls", "64", *SINGLE, code=1)
    assert stored_annotations(place) is None
    server.asked.clear()
    refused = run_index(source, place, server, *SINGLE, "-O", "model.temperature=0.2", code=2)
    assert "model was" in refused.error
    assert not server.asked
    run_index(source, place, server, *SINGLE)
    assert len(server.asked) == 130 - 64
    assert len(stored_annotations(place)) == 130


def test_an_argument_that_is_left_out_is_asked_for_alone_and_at_last_has_none(
    server: Scripted,
) -> None:
    def leave_out_the_second(prompt: str) -> dict[str, Any]:
        rows = ANSWERS["Together"](prompt)["arguments"]
        return {"arguments": [row for row in rows if row["number"] != 2]}

    answering(server, {"Together": leave_out_the_second})
    run_index(collection(4), "ix", server)
    assert called(server) == ["Together", "Together"], "argument 0001 is second: asked for alone"
    assert all(read_annotations("ix", "0000", "0001", "0002", "0003"))
    assert len(stored_annotations("ix")) == 4


def test_what_no_answer_fits_is_not_annotated_and_says_why(server: Scripted) -> None:
    def refuse_the_second(prompt: str) -> Any:
        return "No." if "Argument 1 " in prompt else ANSWERS["Together"](prompt)

    answering(server, {"Together": refuse_the_second})
    run_index(collection(3), "ix", server, *SINGLE)
    first, second, third = read_annotations("ix", "0000", "0001", "0002")
    assert first is not None
    assert second is None
    assert third is not None
    assert len(stored_annotations("ix")) == 2


def test_annotations_belong_to_the_arguments_of_its_index(server: Scripted) -> None:
    assert not opened(BEES, "bees").annotations
    run_index(collection(3), "ix", server)
    shutil.copytree("ix/annotations", "bees/annotations")
    with expect_error("another collection"):
        annotations_of(open_index("bees"))
    build_index(BEES, "ix", replace=True)
    assert stored_annotations("ix") is None


@given(LEVELS)
def test_the_mean_goes_to_the_nearest_label_and_a_half_goes_down(levels: list[Level]) -> None:
    named = [int(level) for level in levels if level]
    if named:
        rest = sum(named) / len(named) - collapsed(levels)
        assert -0.5 < rest <= 0.5
    else:
        assert collapsed(levels) is Level.NONE
