"""Small data for each table of a paper, made of the demo's, and an endpoint with examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bench.known_answers import KNOWN
from tests.demo import CLAIMS, CONTESTS, DEBATES, LABELS
from tests.models.scripted import Handler, content
from tests.records import copy_lines, read_records, write_lines
from tests.terminal import touche_rad
from touche_rad.models.examples import example

TEAMS = {"OG": "pro", "OO": "con", "CG": "pro", "CO": "con"}
PEOPLE = (
    "emotional_appeal",
    "argument_clarity",
    "argument_arrangement",
    "topic_relevance",
    "fact_authenticity",
    "logical_validity",
)


def write_small_data(folder: Path) -> Path:
    """Write the files of all tables under the names that they expect."""
    copy_lines(CLAIMS, folder / "claims.tsv", 2)
    debates = DEBATES.read_text("utf-8")
    labels = LABELS.read_text("utf-8")
    # Twice, because 80 of 120 turns are examples that are left out of table 2.
    (folder / "debates.jsonl").write_text(debates * 2, "utf-8")
    (folder / "labels.jsonl").write_text(labels * 2, "utf-8")
    (folder / "short").mkdir()
    copy_lines(DEBATES, folder / "short" / "debates.jsonl")
    contests = read_records(CONTESTS)
    for number, contest in enumerate(contests[:2]):
        first, second = contest["sides"]
        contest["debaters"] = {first: "LLaMA-8B", second: "Inspire-LLaMA-8B"}
        contest["gold"]["scores"] = {
            first: dict.fromkeys(PEOPLE, 5 + number),
            second: dict(zip(PEOPLE, (1, 2, 3, 4, 5, 9), strict=True)),
        }
    lines = "".join(f"{json.dumps(contest)}\n" for contest in contests[:2])
    for name in ("debateart.jsonl", "contests.jsonl"):
        (folder / name).write_text(lines, "utf-8")
    teams = []
    for contest in contests[:2]:
        speeches = [
            {**speech, "speaker": team}
            for team, speech in zip(TEAMS, contest["speeches"], strict=False)
        ]
        record = {**contest, "debaters": {}, "sides": TEAMS, "speeches": speeches}
        teams.append(json.dumps({**record, "gold": {"general": "OO"}}))
    write_lines(folder / "bp.jsonl", teams)
    touche_rad(
        f"train examples {folder}/debates.jsonl {folder}/labels.jsonl --count 5",
        *f"-o {folder}/examples.jsonl".split(),
    )
    return folder


def command_of(name: str, data: Path, model: str) -> list[str]:
    """Return the command that runs a table, with a model of its own for each given one."""
    folder = data / "short" if name.startswith("rdebater/") and name != "rdebater/table2" else data
    names = KNOWN["models"].get(name, ())
    models = [f"--model-of={row}={model}-{number}" for number, row in enumerate(names)]
    words = ["bench", "run", f"paper:{name}", "--data", str(folder), "-m", model, "-i", "demo"]
    return [*words, *models, "-o", "out"]


def example_answer(handler: Handler) -> None:
    """Answer with an example of the schema, or with yes."""
    wanted = handler.body.get("response_format", {}).get("json_schema")
    text = "yes"
    if wanted:
        number = sum(str(handler.body["messages"]).encode())
        text = json.dumps(varied(example(wanted["schema"]), number))
    content(text)(handler)


def varied(value: Any, number: int) -> Any:
    """Let the scores depend on what is asked: equal scores have no correlation."""
    if isinstance(value, dict):
        return {
            key: varied(field, number - place) for place, (key, field) in enumerate(value.items())
        }
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return 1 + number % 9 if isinstance(value, int) else number % 9 / 10
