"""A small debate with the graphs that a model is made to draw of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from judges.debgraph import DebGraph
from tests.judges.makers import run_judge
from tests.models.by_schema import answering, prompt_of
from tests.models.scripted import Handler, Scripted, fails
from tests.records import read_cases
from touche_rad.contest import Contest, Outcome, Speech

SPEECHES = ("PRO-ONE", "CON-ONE", "PRO-TWO", "CON-TWO")
CONTEST = Contest(**read_cases("judges/four_speeches.json"))


def draft(arguments: Mapping[int, str], *relations: str, **fields: Any) -> Any:
    """A scene graph as a model answers it; a relation is a text such as `4 rebuttal 1`."""
    related = re.findall(r"(\d+) (\D+) (\d+)", "\n".join(relations))
    return {
        "arguments": [{"id": id_, "text": text} for id_, text in arguments.items()],
        "relations": [
            {"source": int(source), "relation": relation, "target": int(target)}
            for source, relation, target in related
        ],
        **fields,
    }


DRAFTS = {
    "PRO-ONE": draft({1: "pro claim", 2: "pro premise"}, "1 claim 0", "2 premise 1"),
    "CON-ONE": draft(
        {3: "con claim", 4: "con rebuttal", 5: "con principle"},
        "3 claim 0",
        "4 rebuttal 1",
        "5 first principle 3",
        explanation="CON-EXPLAINS",
    ),
    "PRO-TWO": draft(
        {6: "pro answer", 7: "pro attack"},
        "6 rebuttal 4",
        "6 premise 1",
        "7 rebuttal 3",
    ),
    "CON-TWO": draft({8: "con conclusion"}, "8 conclusion 0", "4 rebuttal 6"),
}
"""Eight arguments, four of a side; the rebuttals are 4-1, 6-4, 7-3 and 4-6: three pairs, four edges."""
FALSE = "con principle"


def speech_in(prompt: str) -> str:
    """Which speech a prompt gives to be read."""
    (name,) = [name for name in SPEECHES if f"{name} speaks." in prompt]
    return name


def graph_of_speech(prompt: str) -> Any:
    """The graph of the speech that a prompt gives."""
    return DRAFTS[speech_in(prompt)]


def drawing(speech: str, graph: Any) -> dict[str, Any]:
    """Another graph of one speech."""
    return {"SceneGraph": lambda prompt: graph if speech in prompt else graph_of_speech(prompt)}


def saying(*speeches: tuple[str, str]) -> Contest:
    """The contest with other speeches."""
    return CONTEST.model_copy(
        update={"speeches": tuple(Speech(speaker=name, text=text) for name, text in speeches)}
    )


def alone(prompt: str) -> Any:
    """A verdict on one argument."""
    if FALSE in prompt.rpartition("The argument:")[2]:
        return {"label": "false", "confidence": 0.9, "feedback": "WRONG-FACT"}
    return {"label": "true", "confidence": 0.8, "feedback": "not to be kept"}


def many(prompt: str) -> Any:
    """Verdicts on the arguments that a prompt lists."""
    listed = re.findall(r"^(\d+): (.*)$", prompt.rpartition("The arguments:")[2], re.MULTILINE)
    verdicts = [{"id": int(id_), **alone(f"The argument: {text}")} for id_, text in listed]
    return {"verdicts": verdicts}


def pairs(prompt: str) -> Any:
    """Verdicts on the pairs that a prompt lists: pro wins the first, con the others."""
    numbers = map(int, re.findall(r"^Pair (\d+)$", prompt, re.MULTILINE))
    return {
        "verdicts": [
            {"pair": n, "winner": "pro" if n == 1 else "con", "feedback": f"WHY-{n}"}
            for n in numbers
        ]
    }


def thought(prompt: str) -> Any:
    """The judge's thought; by the second round con is ahead."""
    second = "pro answer" in prompt
    return {"thoughts": f"THOUGHT-{1 + second}", "winner": "con" if second else "pro"}


ANSWERS: dict[str, Any] = {
    "SceneGraph": graph_of_speech,
    "Thought": thought,
    "Timeline": {
        "rounds": [
            {"thoughts": "THOUGHT-1", "winner": "pro"},
            {"thoughts": "THOUGHT-2", "winner": "con"},
        ]
    },
    "FactVerdict": alone,
    "FactVerdicts": many,
    "PairVerdict": {"winner": "pro", "feedback": "WHY"},
    "PairVerdicts": pairs,
    "Condensed": {"summary": "IN-SHORT"},
}


def judge_contest(
    server: Scripted,
    contest: Contest = CONTEST,
    answers: Mapping[str, Any] | None = None,
    deadline: float = 5,
    holds: int | None = None,
    **options: str,
) -> Outcome:
    """Judge a contest by the panel; the model's context may hold so many letters of a prompt."""
    answering(server, {**ANSWERS, **(answers or {})})
    answer = server.always

    def act(handler: Handler) -> None:
        if holds and len(prompt_of(handler.body)) > holds:
            refusal = "This model's maximum context length is 4096 tokens"
            fails(400, refusal)(handler)
        else:
            answer(handler)

    server.always = act
    panel = partial(DebGraph, DebGraph.Options.model_validate(options))
    (outcome,) = run_judge(panel, server, contest, deadline=deadline)
    return outcome
