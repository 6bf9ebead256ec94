"""The files of runs as DataFrames, and the same rows from `score --per`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.records import copy_lines, read_records
from tests.refusals import expect_error
from tests.terminal import touche_rad
from touche_rad import files, frames
from touche_rad.demo import demo_file

DEBATES = demo_file("debates.jsonl")
ROOT = Path(__file__).parents[1]
LABELS = demo_file("labels.jsonl")
QRELS = "irds:touche-rad/demo/counter/qrels"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("frames")
    for judge in ("grounded", "length"):
        touche_rad("judge", DEBATES, "-j", judge, "-o", f"{judge}.jsonl", "-q", cwd=place)
    touche_rad("judge", DEBATES, "-j", "grice", "-o", "outcomes.jsonl", "-q", cwd=place)
    queries = ("irds:touche-rad/demo/counter", "-i", "demo", "-r", "text")
    touche_rad("retrieve", *queries, "-o", "text.run", cwd=place)
    return place


def rows_of(folder: Path, *words: str | Path) -> list[dict[str, str]]:
    ended = touche_rad("score", *words, cwd=folder)
    return list(csv.DictReader(io.StringIO(ended.out)))


def test_each_verdict_is_a_row_in_a_frame_and_in_csv(folder: Path) -> None:
    runs = [folder / "grounded.jsonl", folder / "length.jsonl"]
    frame = frames.verdicts(*runs)
    assert set(frame["turn"]) == {1, 2, 3}
    assert dict(frame.dtypes) == dict(frames.verdicts().dtypes)
    rows = rows_of(folder, *(path.name for path in runs), "--per", "turn")
    assert [row["reason"] for row in rows] == frame["reason"].tolist()
    by_debate = rows_of(folder, *(path.name for path in runs), "--per", "debate")
    assert [row["claim"] for row in by_debate] == [
        row["claim"] for row in rows if row["turn"] == "1"
    ]
    record = read_records(folder / "grounded.jsonl")[0]
    verdict = record["userTurnsEvaluations"][0]["Quality"]
    first = frame.query("criterion == 'quality' and debate == 'debate-1'").iloc[0]
    assert [first["score"], first["reason"]] == [verdict["score"], verdict["explanation"]]


def test_rows_without_labels_have_the_mean_of_the_table(folder: Path, tmp_path: Path) -> None:
    first, *others = (folder / "grounded.jsonl").read_text("utf-8").splitlines()
    damaged = json.loads(others[0])
    del damaged["userTurnsEvaluations"][0]["Quality"]
    # A debate is given twice, two are lost, and a verdict is missing.
    lines = [first, first, json.dumps(damaged), "{}", *others[2:], "{}"]
    run = tmp_path / "grounded.jsonl"
    run.write_text("\n".join(lines))
    frame = frames.verdicts(run)
    assert len(frame) == 252
    means = frame.groupby("criterion")["yes"].mean().to_dict()
    scored = touche_rad("score", run, "--json").json["rows"]
    assert means == pytest.approx({row["maxim"]: row["yes"] for row in scored[1:]})
    missing = frame[frame["score"].isna()]
    assert missing["reason"].value_counts().to_dict() == {"lost debate": 24, "no verdict": 1}
    by_debate = rows_of(tmp_path, run, "--per", "debate")
    assert sum(int(row["yes_of"]) for row in by_debate) == len(frame)
    assert len(by_debate) == 84
    debates = [debate.claim for debate in files.read_debates(DEBATES)]
    both = frames.agreement(run, labels=LABELS, debates=DEBATES)
    assert all(row.claim in ("", debates[int(row.debate) - 1]) for row in both.itertuples())


@pytest.mark.parametrize(
    "order", [[*reversed(range(20))], [*range(20), 3], [7, 7, *range(12)], [*range(20)]]
)
def test_documented_frames_agree_with_the_scores(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: list[int]
) -> None:
    lines = (folder / "grounded.jsonl").read_text("utf-8").splitlines()
    text = "".join(f"{lines[place]}\n" for place in order)
    (tmp_path / "grounded.jsonl").write_text(text, "utf-8")
    (tmp_path / "length.jsonl").symlink_to(folder / "length.jsonl")
    (tmp_path / "touche_rad").symlink_to(ROOT / "touche_rad")
    monkeypatch.chdir(tmp_path)
    block = (ROOT / "docs/notebook.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(block, names)
    accuracy = names["both"].dropna(subset="label").groupby(["run", "criterion"])["agree"].mean()
    runs = ("grounded.jsonl", "length.jsonl")
    words = (*runs, LABELS, "--debates", DEBATES)
    scored = touche_rad("score", *words, "--json", cwd=tmp_path).json
    rows = {(row["run"], row["maxim"]): row["accuracy"] for row in scored["rows"]}
    assert accuracy.to_dict() == pytest.approx({key: rows[key] for key in accuracy.index})
    scores = [
        verdict["score"]
        for place in set(order)
        for turn in json.loads(lines[place])["userTurnsEvaluations"]
        for verdict in turn.values()
    ]
    assert names["table"].mean()["grounded"] == sum(score > 0.5 for score in scores) / 240
    with expect_error("expected verdicts"):
        frames.agreement(*runs, DEBATES, labels=LABELS)


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
    touche_rad(*words, "-o", tmp_path / "zsl.jsonl")
    calls = frames.calls(tmp_path / "zsl.jsonl")
    assert set(calls["turn"]) == {1, 2, 3}
    assert len(calls) >= 60
    assert calls["prompt_tokens"].sum() >= 60
    assert dict(calls.dtypes) == dict(frames.calls().dtypes)
    claims = copy_lines(demo_file("claims.tsv"), tmp_path / "claims.tsv", 3)
    words = ("simulate", claims, "-i", "demo", "-d", "composed", "--user", "model", *words[4:])
    touche_rad(*words, "-o", tmp_path / "played.jsonl", code=1)
    trace = read_records(tmp_path / "played.jsonl.trace.jsonl")
    assert len(frames.calls(tmp_path / "played.jsonl")) == len(trace) > 0


def test_measures_of_ir_measures_by_query(folder: Path) -> None:
    frame = frames.retrieval(folder / "text.run", qrels=QRELS, measures=["AP", "nDCG@5"])
    means = frame.groupby("measure")["value"].mean()
    assert set(means.index) == {"AP", "nDCG@5"}
    words = ("text.run", QRELS, "-M", "AP", "-M", "nDCG@5")
    scored = touche_rad("score", *words, "--json", cwd=folder).json
    assert {row["measure"]: row["value"] for row in scored["rows"]} == pytest.approx(
        means.to_dict()
    )
    assert len(rows_of(folder, *words, "--per", "query")) == len(frame)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["text.run", QRELS, "-M", "nonsense"], "-M nonsense"),
        (["text.run", QRELS, "-M", "P@0"], "above 0"),
        (["text.run", QRELS, "-M", "AP(rel=1e999)"], "above 0"),
        (["text.run", QRELS, "--per", "turn"], "--per query is"),
        (["grounded.jsonl", "--per", "query"], "--per query is not for"),
        (["grounded.jsonl", LABELS, "-M", "AP"], "--measure is not for labels"),
    ],
)
def test_what_has_no_rows_is_refused(folder: Path, words: list[Any], part: str) -> None:
    refused = touche_rad("score", *words, cwd=folder, code=2)
    assert part in " ".join(refused.err.split())
