"""An endpoint that scores speakers by marks in their speeches, so that a table's values are known.

A speech says MARK-a, and `known.toml` has the scores of a. Speakers without marks are scored by
their places.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from tests.models.by_schema import prompt_of, schema_of
from tests.models.scripted import Handler, content
from tests.records import read_records, write_records
from touche_rad.models.examples import example

KNOWN = tomllib.loads(Path(__file__).with_name("known.toml").read_text("utf-8"))
NAMED = {"argument": "debater_2", "source": "debater_1", "language": "tie"}
"""The winners by dimension that judges name; the second debater in the others."""
SCORES = {"source": (9, 7, 1, 1), "language": (2, 9, 1, 1)}
"""The scores of the debaters by dimension; the first one is best in the others."""
TEAMS = {
    "First": ("debater_2", "debater_2", "debater_4"),
    "Second": ("debater_2", "debater_3", "debater_4"),
}
"""The teams that judges name with each random seed, by the first word of the motion."""


def write_known_data(folder: Path) -> Path:
    """Write debates with marks, labels that messages say, and annotations over small data."""
    contests = read_records(folder / "contests.jsonl")
    for contest, marks in zip(contests, ("ab", "cd"), strict=True):
        for place, speech in enumerate(contest["speeches"]):
            speech["text"] = f"MARK-{marks[place % 2]} says {place}."
        for side, mark in zip(contest["sides"], marks, strict=True):
            contest["gold"]["scores"][side]["general"] = KNOWN["people"][mark]
            if mark == "a":
                contest["gold"]["scores"][side]["topic_relevance"] = 9
    write_records(folder / "contests.jsonl", *contests)

    contest = read_records(folder / "debateart.jsonl")[0]
    first, second = contest["sides"]
    gold = dict.fromkeys(("general", "argument", "source", "language"), first)
    shorter = []
    for number, winner in enumerate((first, second)):
        changes = {"id": f"debate {number}", "speeches": contest["speeches"][:2]}
        votes = {"general": {first: 3, second: 1}}
        shorter.append({**contest, **changes, "gold": {**gold, "argument": winner, "votes": votes}})
    write_records(folder / "debateart.jsonl", *shorter)
    teams = read_records(folder / "bp.jsonl")
    for team, motion, winner in zip(teams, TEAMS, ("OO", "CO"), strict=True):
        team |= {"motion": f"{motion} motion", "gold": {"general": winner}}
    write_records(folder / "bp.jsonl", *teams)

    debate = read_records(folder / "short/debates.jsonl")[0]
    for place, turn in enumerate(debate["simulation"]["userTurns"]):
        turn["utterance"] = f"MARK-none says {place}."
        turn["systemResponse"]["utterance"] = f"MARK-none answers {place}."
        turn["systemResponse"]["response"]["content"] = f"MARK-none answers {place}."
    write_records(folder / "short/debates.jsonl", debate)

    for name, texts in KNOWN["annotations"].items():
        records = [{"id": key, "labels": labels} for key, labels in texts.items()]
        write_records(folder / "short" / name, *records)

    labels = []
    debates = []
    for number in range(32):
        verdicts: dict[str, int | None] = {
            "relation": number % 2,
            "quality": number // 2 % 2 if number else None,
            "manner": int(number < 13),
            "quantity": int(number % 3 == 0),
        }
        turn = {**debate["simulation"]["userTurns"][0]}
        turn["utterance"] = f"Message {number}."
        debates.append({"simulation": {**debate["simulation"], "userTurns": [turn]}})
        labels.append([verdicts])
    write_records(folder / "debates.jsonl", *debates)
    write_records(folder / "labels.jsonl", *labels)
    (folder / "web").mkdir()
    (folder / "web/page.md").write_text("Pages on the web.", "utf-8")
    return folder


def known_answer(handler: Handler) -> None:
    """Answer any request of the tables' systems."""
    prompt = prompt_of(handler.body)
    form = handler.body.get("response_format")
    if form is None:
        content(_verdict(prompt))(handler)
        return
    answer: Any = example(form["json_schema"]["schema"])
    makers = {
        "Speech": _speech,
        "Plain": _baseline,
        "Draft": _speech,
        "Modified": _speech,
        "Subjective": _subjective,
        "Facts": _facts,
        "Verdicts": _checked,
        "Formalised": _formalised,
        "Inference": _inferred,
        "Analysis": _analysed,
        "Comment": _analysed,
        "Number": _scored,
        "Thought": _thought,
    }
    name = schema_of(handler.body)
    if name == "Winner":
        _named(answer, prompt, handler.body["seed"])
    elif name in makers:
        makers[name](answer, prompt, handler.body["model"])
    content(json.dumps(answer))(handler)


def _verdict(prompt: str) -> str:
    """Say no on Manner, else yes."""
    return "no" if "by one criterion, manner" in prompt else "yes"


def _speech(answer: dict[str, Any], prompt: str, model: str) -> None:
    """Speak with the mark of the model, and never the same twice."""
    key = "argument" if "argument" in answer else "utterance"
    answer[key] = f"MARK-{model} says {len(prompt)}."


def _baseline(answer: dict[str, Any], prompt: str, model: str) -> None:
    """Speak as a baseline of the judge's model, which also plays for R-Debater."""
    _speech(answer, prompt, "naive" if model == "tiny" else model)


def _marks(prompt: str) -> dict[str, Any]:
    name = re.findall(r"MARK-([\w-]+)", prompt)
    marks: dict[str, Any] = KNOWN["marks"].get(name[-1] if name else "none", KNOWN["marks"]["none"])
    return marks


def _subjective(answer: dict[str, Any], prompt: str, _: str) -> None:
    for unit, scores in answer.items():
        number = unit.removeprefix("round_")
        for side, dimensions in scores.items():
            if isinstance(dimensions, dict):
                label = re.escape(f"{side.replace('_', ' ').capitalize()}, round {number}\n")
                marks = _marks(re.findall(label + "(.*(?:\n.*)?)", prompt)[0])
                for dimension, mark in zip(dimensions, marks["judged"], strict=False):
                    dimensions[dimension]["score"] = mark


def _facts(answer: dict[str, Any], prompt: str, _: str) -> None:
    name = re.findall(r"MARK-([\w-]+)", prompt)
    facts = _marks(prompt)["facts"]
    answer["response_1"] = [f"Fact {number} of MARK-{name[-1]}" for number in range(len(facts))]


def _checked(answer: dict[str, Any], prompt: str, _: str) -> None:
    for key, verdict in zip(answer, _marks(prompt)["facts"], strict=True):
        answer[key] = verdict


def _formalised(answer: dict[str, Any], prompt: str, _: str) -> None:
    name = re.findall(r"MARK-([\w-]+)", prompt)
    conclusions = _marks(prompt)["conclusions"]
    answer["response_1"] |= {
        "premises": [],
        "conclusions": [
            {"formula": f"P(c{number})", "meaning": f"MARK-{name[-1]}"}
            for number in range(len(conclusions))
        ],
    }


def _inferred(answer: dict[str, Any], prompt: str, _: str) -> None:
    verdicts = _marks(prompt)["conclusions"]
    conclusions = [value for value in answer["response_1"].values() if isinstance(value, dict)]
    for conclusion, verdict in zip(conclusions, verdicts, strict=True):
        conclusion["verdict"] = verdict


def _speakers(prompt: str) -> dict[str, str]:
    """The marks of the debaters, in their speeches or in what a judge wrote on them."""
    spoken = re.findall(r'by[ =]"?(debater_\d)"?[>:]\n(?:<speech>\n)?.*?MARK-([\w-]+)', prompt)
    return dict(spoken + re.findall(r"(debater_\d) is MARK-([\w-]+)", prompt))


def _analysed(answer: dict[str, Any], prompt: str, _: str) -> None:
    texts = [f"{code} is MARK-{mark}" for code, mark in sorted(_speakers(prompt).items())]
    for key in answer:
        answer[key] = f"An analysis. {'; '.join(texts)}"


def _dimension(prompt: str) -> str:
    return (re.findall(r"Your dimension: (\w+)", prompt) or ["general"])[0]


def _scored(answer: dict[str, Any], prompt: str, _: str) -> None:
    code = (re.findall(r"comment on (debater_\d)", prompt) or ["debater_1"])[0]
    mark = _speakers(prompt).get(code)
    if mark is not None:
        answer["score"] = KNOWN["marks"][mark]["points"]
    else:
        scores = SCORES.get(_dimension(prompt), (9, 2, 1, 1))
        answer["score"] = scores[int(code[-1]) - 1]


def _named(answer: dict[str, Any], prompt: str, seed: int) -> None:
    dimension = _dimension(prompt)
    speakers = _speakers(prompt)
    winner = NAMED.get(dimension, "debater_2")
    team = re.findall(r"Motion: (First|Second) motion", prompt)
    if team:
        winner = TEAMS[team[0]][seed]
    by_mark = KNOWN["winners"].get(dimension)
    if "naive" in speakers.values() and by_mark:
        winner = by_mark.get(speakers["debater_1"], "tie")
    answer["winner"] = winner


def _thought(answer: dict[str, Any], _: str, __: str) -> None:
    answer["winner"] = "con"
