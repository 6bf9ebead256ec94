"""On which side `grounded` answers 144 messages about the demo's first 18 topics, without a model.

Their writer had not seen the collection, and nobody tuned on them. Each has a topic, a side, and a
kind: F for the topic, P against something with a plain negation, N another sentence with a
negation, O against the topic without one, R with a reason. In 60 of them no word leads to the
topic.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests import demo
from touche_rad.debate import Argument, Debate
from touche_rad.plugins import Services, find, open_index

MESSAGES = Path(__file__).with_name("messages.tsv").read_text("utf-8").splitlines()
FIRST_AGAINST = {"101": 3, "102": 3, "103": 3, "104": 3, "105": 3, "106": 3}
"""Number of a topic's claims, in their order, that are for it; four where nothing is said."""


def read_arguments() -> dict[str, Argument]:
    lines = demo.ARGUMENTS.read_text("utf-8").splitlines()
    return {
        argument.id: argument
        for argument in (Argument.model_validate(json.loads(line)) for line in lines)
    }


ARGUMENTS = read_arguments()
BY_TEXT = {argument.text: argument for argument in ARGUMENTS.values()}


def is_for(argument: Argument) -> bool:
    """Whether an argument is for its topic: it is against the claim that it attacks."""
    attacked = BY_TEXT.get(argument.attacks)
    if attacked is not None:
        return not is_for(attacked)
    topic = argument.id.partition(".")[0]
    claims = dict.fromkeys(
        argument.attacks
        for argument in ARGUMENTS.values()
        if argument.id.startswith(f"{topic}.") and argument.attacks not in BY_TEXT
    )
    return list(claims).index(argument.attacks) >= FIRST_AGAINST.get(topic, 4)


def test_few_openings_say_that_an_answer_for_the_user_disagrees(first_topics: Path) -> None:
    grounded = find("debater", "grounded").make(Services(open_index(str(first_topics)), 0, None))
    right: Counter[bool] = Counter()
    for line in MESSAGES:
        topic, side, _, message = line.split("\t")
        answer = grounded.answer(Debate().with_utterance(message))
        if answer.content.startswith("I disagree:"):
            cited = answer.arguments[0]
            right[cited.id.startswith(f"{topic}.") and is_for(cited) != (side == "pro")] += 1
    assert right[True] >= max(1, 4 * right[False])


def count_answers(messages: list[str], index: Path) -> Counter[str]:
    grounded = find("debater", "grounded").make(Services(open_index(str(index)), 0, None))
    counts: Counter[str] = Counter()
    for line in messages:
        topic, side, _, message = line.split("\t")
        cited = grounded.answer(Debate().with_utterance(message)).arguments
        if not cited or not cited[0].id.startswith(f"{topic}."):
            counts["elsewhere"] += 1
        else:
            counts["with" if is_for(cited[0]) == (side == "pro") else "against"] += 1
    return counts


def test_more_answers_are_against_the_user_than_for_the_user(first_topics: Path) -> None:
    counts = count_answers(MESSAGES, first_topics)
    assert counts["with"] <= 0.2 * len(MESSAGES)
    assert counts["against"] >= 2 * counts["with"]
    assert counts["against"] + counts["with"] >= 0.95 * 86, "86 before chance words were dropped"


def test_a_plain_negation_is_understood_where_the_topic_is_found(first_topics: Path) -> None:
    negations = [line for line in MESSAGES if line.split("\t")[2] == "P"]
    counts = count_answers(negations, first_topics)
    assert counts["against"] >= 7
    assert counts["against"] >= 2 * counts["with"]
