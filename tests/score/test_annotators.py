"""Agreement of annotators on labels of texts, against values worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.retrieval.small import annotate_by_hand, opened
from tests.terminal import touche_rad
from touche_rad import cli
from touche_rad.debate import Argument
from touche_rad.debaters.rdebater.schemes import SCHEMES, Annotation, Dimension, Level, Mark, Scheme
from touche_rad.score.measures import alpha

AGENT = {
    "u1": {"Causal": 3, "Value": 2},
    "u2": {"Causal": 1},
    "u3": [],
    "u4": {"Example": 4, "Causal": 2},
}
EXPERT = {
    "u1": {"Causal": 4},
    "u2": {"Causal": 2, "Value": 3},
    "u3": {"Causal": 0},
    "u4": {"Example": 3, "Causal": 3},
    "u5": ["Value"],
}


def written(place: Path, labels: dict[str, Any]) -> Path:
    lines = [json.dumps({"id": key, "labels": of}) for key, of in labels.items()]
    place.write_text("\n".join(lines) + "\n")
    return place


def scored(capsys: pytest.CaptureFixture[str], *paths: Path) -> dict[str, Any]:
    assert cli.run(["score", *map(str, paths), "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_an_agent_against_an_expert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = scored(
        capsys, written(tmp_path / "agent.jsonl", AGENT), written(tmp_path / "expert.jsonl", EXPERT)
    )
    (row,) = report["rows"]
    assert report["labels"] == ["Causal", "Example", "Value"]
    assert row["texts"] == 4
    assert row["jaccard"] == pytest.approx((1 / 2 + 1 / 2 + 1 + 1) / 4)
    assert row["precision"] == pytest.approx((1 / 2 + 1 + 1) / 3), "of the texts with a label"
    assert row["recall"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert row["f1"] == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    assert row["hamming"] == pytest.approx(2 / 12)
    # 12 pairs of a text and a label: both 4, neither 6, one each 1; chance (5 * 5 + 7 * 7) / 144
    assert row["kappa_micro"] == pytest.approx((10 / 12 - 74 / 144) / (1 - 74 / 144))
    # Causal and Example agree entirely; Value: no text in common, chance (1 * 1 + 3 * 3) / 16
    assert row["kappa_macro"] == pytest.approx((1 + 1 + (2 / 4 - 10 / 16) / (6 / 16)) / 3)
    # 24 values, 10 yes and 14 no; 2 disagreements, counted in both orders
    assert row["alpha"] == pytest.approx(1 - 23 * 4 / (24**2 - 10**2 - 14**2))
    # grades 3 1 2 4 against 4 2 3 3
    assert row["grades"] == 4
    assert row["pearson"] == pytest.approx(2 / (5 * 2) ** 0.5)


def test_perfect_agreement_and_three_annotators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expert, copy = (written(tmp_path / f"{name}.jsonl", EXPERT) for name in ("expert", "copy"))
    (row,) = scored(capsys, copy, expert)["rows"]
    assert row["jaccard"] == 1
    assert row["hamming"] == 0
    assert row["alpha"] == 1
    assert row["kappa_micro"] == row["kappa_macro"] == row["precision"] == 1
    agent = written(tmp_path / "agent.jsonl", AGENT)
    report = scored(capsys, copy, agent, expert)
    assert report["rows"][1]["alpha"] < report["alpha_of_all"] < 1
    assert cli.run(["score", str(copy), str(agent), str(expert)]) == 0
    assert "of all 3 annotators" in capsys.readouterr().out


def test_all_seven_schemes_count_where_only_three_occur(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = {"Causal": Scheme.CAUSAL, "Value": Scheme.VALUE, "Example": Scheme.EXAMPLE}

    def schemes(labels: dict[str, Any]) -> dict[str, Any]:
        return {key: {of[one]: grade for one, grade in labels[key].items()} for key in labels}

    expert = schemes({key: EXPERT[key] for key in ("u1", "u2", "u3", "u4")})
    agent = schemes({**AGENT, "u3": {}})
    paths = written(tmp_path / "agent.jsonl", agent), written(tmp_path / "expert.jsonl", expert)
    report = scored(capsys, *paths)
    (row,) = report["rows"]
    assert report["labels"] == sorted(Scheme)
    # 4 texts and 7 schemes are 28 pairs: both 4, neither 22, one each 1
    assert row["hamming"] == pytest.approx(2 / 28)
    chance = (5 * 5 + 23 * 23) / 28**2
    assert row["kappa_micro"] == pytest.approx((26 / 28 - chance) / (1 - chance))
    # 56 values, 10 yes and 46 no; 2 disagreements, counted in both orders
    assert row["alpha"] == pytest.approx(1 - 55 * 4 / (56**2 - 10**2 - 46**2))
    # what no text has changes neither of these, nor the mean of the kappas
    assert row["jaccard"] == 0.75
    assert row["grades"] == 4
    assert row["kappa_macro"] == pytest.approx((1 + 1 + (2 / 4 - 10 / 16) / (6 / 16)) / 3)


def test_alpha_ignores_units_with_one_value_and_needs_two_values() -> None:
    units = [("a", "a"), ("b", "b"), ("a", "b")]
    assert alpha([*units, ("b",), ()]) == alpha(units)
    assert alpha([("a", "a"), ("a", "a", "a")]) is None


def test_the_annotations_of_an_index_are_an_annotator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [Argument(id=key, text=f"Text {key}.") for key in ("u1", "u2")]
    index = opened(arguments, tmp_path / "ix")
    good = Mark(levels=dict.fromkeys(Dimension, Level.GOOD))
    annotations = [Annotation(marks=marks) for marks in ({Scheme.CAUSAL: good}, {})]
    annotate_by_hand(index, SCHEMES, [one.model_dump(mode="json") for one in annotations])
    expert = {"u1": {Scheme.CAUSAL.value: 3}, "u2": [Scheme.VALUE.value], "u9": []}
    (row,) = scored(capsys, tmp_path / "ix", written(tmp_path / "expert.jsonl", expert))["rows"]
    assert row["texts"] == 2
    assert row["jaccard"] == 0.5


@pytest.mark.parametrize(
    "labels", [{"u1": {"A": -1}}, {"u1": "A"}, {"other": ["Value"]}, {"u1": ["A"], " u1": ["B"]}]
)
def test_invalid_and_unrelated_annotations_are_refused(
    labels: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, expert = written(tmp_path / "a.jsonl", labels), written(tmp_path / "b.jsonl", EXPERT)
    run.write_text(run.read_text().replace('" u1"', '"u1"'))  # a text annotated twice
    assert cli.run(["score", str(run), str(expert)]) == 2
    assert capsys.readouterr().err


def test_an_index_without_annotations_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened([Argument(id="u1", text="Text.")], tmp_path / "ix")
    assert cli.run(["score", str(tmp_path / "ix"), str(written(tmp_path / "b.jsonl", EXPERT))]) == 2
    assert "run touche-rad index --annotate NAME" in capsys.readouterr().err


def test_a_bad_annotator_is_listed_and_the_others_are_compared(tmp_path: Path) -> None:
    good, gold = written(tmp_path / "a.jsonl", AGENT), written(tmp_path / "e.jsonl", EXPERT)
    strange = written(tmp_path / "strange.jsonl", {"x": ["Causal"]})
    ended = touche_rad("score", strange, good, gold)
    assert ended.code == 1
    assert "not scored: strange and the truth have no text in common" in ended.err
