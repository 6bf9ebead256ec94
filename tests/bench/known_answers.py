"""An endpoint that scores speakers by marks in their speeches, so that a table's values are known.

A speech says MARK-a, and `known.toml` has the scores of a. Speakers without marks are scored by
their places. Judges of single turns say no to some messages.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from tests.models.by_schema import prompt_of, schema_of
from tests.models.scripted import Handler, content
from touche_rad.models.examples import example

KNOWN = tomllib.loads(Path(__file__).with_name("known.toml").read_text("utf-8"))
TOO_LONG = b'{"error": {"message": "maximum context length", "code": "context_length_exceeded"}}'


def known_answer(handler: Handler) -> None:
    """Answer any request of the tables' systems."""
    prompt = prompt_of(handler.body)
    form = handler.body.get("response_format")
    if form is None:
        (criterion,) = re.findall(r"by one criterion, (\w+)", prompt)
        number = int(re.findall(r"Message (\d+)", prompt)[-1])
        content("yes" if number % KNOWN["no_to_each"][criterion] else "no")(handler)
        return
    motion = re.findall("Motion: (First|Second|Third) motion", prompt)
    team = KNOWN["teams"][motion[0]][handler.body["seed"]] if motion else ""
    if motion and not team:
        handler.say(400, TOO_LONG)
        return
    answer: Any = example(form["json_schema"]["schema"])
    marks = re.findall(r"MARK-([\w-]+)", prompt)
    mark = marks[-1] if marks else "none"
    values = KNOWN["marks"][mark]
    name = schema_of(handler.body)
    if name in ("Speech", "Plain", "Draft", "Modified"):
        speaker = handler.body["model"]
        if name == "Plain" and speaker == "tiny":  # it plays for R-Debater, too
            speaker = "naive"
        key = "argument" if "argument" in answer else "utterance"
        answer[key] = f"MARK-{speaker} says {len(prompt)}."
    elif name == "Subjective":
        _score_rounds(answer, prompt)
    elif name == "Facts":
        answer["response_1"] = [f"{fact} of MARK-{mark}" for fact in range(len(values["facts"]))]
    elif name == "Verdicts":
        answer = dict(zip(answer, values["facts"], strict=True))
    elif name == "Formalised":
        count = len(values["conclusions"])
        formulas = [{"formula": f"P(c{at})", "meaning": f"MARK-{mark}"} for at in range(count)]
        answer["response_1"] |= {"premises": [], "conclusions": formulas}
    elif name == "Inference":
        for number, verdict in enumerate(values["conclusions"], 1):
            answer["response_1"][f"conclusion_{number}"]["verdict"] = verdict
    elif name in ("Analysis", "Comment"):
        speakers = sorted(_speakers(prompt).items())
        text = "; ".join(f"{code} is MARK-{mark}" for code, mark in speakers)
        answer = dict.fromkeys(answer, f"An analysis. {text}")
    elif name == "Number":
        code = re.findall(r"comment on .*(debater_\d)", prompt)[0]
        scores = KNOWN["places"].get(_dimension(prompt), KNOWN["places"]["general"])
        speaker_mark = _speakers(prompt).get(code)
        points = scores[int(code[-1]) - 1]
        answer["score"] = KNOWN["marks"][speaker_mark]["points"] if speaker_mark else points
    elif name == "Winner":
        is_gpt4 = handler.body["model"] == "tiny-0"
        answer["winner"] = ("debater_1" if is_gpt4 else team) if team else _winner(prompt)
    elif name == "Thought":
        answer["winner"] = "con"
    content(json.dumps(answer))(handler)


def _score_rounds(answer: dict[str, Any], prompt: str) -> None:
    for unit, scores in answer.items():
        for side in scores.keys() & {"pro", "con"}:
            place = f"{side.capitalize()}, {unit.replace('_', ' ')}\n"
            mark = re.findall(place + r"(?:.*\n)??.*?MARK-([\w-]+)", prompt)
            judged = KNOWN["marks"][mark[0] if mark else "none"]["judged"]
            for dimension, value in zip(scores[side], judged, strict=False):
                scores[side][dimension]["score"] = value


def _speakers(prompt: str) -> dict[str, str]:
    """Return the marks of debaters, in their speeches or in what a judge wrote on them."""
    spoken = re.findall(r'by[ =]"?(debater_\d)"?[>:]\n(?:<speech>\n)?.*?MARK-([\w-]+)', prompt)
    return dict(spoken + re.findall(r"(debater_\d) is MARK-([\w-]+)", prompt))


def _dimension(prompt: str) -> str:
    return (re.findall(r"Your dimension: (\w+)", prompt) or ["general"])[0]


def _winner(prompt: str) -> str:
    dimension = _dimension(prompt)
    speakers = _speakers(prompt)
    if "naive" in speakers.values():
        return str(KNOWN["winners"][dimension].get(speakers["debater_1"], "tie"))
    return str(KNOWN["named"].get(dimension, "debater_2"))
