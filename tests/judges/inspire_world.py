"""A debate of six responses on night buses, and a model that answers each of InspireScore's steps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from judges.inspirescore import InspireScore
from tests.judges.makers import judged_by
from tests.models.by_schema import answering
from tests.models.scripted import Scripted
from touche_rad.contest import Contest, Outcome, Speech
from touche_rad.plugins import ArgumentIndex

MOTION = "MOTION: night buses should be free"
CRITERIA = ("emotional_appeal", "argument_clarity", "argument_arrangement", "topic_relevance")
SIX = (
    ("ann", "<reasoning and analysis process> ANN-1-REASONS <argument> ANN-1-CLAIM"),
    ("bob", "BOB-1 says no."),
    ("ann", "ANN-2 says yes."),
    ("bob", "BOB-2 says no."),
    ("ann", "ANN-3 says yes."),
    ("bob", "BOB-3 says no."),
)


def contest(*spoken: tuple[str, str], **sides: str) -> Contest:
    return Contest.model_validate(
        {
            "id": "c",
            "motion": MOTION,
            "info": "INFO-SLIDE",
            "sides": sides or {"ann": "pro", "bob": "con"},
            "speeches": [Speech(speaker=name, text=text) for name, text in spoken],
        }
    )


DEBATE = contest(*SIX)


def judged(
    server: Scripted, debate: Contest = DEBATE, index: ArgumentIndex | None = None, **options: str
) -> Outcome:
    given = InspireScore.Options.model_validate(options)
    (outcome,) = judged_by(partial(InspireScore, given), server, debate, index=index)
    return outcome


def sections(prompt: str, begins: str = "response_") -> dict[str, str]:
    """The parts of a prompt by their keys: `response_1`, or `Round 1`."""
    found = re.split(rf"^## ({begins}\S*)", prompt.rpartition("=== user")[2], flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


Marks = Callable[[str, str], Any]
"""A score from a side's key and what the round says."""


def subjective(mark: Marks, detailed: bool = False) -> Callable[[str], Any]:
    def answer(prompt: str) -> Any:
        shown = sections(prompt, "(?:Round |The whole )")
        units = re.split(r"^## (.+)$", prompt, flags=re.MULTILINE)[1:]
        made: dict[str, Any] = {}
        for name, text in zip(units[0::2], units[1::2], strict=True):
            key = "debate" if name == "The whole debate" else name.lower().replace(" ", "_")
            labels = dict.fromkeys(
                re.findall(r"^(Pro(?: \d)?|Con(?: \d)?), round \d+$", text, re.MULTILINE)
            )
            made[key] = {}
            for label in labels:
                side = label.lower().replace(" ", "_")
                score = mark(side, text)
                one = {"analysis": f"ANALYSIS-{side}", "score": score} if detailed else score
                made[key][side] = dict.fromkeys(CRITERIA, one)
                made[key][side] |= (
                    {"total_score": 99} if detailed else {"analysis": f"ANALYSIS-{side}"}
                )
            if detailed:
                made[key] |= {"winner": "Con", "reason": "REASON"}
        assert shown is not None
        return made

    return answer


def facts(stated: Mapping[str, list[str]]) -> Callable[[str], Any]:
    """Each response's facts by a word that stands in it; with queries where they are asked for."""

    def answer(prompt: str) -> Any:
        made = {}
        for key, text in sections(prompt).items():
            own = next((its for word, its in stated.items() if word in text), [])
            queries = [f"QUERY {fact}" for fact in own]
            made[key] = {"facts": own, "queries": queries} if "\n- queries: " in prompt else own
        return made

    return answer


def queries(prompt: str) -> Any:
    return {
        key: [f"QUERY {fact}" for fact in re.findall(r"^fact_\d+: (.*)$", text, re.MULTILINE)]
        for key, text in sections(prompt).items()
    }


def verdicts(false: str = "LIE", unknown: str = "RUMOUR") -> Callable[[str], Any]:
    """True, but for facts that have one of two words in them."""

    def answer(prompt: str) -> Any:
        return {
            number: "false" if false in fact else "unknown" if unknown in fact else "true"
            for number, fact in re.findall(r"^(fact_\d+): (.*)$", prompt, re.MULTILINE)
        }

    return answer


def expression(formula: str) -> dict[str, str]:
    return {"formula": formula, "meaning": f"MEANS {formula}"}


def logic(premises: list[str], conclusions: list[str]) -> dict[str, Any]:
    return {
        "predicates": [{"symbol": "P(x)", "meaning": "PREDICATE-MEANING"}],
        "premises": [expression(one) for one in premises],
        "conclusions": [expression(one) for one in conclusions],
    }


def formalised(by_word: Mapping[str, Any]) -> Callable[[str], Any]:
    def answer(prompt: str) -> Any:
        return {
            key: next((its for word, its in by_word.items() if word in text), logic([], []))
            for key, text in sections(prompt).items()
        }

    return answer


def inferred(says: Callable[[str], str]) -> Callable[[str], Any]:
    """A verdict on each conclusion from its line."""

    def answer(prompt: str) -> Any:
        return {
            key: {"plan": "PLAN"}
            | {
                name: {"steps": "STEPS", "verdict": says(line)}
                for name, line in re.findall(r"^(conclusion_\d+): (.*)$", text, re.MULTILINE)
            }
            for key, text in sections(prompt).items()
        }

    return answer


STATED = {
    "ANN-1": ["ANN-1 fact", "ANN-1 RUMOUR"],
    "ANN-2": ["ANN-2 fact"],
    "ANN-3": ["ANN-3 fact"],
    "BOB-1": ["BOB-1 LIE"],
    "BOB-2": ["BOB-2 fact", "BOB-2 LIE", "BOB-2 RUMOUR"],
    "BOB-3": [],
}
ARGUED = {"ANN": logic(["P(a)", "P(x) → Q(x)"], ["Q(a)"]), "BOB": logic(["P(a)"], ["Q(a)", "P(a)"])}


def answers(detailed: bool = False) -> dict[str, Any]:
    """A model that is right about facts, and calls every conclusion true."""
    return {
        "Subjective": subjective(lambda side, _: 0.75 if side == "pro" else 0.5, detailed),
        "Facts": facts(STATED),
        "Queries": queries,
        "Verdicts": verdicts(),
        "Formalised": formalised(ARGUED),
        "Inference": inferred(lambda _: "true"),
    }


def answer_as(server: Scripted, detailed: bool = False, **changed: Any) -> None:
    answering(server, {**answers(detailed), **changed})


def as_json(outcome: Outcome) -> Any:
    return json.loads(outcome.model_dump_json())
