"""The files of runs as DataFrames, and the same rows from `score --per`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.records import read_records
from tests.terminal import touche_rad
from touche_rad import files, frames
from touche_rad.demo import demo_file
from touche_rad.errors import UserError

DEBATES = demo_file("debates.jsonl")
LABELS = demo_file("labels.jsonl")
QRELS = "irds:touche-rad/demo/counter/qrels"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("frames")
    for judge in ("grounded", "length"):
        touche_rad("judge", DEBATES, "-j", judge, "-o", f"{judge}.jsonl", "-q", cwd=place, code=0)
    touche_rad("judge", DEBATES, "-j", "grice", "-o", "outcomes.jsonl", "-q", cwd=place, code=0)
    queries = ("irds:touche-rad/demo/counter", "-i", "demo", "-r", "text")
    touche_rad("retrieve", *queries, "-o", "text.run", cwd=place, code=0)
    return place


def rows_of(folder: Path, *words: str | Path) -> list[dict[str, str]]:
    ended = touche_rad("score", *words, cwd=folder, code=0)
    return list(csv.DictReader(io.StringIO(ended.out)))


def test_each_verdict_is_a_row_in_a_frame_and_in_csv(folder: Path) -> None:
    runs = [folder / "grounded.jsonl", folder / "length.jsonl"]
    frame = frames.verdicts(*runs)
    assert len(frame) == 2 * 60 * 4
    assert set(frame["turn"]) == {1, 2, 3}
    assert dict(frame.dtypes) == dict(frames.verdicts().dtypes)
    rows = rows_of(folder, *(path.name for path in runs), "--per", "turn")
    assert [row["reason"] for row in rows] == frame["reason"].tolist()
    record = read_records(folder / "grounded.jsonl")[0]
    score = record["userTurnsEvaluations"][0]["Quality"]["score"]
    assert frame.query("criterion == 'quality'")["score"].iloc[0] == score


def test_frames_with_labels_agree_with_the_scores(folder: Path) -> None:
    verdicts = frames.verdicts(folder / "grounded.jsonl")
    labels = frames.labels(LABELS, DEBATES)
    both = verdicts.merge(labels, on=["debate", "turn", "criterion"]).dropna(subset="label")
    assert set(both["run"]) == {"grounded"}
    right = (both["yes"] == both["label"].astype("boolean")).groupby(both["criterion"]).mean()
    scored = json.loads(touche_rad("score", "grounded.jsonl", LABELS, "--json", cwd=folder).out)
    accuracy = {row["maxim"]: row["accuracy"] for row in scored["rows"] if row["run"] == "grounded"}
    assert right.to_dict() == pytest.approx({key: accuracy[key] for key in right.index})
    for per in ("turn", "debate"):
        rows = rows_of(folder, "grounded.jsonl", LABELS, "--per", per)
        counts = [row for row in rows if row["criterion"] == "quality"]
        labelled = sum(int(row.get("labelled", row.get("label") != "")) for row in counts)
        assert labelled == len(both.query("criterion == 'quality'"))
    assert set(frames.labels(LABELS)["debate"]) == {str(number) for number in range(1, 21)}
    with pytest.raises(UserError, match="different numbers"):
        frames.labels(LABELS, demo_file("adversarial.jsonl"))


def test_responses_outcomes_and_calls_have_their_places(folder: Path, tmp_path: Path) -> None:
    responses = frames.responses(DEBATES)
    debate = next(files.read_debates(DEBATES))
    assert responses["response"].iloc[0] == debate.turns[0].response.content
    assert responses["cited"].iloc[0] == [cited.id for cited in debate.turns[0].response.arguments]
    outcomes = frames.outcomes(folder / "outcomes.jsonl")
    assert set(outcomes["debate"]) == {f"debate-{number}" for number in range(1, 21)}
    assert outcomes["score"].notna().any()
    script = tmp_path / "model.jsonl"
    answer = dict.fromkeys(("quantity", "quality", "relation", "manner"), "yes")
    script.write_text(json.dumps({"answer": answer}) + "\n")
    words = ("judge", DEBATES, "-j", "zsl", "-m", f"scripted:{script}", "--trace", "-q")
    touche_rad(*words, "-o", tmp_path / "zsl.jsonl", code=0)
    calls = frames.calls(tmp_path / "zsl.jsonl")
    assert set(calls["turn"]) == {1, 2, 3}
    assert len(calls) >= 60
    assert dict(calls.dtypes) == dict(frames.calls().dtypes)


def test_measures_of_ir_measures_by_query(folder: Path) -> None:
    frame = frames.retrieval(folder / "text.run", qrels=QRELS, measures=["AP", "nDCG@5"])
    means = frame.groupby("measure")["value"].mean()
    words = ("text.run", QRELS, "-M", "AP", "-M", "nDCG@5")
    scored = json.loads(touche_rad("score", *words, "--json", cwd=folder, code=0).out)
    assert {row["measure"]: row["value"] for row in scored["rows"]} == pytest.approx(
        means.to_dict()
    )
    assert len(rows_of(folder, *words, "--per", "query")) == len(frame)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["text.run", QRELS, "-M", "nonsense"], "-M nonsense"),
        (["text.run", QRELS, "--per", "turn"], "--per query is"),
        (["grounded.jsonl", "--per", "query"], "--per query is not for"),
        (["grounded.jsonl", LABELS, "-M", "AP"], "--measure is not for labels"),
    ],
)
def test_what_has_no_rows_is_refused(folder: Path, words: list[Any], part: str) -> None:
    refused = touche_rad("score", *words, cwd=folder, code=2)
    assert part in " ".join(refused.err.split())
