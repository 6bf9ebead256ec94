"""Agreement of annotators on labels of texts, against values worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cases import with_cases
from tests.records import read_cases, write_records
from tests.retrieval.small import annotate_by_hand, opened
from tests.terminal import touche_rad
from touche_rad.debate import Argument
from touche_rad.debaters.rdebater.schemes import Annotation, Dimension, Level, Mark, Scheme

AGENT, EXPERT = read_cases("score/annotations_of_two.json")


def write_annotations(path: str, labels: dict[str, Any]) -> Path:
    records = ({"id": text, "labels": value} for text, value in labels.items())
    return write_records(path, *records)


def annotations_of_both() -> tuple[Path, Path]:
    agent = write_annotations("agent.jsonl", AGENT)
    return agent, write_annotations("expert.jsonl", EXPERT)


def score_report(*paths: str | Path) -> dict[str, Any]:
    """Return the JSON output of `score`."""
    return touche_rad("score --json", *paths).json  # type: ignore[no-any-return]


def test_an_agent_against_an_expert() -> None:
    report = score_report(*annotations_of_both())
    (row,) = report["rows"]
    assert report["labels"] == ["Causal", "Example", "Value"]
    expected = {
        "texts": 4,
        "jaccard": (1 / 2 + 1 / 2 + 1 + 1) / 4,
        "precision": (1 / 2 + 1 + 1) / 3,  # of the texts with a label
        "recall": (1 + 1 / 2 + 1) / 3,
        "f1": (2 / 3 + 2 / 3 + 1) / 3,
        "hamming": 2 / 12,
        # 12 pairs of a text and a label: both 4, neither 6, one each 1; chance (5 * 5 + 7 * 7) / 144
        "kappa_micro": (10 / 12 - 74 / 144) / (1 - 74 / 144),
        # Causal and Example agree entirely; Value: no text in common, chance (1 * 1 + 3 * 3) / 16
        "kappa_macro": (1 + 1 + (2 / 4 - 10 / 16) / (6 / 16)) / 3,
        # 24 values, 10 yes and 14 no; 2 disagreements, counted in both orders
        "alpha": 1 - 23 * 4 / (24**2 - 10**2 - 14**2),
        # grades 3 1 2 4 against 4 2 3 3
        "grades": 4,
        "pearson": 2 / (5 * 2) ** 0.5,
    }
    assert {key: row[key] for key in expected} == pytest.approx(expected)


def test_three_annotators_have_an_alpha_of_all() -> None:
    agent, expert = annotations_of_both()
    copy = write_annotations("copy.jsonl", EXPERT)
    report = score_report(copy, agent, expert)
    assert report["rows"][1]["alpha"] < report["alpha_of_all"] < 1
    shown = touche_rad("score", copy, agent, expert).out
    alpha = f"{report['alpha_of_all']:.4f}".removeprefix("0")
    assert f"all 3 annotators: {alpha}" in shown


def test_all_seven_schemes_count_where_only_three_occur() -> None:
    scheme_of = {"Causal": Scheme.CAUSAL, "Value": Scheme.VALUE, "Example": Scheme.EXAMPLE}

    def with_schemes(labels: dict[str, Any], text: str) -> dict[str, Any]:
        return {scheme_of[label]: grade for label, grade in dict(labels[text]).items()}

    texts = ("u1", "u2", "u3", "u4")
    expert = {text: with_schemes(EXPERT, text) for text in texts}
    agent = {text: with_schemes(AGENT, text) for text in texts}
    report = score_report(
        write_annotations("agent.jsonl", agent),
        write_annotations("expert.jsonl", expert),
    )
    (row,) = report["rows"]
    assert report["labels"] == sorted(Scheme)
    # 4 texts and 7 schemes are 28 pairs: both 4, neither 22, one each 1
    assert row["hamming"] == pytest.approx(2 / 28)
    # what no text has changes neither the others nor the mean of the kappas
    (row_of_three,) = score_report(*annotations_of_both())["rows"]
    for measure in ("jaccard", "grades", "kappa_macro"):
        assert row[measure] == row_of_three[measure]


def test_the_annotations_of_an_index_are_an_annotator() -> None:
    arguments = [Argument(id=key, text=f"Text {key}.") for key in ("u1", "u2")]
    index = opened(arguments, "ix")
    good = Mark(levels=dict.fromkeys(Dimension, Level.GOOD))
    annotations = [Annotation(marks={Scheme.CAUSAL: good}), Annotation(marks={})]
    records = [annotation.model_dump(mode="json") for annotation in annotations]
    annotate_by_hand(index, records)
    labels = {"u1": {Scheme.CAUSAL.value: 3}, "u2": [Scheme.VALUE.value], "u9": []}
    expert = write_annotations("expert.jsonl", labels)
    (row,) = score_report("ix", expert)["rows"]
    assert row["texts"] == 2
    assert row["jaccard"] == 0.5


@with_cases(("labels", "reason"), "score/wrong_annotations.json")
def test_invalid_and_unrelated_annotations_are_refused(labels: dict[str, Any], reason: str) -> None:
    run = write_annotations("a.jsonl", labels)
    run.write_text(run.read_text().replace('" u1"', '"u1"'))  # a text annotated twice
    touche_rad("score", run, write_annotations("b.jsonl", EXPERT), code=2, err=reason)


def test_an_index_without_annotations_is_refused() -> None:
    opened([Argument(id="u1", text="Text.")], "ix")
    touche_rad(
        "score ix",
        write_annotations("b.jsonl", EXPERT),
        code=2,
        err="--annotate",
    )
