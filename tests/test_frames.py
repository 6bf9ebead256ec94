"""The files of runs as DataFrames, and the same rows from `score --per`."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.cases import with_cases
from tests.demo import CLAIMS, DEBATES, LABELS
from tests.records import copy_lines, read_records, write_lines, write_records
from tests.refusals import expect_error
from tests.terminal import touche_rad
from touche_rad import files, frames

QRELS = "irds:touche-rad/demo/counter/qrels"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("frames")
    for judge in ("grounded", "length"):
        touche_rad("judge -q", DEBATES, "-j", judge, "-o", f"{judge}.jsonl", cwd=place)
    touche_rad("judge -j grice -o outcomes.jsonl -q", DEBATES, cwd=place)
    touche_rad("retrieve irds:touche-rad/demo/counter -i demo -r text -o text.run", cwd=place)
    return place


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    """Each test has its own copies of the files."""
    shutil.copytree(folder, ".", dirs_exist_ok=True)


def rows_of(line: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(touche_rad(f"score {line}").out)))


def test_each_verdict_is_a_row_in_a_frame_and_in_csv() -> None:
    runs = ("grounded.jsonl", "length.jsonl")
    frame = frames.verdicts(*runs)
    assert set(frame["turn"]) == {1, 2, 3}
    assert dict(frame.dtypes) == dict(frames.verdicts().dtypes)
    rows = rows_of("grounded.jsonl length.jsonl --per turn")
    assert [row["reason"] for row in rows] == frame["reason"].tolist()
    by_debate = rows_of("grounded.jsonl length.jsonl --per debate")
    assert [*by_debate[0]] == ["run", "debate", "claim", "criterion", "yes", "yes_of"]
    record = read_records("grounded.jsonl")[0]
    verdict = record["userTurnsEvaluations"][0]["Quality"]
    first = frame.query("criterion == 'quality' and debate == 'debate-1'").iloc[0]
    assert [first["score"], first["reason"]] == [verdict["score"], verdict["explanation"]]


def test_rows_without_labels_have_the_mean_of_the_table() -> None:
    first, *others = Path("grounded.jsonl").read_text("utf-8").splitlines()
    damaged = json.loads(others[0])
    del damaged["userTurnsEvaluations"][0]["Quality"]
    # A debate is given twice, two are lost, and a verdict is missing.
    lines = [first, first, json.dumps(damaged), "{}", *others[2:], "{}"]
    run = "grounded.jsonl"
    write_lines(run, lines)
    frame = frames.verdicts(run)
    assert len(frame) == 252
    means = frame.groupby("criterion")["yes"].mean().to_dict()
    scored = touche_rad("score --json", run).json["rows"]
    assert means == pytest.approx({row["maxim"]: row["yes"] for row in scored[1:]})
    missing = frame[frame["score"].isna()]
    assert missing["reason"].value_counts().to_dict() == {
        "missing or lost debate": 24,
        "no verdict": 1,
    }
    by_debate = rows_of(f"{run} --per debate")
    assert sum(int(row["yes_of"]) for row in by_debate) == len(frame)
    assert len(by_debate) == 84
    debates = [debate.claim for debate in files.read_debates(DEBATES)]
    both = frames.agreement(run, labels=LABELS, debates=DEBATES)
    assert all(row.claim in ("", debates[int(row.debate) - 1]) for row in both.itertuples())


@pytest.mark.parametrize(
    "order", [[*reversed(range(20))], [*range(20), 3], [7, 7, *range(12)], [*range(20)]]
)
def test_documented_frames_agree_with_the_scores(order: list[int]) -> None:
    lines = Path("grounded.jsonl").read_text("utf-8").splitlines()
    write_lines("grounded.jsonl", [lines[place] for place in order])
    Path("touche_rad").symlink_to(ROOT / "touche_rad")
    block = (ROOT / "docs/notebook.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(block, names)
    accuracy = names["both"].dropna(subset="label").groupby(["run", "criterion"])["agree"].mean()
    runs = ("grounded.jsonl", "length.jsonl")
    scored = touche_rad("score --json", *runs, LABELS, "--debates", DEBATES).json
    rows = {(row["run"], row["maxim"]): row["accuracy"] for row in scored["rows"]}
    assert accuracy.to_dict() == pytest.approx({key: rows[key] for key in accuracy.index})
    scores = [
        verdict["score"]
        for place in set(order)
        for turn in json.loads(lines[place])["userTurnsEvaluations"]
        for verdict in turn.values()
    ]
    verdicts = names["verdicts"]
    assert not verdicts.duplicated(["run", "debate", "turn", "criterion"]).any()
    assert verdicts.groupby("debate")["claim"].nunique().max() == 1
    responses = frames.responses(*runs)
    judged = verdicts.dropna(subset="score")
    joined = judged.merge(responses, "left", ["run", "debate", "turn"], validate="m:1")
    assert joined["claim_x"].equals(joined["claim_y"])
    yes = verdicts.groupby("run")["yes"].mean()
    assert yes["grounded"] == sum(score > 0.5 for score in scores) / 240
    with expect_error("expected verdicts"):
        frames.agreement(*runs, DEBATES, labels=LABELS)


def test_responses_outcomes_and_calls_have_their_places() -> None:
    responses = frames.responses(DEBATES)
    debate = next(files.read_debates(DEBATES))
    assert responses["response"].iloc[0] == debate.turns[0].response.content
    assert responses["cited"].iloc[0] == [cited.id for cited in debate.turns[0].response.arguments]
    outcomes = frames.outcomes("outcomes.jsonl")
    assert set(outcomes["debate"]) == {f"debate-{number}" for number in range(1, 21)}
    assert outcomes["score"].notna().any()
    answer = dict.fromkeys(("quantity", "quality", "relation", "manner"), "yes")
    write_records("model.jsonl", {"answer": answer})
    asking = "-m scripted:model.jsonl --trace -q"
    touche_rad(f"judge {DEBATES} -j zsl -o zsl.jsonl {asking}")
    calls = frames.calls("zsl.jsonl")
    assert set(calls["turn"]) == {1, 2, 3}
    assert len(calls) >= 60
    assert calls["prompt_tokens"].sum() >= 60
    assert dict(calls.dtypes) == dict(frames.calls().dtypes)
    claims = copy_lines(CLAIMS, "claims.tsv", 3)
    play = f"simulate {claims} -i demo -d composed --user model -o played.jsonl"
    touche_rad(f"{play} {asking}", code=1)
    trace = read_records("played.jsonl.trace.jsonl")
    assert len(frames.calls("played.jsonl")) == len(trace) > 0


def test_measures_of_ir_measures_by_query() -> None:
    frame = frames.retrieval("text.run", qrels=QRELS, measures=["AP", "nDCG@5"])
    means = frame.groupby("measure")["value"].mean()
    assert set(means.index) == {"AP", "nDCG@5"}
    measures = f"text.run {QRELS} -M AP -M nDCG@5"
    scored = touche_rad(f"score --json {measures}").json
    assert {row["measure"]: row["value"] for row in scored["rows"]} == pytest.approx(
        means.to_dict()
    )
    assert len(rows_of(f"{measures} --per query")) == len(frame)


@with_cases(("words", "part"), "calls_without_rows.tsv")
def test_what_has_no_rows_is_refused(words: str, part: str) -> None:
    shutil.copy(LABELS, "labels.jsonl")
    refused = touche_rad(f"score {words}", code=2)
    assert part in " ".join(refused.err.split())
