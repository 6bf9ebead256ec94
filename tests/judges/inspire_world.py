"""A debate of six responses on night buses, and a model that answers each of InspireScore's steps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from judges.inspirescore import InspireScore
from tests.judges.makers import run_judge
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


def judge_contest(
    server: Scripted, debate: Contest = DEBATE, index: ArgumentIndex | None = None, **options: str
) -> Outcome:
    panel = partial(InspireScore, InspireScore.Options.model_validate(options))
    (outcome,) = run_judge(panel, server, debate, index=index)
    return outcome


def sections(prompt: str) -> dict[str, str]:
    """The parts of a prompt by their keys, such as `response_1`."""
    _, *parts = re.split(
        r"^## (response_\S*)", prompt.rpartition("=== user")[2], flags=re.MULTILINE
    )
    return dict(zip(parts[::2], parts[1::2], strict=True))


Marks = Callable[[str, str], Any]
"""A score from a side's key and what the round says."""


def subjective(mark: Marks, detailed: bool = False) -> Callable[[str], Any]:
    def answer(prompt: str) -> Any:
        units = re.split(r"^## (.+)$", prompt, flags=re.MULTILINE)[1:]
        scores: dict[str, Any] = {}
        for name, text in zip(units[0::2], units[1::2], strict=True):
            key = "debate" if name == "The whole debate" else name.lower().replace(" ", "_")
            labels = dict.fromkeys(
                re.findall(r"^(Pro(?: \d)?|Con(?: \d)?), round \d+$", text, re.MULTILINE)
            )
            scores[key] = {}
            for label in labels:
                side = label.lower().replace(" ", "_")
                score = mark(side, text)
                if detailed:
                    analysed = {"analysis": f"ANALYSIS-{side}", "score": score}
                    scores[key][side] = dict.fromkeys(CRITERIA, analysed) | {"total_score": 99}
                else:
                    by_criterion = dict.fromkeys(CRITERIA, score)
                    scores[key][side] = by_criterion | {"analysis": f"ANALYSIS-{side}"}
            if detailed:
                scores[key] |= {"winner": "Con", "reason": "REASON"}
        return scores

    return answer


def facts(stated: Mapping[str, list[str]]) -> Callable[[str], Any]:
    """Each response's facts by a word that stands in it; with queries where they are asked for."""

    def answer(prompt: str) -> Any:
        answers: dict[str, Any] = {}
        for key, text in sections(prompt).items():
            answers[key] = next((facts for word, facts in stated.items() if word in text), [])
            if "\n- queries: " in prompt:
                queries = [f"QUERY {fact}" for fact in answers[key]]
                answers[key] = {"facts": answers[key], "queries": queries}
        return answers

    return answer


def queries(prompt: str) -> Any:
    answers = {}
    for key, text in sections(prompt).items():
        facts = re.findall(r"^fact_\d+: (.*)$", text, re.MULTILINE)
        answers[key] = [f"QUERY {fact}" for fact in facts]
    return answers


def verdicts(false: str = "LIE", unknown: str = "RUMOUR") -> Callable[[str], Any]:
    """True, but for facts that have one of two words in them."""

    def answer(prompt: str) -> Any:
        truths = {}
        for number, fact in re.findall(r"^(fact_\d+): (.*)$", prompt, re.MULTILINE):
            truths[number] = "true"
            if false in fact:
                truths[number] = "false"
            elif unknown in fact:
                truths[number] = "unknown"
        return truths

    return answer


def expression(formula: str) -> dict[str, str]:
    return {"formula": formula, "meaning": f"MEANS {formula}"}


def logic(premises: list[str], conclusions: list[str]) -> dict[str, Any]:
    return {
        "predicates": [{"symbol": "P(x)", "meaning": "PREDICATE-MEANING"}],
        "premises": list(map(expression, premises)),
        "conclusions": list(map(expression, conclusions)),
    }


def formalised(by_word: Mapping[str, Any]) -> Callable[[str], Any]:
    def answer(prompt: str) -> Any:
        answers = {}
        for key, text in sections(prompt).items():
            fitting = [formulas for word, formulas in by_word.items() if word in text]
            answers[key] = fitting[0] if fitting else logic([], [])
        return answers

    return answer


def inferred(says: Callable[[str], str]) -> Callable[[str], Any]:
    """A verdict on each conclusion from its line."""

    def answer(prompt: str) -> Any:
        answers: dict[str, Any] = {}
        for key, text in sections(prompt).items():
            answers[key] = {"plan": "PLAN"}
            for name, line in re.findall(r"^(conclusion_\d+): (.*)$", text, re.MULTILINE):
                answers[key][name] = {"steps": "STEPS", "verdict": says(line)}
        return answers

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
