"""A study by questions of one's own: judges, people, scores, and a bench, by commands."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models.scripted import Handler, content, serving
from tests.records import read_json
from tests.terminal import Ended, touche_rad
from touche_rad.demo import demo_file
from touche_rad.files.criteria import read_criteria
from touche_rad.models.examples import example

KINDS = {
    "yes-no": '["no", "yes"]',
    "scale": '[[1, "poor"], [2, "fair"], [3, "good"]]',
    "categories": '["causal", "example", "none"]',
}
MEASURES = {"yes-no": "share of yes", "scale": "mean answer", "categories": "good: causal"}
CLAIMS = 10
LABELLED = 12
PLAN = """
format = 1
name = "study"
claims = "claims.tsv"
debates = "debates.jsonl"
labels = "labels.jsonl"
criteria = "study.toml"
index = "demo"
turns = 1
samples = 100
users = { rules = "rules" }
debaters = { verbatim = "verbatim", grounded = "grounded" }
judges = { zsl = "zsl", always-yes = "always-yes" }
pages = { baselines = ["always-yes"] }
"""


def choose(handler: Handler) -> None:
    """Answer by the schema, with an answer that depends on the prompt only."""
    schema = handler.body["response_format"]["json_schema"]["schema"]
    number = zlib.crc32(json.dumps(handler.body["messages"]).encode())

    def fill(answer: Any, part: dict[str, Any]) -> Any:
        if "enum" in part:
            return part["enum"][number % len(part["enum"])]
        if isinstance(answer, dict):
            return {key: fill(answer[key], part["properties"][key]) for key in answer}
        return answer

    content(json.dumps(fill(example(schema), schema)))(handler)


@pytest.fixture
def model() -> Iterator[str]:
    with serving() as server:
        server.always = choose
        yield f"http://127.0.0.1:{server.server_address[1]}/v1#tiny"


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_goes_from_a_question_to_a_leaderboard(
    kind: str, model: str, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(
        f'name = "study"\n[good]\nquestion = "How good is it?"\nanswers = {KINDS[kind]}\n'
    )
    (tmp_path / "claims.tsv").write_bytes(demo_file("claims.tsv").read_bytes())

    def run(*words: str, code: int = 0) -> Ended:
        return touche_rad(*words, cwd=tmp_path, code=code)

    def as_json(*words: str) -> Any:
        return json.loads(run(*words, "--json").out)

    chosen = ("--criteria", "study.toml")
    runs = []
    for debater in ("verbatim", "grounded"):
        run("simulate", "claims.tsv", "-i", "demo", "-d", debater, "--turns", "1", "-o", debater)
        judge = ("judge", debater, "-j", "zsl", "-m", model, *chosen, "-o", f"{debater}.zsl")
        assert "fallback" not in run(*judge).err
        runs.append(f"{debater}.zsl")

    # People labelled some turns of both runs.
    criteria = read_criteria(str(tmp_path / "study.toml"))
    run("label", "verbatim", "grounded", *chosen, "-o", "labels.jsonl", "--summary")
    labels = tmp_path / "labels.jsonl"
    good = {"yes-no": 1, "scale": 3, "categories": "none"}[kind]
    text = labels.read_text().replace('"good": null', f'"good": {json.dumps(good)}', LABELLED)
    labels.write_text(text)

    together = "".join((tmp_path / path).read_text() for path in runs)
    (tmp_path / "all.zsl").write_text(together)
    report = as_json("score", "all.zsl", "labels.jsonl", *chosen)
    assert "most-frequent" in report["baselines"]
    row = next(row for row in report["rows"] if row["maxim"] == "good")
    assert row["labelled"] == LABELLED
    corrected = as_json("score", "all.zsl", "labels.jsonl", *chosen, "--correct")
    is_ranked = kind != "categories"
    keys = ["good"] if is_ranked else ["good: causal", "good: example", "good: none"]
    assert [row["maxim"] for row in corrected["rows"]] == keys
    leaderboard = as_json("score", *runs, "labels.jsonl", "--correct")
    assert {row["run"] for row in leaderboard["ranking"]} == set(runs)

    plan = PLAN
    if not is_ranked:  # a judge of categories asks a model
        plan = PLAN.replace(', always-yes = "always-yes"', "").replace('"always-yes"', "")
    (tmp_path / "bench.toml").write_text(plan)
    (tmp_path / "debates.jsonl").write_bytes((tmp_path / "verbatim").read_bytes())
    label = {"good": good, "criteria": criteria.tag}
    labels.write_text(f"{json.dumps([label])}\n" * CLAIMS)
    run("bench", "run", "bench.toml", "-m", model, "-o", "results")
    figures = read_json(tmp_path / "results" / "figures.json")
    assert figures["measure"] == MEASURES[kind]
    assert {debater["name"] for debater in figures["debaters"]} == {"verbatim", "grounded"}
    for debater in figures["debaters"]:
        assert list(debater["maxims"]) == keys
        assert is_ranked or debater["rank"] is None
    rows = {row["run"]: row for row in figures["judges"]["rows"] if row["maxim"] == "good"}
    if is_ranked:
        assert rows["./always-yes.jsonl"]["confusion"][-1][-1] == CLAIMS
    else:
        assert 0 < rows["zsl"]["macro_f1"] <= 1
    record = read_json(tmp_path / "results" / "record.json")
    assert set(record["inputs"]) == {"claims", "debates", "labels", "criteria"}
    run("bench", "verify", "results")
    (tmp_path / "study.toml").write_text("name = 3")
    assert "study.toml" in run("bench", "verify", "results", code=1).err
