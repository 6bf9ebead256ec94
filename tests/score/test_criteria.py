"""Scores on criteria of any kind, by the command, with values known by hand."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.cases import with_cases
from tests.records import read_cases
from tests.report.makers import Page
from tests.score.makers import run_file, user_turn
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad import frames
from touche_rad.files.criteria import read_criteria

MINE = (Path(__file__).parents[1] / "mine.toml").read_text("utf-8")
DEBATES = 12
SCORE = "score judge.jsonl labels.jsonl --criteria mine.toml"
LABELS, ANSWERS = read_cases("score/labels_and_answers.json")
"""Labels of the turns of each debate, and answers to them."""


def verdicts_line(name: str, answers: list[tuple[str, int, str]], tag: str) -> dict[str, Any]:
    turns = []
    for clear, strong, kind in answers:
        turns.append(
            {
                "clear": {"score": float(clear == "yes"), "answer": clear, "explanation": ""},
                "strong": {"score": (strong - 1) / 2, "answer": strong, "explanation": ""},
                "kind_of": {"score": None, "answer": kind, "explanation": ""},
            }
        )
    simulation = {"userTurns": [user_turn(name, turn) for turn in range(len(answers))]}
    return {"simulation": simulation, "userTurnsEvaluations": turns, "criteria": tag}


@pytest.fixture(autouse=True)
def _study() -> None:
    """Write the verdicts of two judges on debates with labels."""
    Path("mine.toml").write_text(MINE)
    tag = read_criteria("mine.toml").tag
    names = [f"bees{number}" for number in range(DEBATES)]
    right = [
        ("yes" if label["clear"] else "no", label["strong"], label["kind_of"]) for label in LABELS
    ]
    for file, answers in (("judge", ANSWERS), ("right", right)):
        lines = [verdicts_line(name, answers, tag) for name in names]
        run_file(f"{file}.jsonl", lines)
    run_file("labels.jsonl", [LABELS] * DEBATES)


def score(line: str) -> dict[str, Any]:
    return touche_rad(f"score --criteria mine.toml --json {line}").json  # type: ignore[no-any-return]


def test_each_kind_has_its_measures_and_trivial_baselines() -> None:
    report = score("judge.jsonl labels.jsonl")
    rows = {(row["run"], row["maxim"]): row for row in report["rows"]}
    clear, strong, kind = (rows["judge", key] for key in ("clear", "strong", "kind_of"))
    # One of each cell of yes and no.
    assert (clear["f1"], clear["kappa"], clear["value"]) == (0.5, 0, 0.5)
    # Labels 1, 2, 3, 3 and answers 1, 3, 3, 2: two differ by 1. Expected squares of differences:
    # of 16 pairs, 0 0 ... = 1 * (0 + 1 + 4 + 4) + 1 * (1 + 0 + 1 + 1) + 2 * (4 + 1 + 0 + 0)
    assert strong["rmse"] == pytest.approx(0.5**0.5)
    assert strong["weighted_kappa"] == pytest.approx(1 - (2 / 4) / (22 / 16))
    # Ranks 1, 2, 3.5, 3.5 and 1, 3.5, 3.5, 2.
    assert strong["spearman"] == pytest.approx(2.25 / 4.5)
    # F1 of causal 2/3, of example 2/3, of none 1.
    assert kind["macro_f1"] == kind["value"] == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    assert kind["accuracy"] == 0.75
    assert kind["confusion"] == [[12, 12, 0, 0], [0, 12, 0, 0], [0, 0, 12, 0], [0, 0, 0, 0]]
    mean = rows["judge", "mean"]
    assert mean["value"] == pytest.approx((0.5 + strong["value"] + kind["value"]) / 3)
    assert mean["low"] == pytest.approx(mean["value"])  # all debates are alike
    assert report["baselines"] == ["most-frequent", "middle", "length"]
    assert rows["most-frequent", "strong"]["rmse"] == pytest.approx((5 / 4) ** 0.5)
    assert rows["middle", "strong"]["rmse"] == pytest.approx((3 / 4) ** 0.5)
    assert rows["most-frequent", "strong"]["value"] == rows["middle", "strong"]["value"] == 0
    assert rows["most-frequent", "kind_of"]["macro_f1"] == pytest.approx((2 / 3) / 3)


def test_the_screens_of_one_run_and_of_several() -> None:
    for screen, runs in (("one-run", "judge.jsonl"), ("several-runs", "judge.jsonl right.jsonl")):
        ended = touche_rad(f"score {runs} labels.jsonl --criteria mine.toml --samples 200")
        check_screen(f"score.criteria.{screen}", ended)


@with_cases(("label", "facts"), "score/a_label_outside_its_answers_has_its_plac.json")
def test_a_label_outside_its_answers_has_its_place(label: dict[str, Any], facts: list[str]) -> None:
    run_file("labels.jsonl", [[{**LABELS[0], **label}, *LABELS[1:]], [LABELS] * 11])
    ended = touche_rad(SCORE, code=2)
    assert ended.err.count("\n") == 1
    for fact in facts:
        assert fact in ended.err


def test_labels_of_half_of_the_criteria_are_scored_and_named() -> None:
    Path("other.jsonl").write_text(Path("judge.jsonl").read_text().replace("bees", "wasps"))
    label = "label judge.jsonl other.jsonl --criteria mine.toml --summary -o labels.jsonl --replace"
    touche_rad(label)
    template = Path("labels.jsonl").read_text()
    Path("labels.jsonl").write_text(template.replace('"clear": null', '"clear": 1'))
    people = score("judge.jsonl other.jsonl labels.jsonl")
    assert {row["maxim"] for row in people["rows"]} == {"mean", "clear"}
    report = score("judge.jsonl labels.jsonl")
    assert report["debates"] == DEBATES  # not those of the other run
    rows = {row["maxim"]: row for row in report["rows"] if row["run"] == "judge"}
    assert rows["mean"]["value"] == rows["clear"]["value"] == pytest.approx(2 / 3)
    without = [problem["maxim"] for problem in report["problems"] if problem["kind"] == "no labels"]
    assert without == ["strong", "kind_of"]


def test_a_run_of_other_criteria_is_refused() -> None:
    Path("mine.toml").write_text(MINE.replace("How strong", "Really, how strong"))
    ended = touche_rad(SCORE, code=2, err="judge.jsonl")
    assert "undo the change" in ended.err
    touche_rad("score judge.jsonl labels.jsonl", code=2, err="labels.jsonl")
    touche_rad(f"{SCORE} --strict", code=2, err="--strict")


def test_shares_and_means_are_corrected_by_kind() -> None:
    run_file("labels.jsonl", [LABELS] * 8 + [[{}] * 4] * 4)
    report = score("right.jsonl labels.jsonl --correct")
    assert report["labelled"] == {"right": 32}
    rows = {row["maxim"]: row for row in report["rows"][1:]}
    categories = [f"kind_of: {name}" for name in ("causal", "example", "none")]
    assert list(rows) == ["clear", "strong", *categories]
    # The mean of 1, 2, 3, 3, where 1 is 0 and 3 is 1, and the shares of the categories.
    for key, value in zip(rows, (0.5, 5 / 8, 0.5, 0.25, 0.25), strict=True):
        assert rows[key]["yes"] == rows[key]["judge_yes"] == pytest.approx(value)
        assert rows[key]["low"] < value < rows[key]["high"]
    assert [key for key in rows if rows[key]["f1"] is not None] == ["clear"]


def test_means_without_labels_leave_out_categories() -> None:
    ended = touche_rad("score judge.jsonl --criteria mine.toml --json")
    report = ended.json
    assert report["notes"][0].startswith("kind_of has categories")
    rows = {row["maxim"]: row["yes"] for row in report["rows"]}
    # Half are yes; answers 1, 3, 3, 2 are 0, 1, 1 and 1/2 of the scale.
    assert list(rows.values()) == pytest.approx([9 / 16, 0.5, 5 / 8, 0.25, 0.5, 0.25])
    assert list(rows)[:4] == ["mean", "clear", "strong", "kind_of: causal"]


def test_rows_of_single_verdicts_and_labels_have_the_answers_of_each_kind() -> None:
    rows = touche_rad(f"{SCORE} --per debate --json").json[:3]
    assert [(row["yes"], row["agree"]) for row in rows] == [(2, 2), (0, 2), (0, 3)]
    criteria = read_criteria("mine.toml")
    labels = frames.labels("labels.jsonl", criteria=criteria)
    assert labels["answer"].tolist()[:3] == ["yes", "1", "causal"]


def report(line: str) -> dict[str, Any]:
    touche_rad(f"report --criteria mine.toml -o page.html {line}")
    return Page("page.html").data


def test_a_report_has_the_labels_and_the_agreement_by_kind() -> None:
    data = report("judge.jsonl right.jsonl --labels labels.jsonl")
    assert data["data-debates"]["debates"][0][7:9] == ["yAAnCByCBnBCyAAyBAnCBnCC", "yAAyBAnCBnCC"]
    # Of yes and no; of the scale, as above; and of the categories, 3 of 4 of which agree.
    kappas = [0, 1 - (2 / 4) / (22 / 16), (12 - 5) / (16 - 5)]
    kappa = pytest.approx(fmean(kappas))
    assert data["report"]["agreement"]["rows"] == [[], [[1, 48]], [[kappa, 48]] * 2]
    # The mean of the judge's answers 1, 3, 3, 2 of the scale, and its most frequent category.
    tables = {table["caption"]: table["values"][0] for table in data["report"]["claims"]["tables"]}
    assert tables == {
        "Clear: share of yes": [0.5, 0.5],
        "Strong: mean answer, from 0 (1 weak) to 1 (3 strong)": [0.625, 0.625],
        "Kind of: most frequent answer": ["example", "causal"],
    }
    # The kappa of a ranking is another one, and has another name.
    names = [head for head, _ in data["report"]["boards"][0]["columns"]]
    assert ("exact kappa" in names, "kappa" in names) == (True, False)


def test_turns_on_which_people_disagree_are_counted() -> None:
    """Two differ on the first turn; on the second only one knows, and the third is no object."""
    turns: list[dict[str, Any]] = [dict(labels) for labels in LABELS]
    for turn, answers in zip(turns, ({"ana": 1, "ben": 3}, {"ana": 1, "ben": None}), strict=False):
        turn["strong"] = None
        turn["annotators"] = {name: {"strong": answer} for name, answer in answers.items()}
    turns[2] |= {"strong": None, "annotators": {"ana": 1, "ben": 3}}
    run_file("labels.jsonl", [turns] * DEBATES)
    rows = score("judge.jsonl labels.jsonl --correct")["rows"]
    assert [row["unsettled"] for row in rows] == [None, 0, DEBATES, 0, 0, 0]
    left_out = f"strong: {DEBATES} turns left out: people disagree"
    touche_rad(f"{SCORE} --correct", out=left_out)
    data = report("judge.jsonl --labels labels.jsonl")["report"]
    assert left_out in str(data["faults"])


def test_a_verdict_on_a_whole_debate_stands_at_its_last_turn() -> None:
    Path("mine.toml").write_text(f'unit = "debate"\n{MINE}')
    line = verdicts_line("bees", ANSWERS, read_criteria("mine.toml").tag)
    del line["userTurnsEvaluations"][1:]
    run_file("judge.jsonl", [line])
    (debate,) = report("judge.jsonl")["data-debates"]["debates"]
    assert debate[7] == "---------yAA"
