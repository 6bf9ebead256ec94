"""The adversarial set contains what docs/maxims.md says, and padding fools no judge."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from tests.judges.makers import judge
from tests.records import read_records
from touche_rad import files
from touche_rad.debate import Debate, Maxim
from touche_rad.demo import demo_file
from touche_rad.text import count_words

DEBATES = demo_file("adversarial.jsonl")
LABELS = demo_file("adversarial-labels.jsonl")
KINDS = {"unsupported", "flipped", "injected", "padded", "off-topic", "repeated", "good"}


@cache
def debates() -> tuple[Debate, ...]:
    return tuple(files.read_debates(DEBATES))


@cache
def labels() -> list[list[dict[str, Any]]]:
    return read_records(LABELS)


def turns() -> list[tuple[Debate, int, dict[str, Any]]]:
    return [
        (debate, at, label)
        for debate, of_debate in zip(debates(), labels(), strict=True)
        for at, label in enumerate(of_debate)
    ]


def test_there_are_104_labelled_responses_of_every_kind():
    assert [len(debate.turns) for debate in debates()] == list(map(len, labels()))
    assert len(turns()) == 104
    count = Counter(label["kind"] for _, _, label in turns())
    assert set(count) == KINDS
    assert min(count.values()) >= 10
    for _, _, label in turns():
        assert all(label[maxim] in (0, 1) for maxim in Maxim)


def test_good_answers_are_good_and_the_tricks_cost_what_the_guide_says():
    costs = {
        "unsupported": Maxim.QUALITY,
        "flipped": Maxim.QUALITY,
        "injected": Maxim.MANNER,
        "off-topic": Maxim.RELATION,
    }
    for debate, _, label in turns():
        if label["kind"] == "good":
            assert all(label[maxim] for maxim in Maxim), debate.id
        elif label["kind"] in costs:
            assert label[costs[label["kind"]]] == 0, debate.id


def test_only_what_is_padded_or_for_a_judge_is_longer_than_the_task_allows():
    long = [
        label["kind"]
        for debate, at, label in turns()
        if count_words(debate.turns[at].response.content) > 60
    ]
    assert set(long) <= {"padded", "injected"}


PADDING = (
    "This is, as everybody knows, a matter about which a great many people have thought for "
    "a very long time. There is of course much that could be said about it."
)


def test_padding_does_not_turn_a_repeated_answer_into_a_relevant_one():
    repeated = [
        debate.view(at)
        for debate, at, label in turns()
        if label["kind"] == "repeated" and label["relation"] == 0
    ]
    rejected = [view for view in repeated if not judge().judge(view)[Maxim.RELATION].yes]
    assert rejected
    accepted = []
    for view in rejected:
        if judge().judge(padded(view))[Maxim.RELATION].yes:
            accepted.append(view.id)
    assert len(accepted) <= 0.2 * len(rejected), accepted


def padded(debate: Debate) -> Debate:
    """The debate whose last answer goes on with words that say nothing."""
    response = debate.last.response
    longer = response.model_copy(update={"content": f"{response.content} {PADDING}"})
    last = debate.last.model_copy(update={"response": longer})
    return debate.model_copy(update={"turns": (*debate.turns[:-1], last)})
