"""A study by each shipped file of questions and by one's own: judges, people, scores, and a bench."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests import demo
from tests.models.scripted import Handler, says, serving
from tests.records import read_json
from tests.terminal import touche_rad
from touche_rad.criteria import shipped_names
from touche_rad.files.criteria import read_criteria
from touche_rad.files.labels import label_value
from touche_rad.models.examples import Examples

MEASURES = {
    "grice": "share of yes",
    "argument-quality": "mean answer",
    "citations": "mean answer",
    "feedback": "share of yes",
    "debate": "winner: user",
    "mine.toml": "mean answer",
}
CLAIMS = 10
LABELLED = 8
PLAN = """
format = 1
name = "study"
claims = "claims.tsv"
debates = "debates.jsonl"
labels = "labels.jsonl"
criteria = "CRITERIA"
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
    says(anyio.run(Examples(varied=True).complete, handler.body, 9.0))(handler)


@pytest.fixture
def model() -> Iterator[str]:
    with serving() as server:
        server.always = choose
        yield f"http://127.0.0.1:{server.server_address[1]}/v1#tiny"


@pytest.mark.parametrize("name", [*shipped_names(), "mine.toml"])
def test_a_study_goes_from_a_question_to_a_leaderboard(name: str, model: str) -> None:
    mine = Path("mine.toml")
    mine.write_bytes((Path(__file__).parents[1] / mine.name).read_bytes())
    Path("claims.tsv").write_bytes(demo.CLAIMS.read_bytes())

    def as_json(line: str) -> Any:
        return touche_rad(f"{line} --json").json

    chosen = f"--criteria {name}"
    asking = f"-j zsl -m {model} {chosen}"
    runs = ("verbatim.zsl", "grounded.zsl")
    for debater in ("verbatim", "grounded"):
        touche_rad(f"simulate claims.tsv -i demo -d {debater} --turns 1 -o {debater}")
        judged = touche_rad(f"judge {debater} {asking} -o {debater}.zsl")
        assert "fallback" not in judged.err

    # People labelled some turns of both runs.
    criteria = read_criteria(name)
    kinds = {criterion.key: criterion.answers for criterion in criteria}
    best = {key: label_value(len(answers.values) - 1, answers) for key, answers in kinds.items()}
    touche_rad(f"label verbatim grounded {chosen} -o labels.jsonl --summary")
    labels = Path("labels.jsonl")
    text = labels.read_text()
    for key, label in best.items():
        text = text.replace(f'"{key}": null', f'"{key}": {json.dumps(label)}', LABELLED)
    labels.write_text(text)

    together = "".join(Path(path).read_text() for path in runs)
    Path("all.zsl").write_text(together)
    report = as_json(f"score all.zsl labels.jsonl {chosen}")
    assert {"always-yes", "most-frequent"} & {row["run"] for row in report["rows"]}
    rows = {row["maxim"]: row for row in report["rows"]}
    keys = []
    for key, answers in kinds.items():
        assert rows[key]["labelled"] == LABELLED
        names = answers.names if answers.kind == "categories" else ()
        keys += [f"{key}: {answer}" for answer in names] or [key]
    corrected = as_json(f"score all.zsl labels.jsonl {chosen} --correct")
    assert [row["maxim"] for row in corrected["rows"] if row["maxim"] != "mean"] == keys
    leaderboard = as_json("score verbatim.zsl grounded.zsl labels.jsonl --correct")
    assert {row["run"] for row in leaderboard["ranking"]} == set(runs)
    touche_rad(f"audit grounded {asking} --turns 2")
    touche_rad("report verbatim.zsl grounded.zsl -o page.html")
    # Of the labels of both runs, those of this one.
    touche_rad(f"train examples grounded labels.jsonl -o examples {chosen}")

    plan = PLAN.replace("CRITERIA", name)
    ranked = set(keys) & set(kinds)
    if len(ranked) < len(kinds):  # a judge of categories asks a model
        plan = plan.replace(', always-yes = "always-yes"', "").replace('"always-yes"', "")
    Path("bench.toml").write_text(plan)
    Path("debates.jsonl").write_bytes(Path("verbatim").read_bytes())
    line = json.dumps([{**best, "criteria": criteria.label_tags[0]}])
    labels.write_text(f"{line}\n" * CLAIMS)
    touche_rad(f"bench run bench.toml -m {model} -o results")
    figures = read_json("results/figures.json")
    assert figures["measure"] == MEASURES[name]
    assert {debater["name"] for debater in figures["debaters"]} == {"verbatim", "grounded"}
    for debater in figures["debaters"]:
        assert list(debater["maxims"]) == keys
        assert bool(ranked) == (debater["rank"] is not None)
    rows = {(row["run"], row["maxim"]): row for row in figures["judges"]["rows"]}
    for key, answers in kinds.items():
        if answers.kind == "categories":
            assert sum(map(sum, rows["zsl", key]["confusion"])) == CLAIMS
        elif len(ranked) == len(kinds):
            assert rows["always-yes.jsonl", key]["confusion"][-1][-1] == CLAIMS
    touche_rad("bench verify results")
    if name == mine.name:
        mine.write_text("name = 3")
        touche_rad("bench verify results", code=1, err=mine.name)
