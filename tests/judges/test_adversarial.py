"""The adversarial set contains what docs/adversarial.md says, and padding fools no judge."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from tests.judges.makers import judge
from touche_rad import files
from touche_rad.debate import Debate, Maxim
from touche_rad.demo import demo_file
from touche_rad.text import count_words

DEBATES, LABELS = demo_file("adversarial.jsonl"), demo_file("adversarial-labels.jsonl")
KINDS = {"unsupported", "flipped", "injected", "padded", "off-topic", "repeated", "good"}
HALVES = ("dev", "held-out")


@cache
def debates() -> tuple[Debate, ...]:
    return tuple(files.read_debates(DEBATES))


@cache
def labels() -> list[list[dict[str, Any]]]:
    return [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]


def turns() -> list[tuple[Debate, int, dict[str, Any]]]:
    return [
        (debate, at, label)
        for debate, of_debate in zip(debates(), labels(), strict=True)
        for at, label in enumerate(of_debate)
    ]


def test_there_are_two_hundred_labelled_responses_on_25_topics():
    assert [len(debate.turns) for debate in debates()] == [len(one) for one in labels()]
    assert len(turns()) == 200
    assert len({debate.claim for debate in debates()}) >= 25
    contents = [debate.turns[at].response.content for debate, at, _ in turns()]
    assert all(contents)
    utterances = [debate.turns[at].utterance for debate, at, _ in turns()]
    assert len(set(utterances)) == len(utterances)


def test_each_has_a_label_for_each_maxim_a_kind_and_its_debates_half():
    written = [json.loads(line)["half"] for line in DEBATES.read_text("utf-8").splitlines()]
    for half, of_debate in zip(written, labels(), strict=True):
        for label in of_debate:
            assert set(label) == {*map(str, Maxim), "kind", "half"}
            assert all(label[maxim] in (0, 1) for maxim in Maxim)
            assert label["kind"] in KINDS
            assert label["half"] == half


def test_the_kinds_are_about_equally_many_in_both_halves():
    count = Counter((label["half"], label["kind"]) for _, _, label in turns())
    for half in HALVES:
        bad = [count[half, kind] for kind in KINDS - {"good"}]
        assert min(bad) >= 10
        assert max(bad) <= 15
        assert 20 <= count[half, "good"] <= 26


@pytest.mark.parametrize("maxim", Maxim)
def test_neither_yes_nor_no_is_rare(maxim):
    for half in HALVES:
        of_half = [label[maxim] for _, _, label in turns() if label["half"] == half]
        assert 0.5 <= sum(of_half) / len(of_half) <= 0.76


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


def test_the_halves_are_drawn_by_the_hash_of_the_claim():
    half_of = {
        debate.claim: label[0]["half"] for debate, label in zip(debates(), labels(), strict=True)
    }
    ordered = sorted(half_of, key=lambda claim: hashlib.sha256(claim.encode()).hexdigest())
    assert [half_of[claim] for claim in ordered] == [HALVES[at % 2 == 0] for at in range(25)]


def test_no_topic_and_no_argument_is_in_both_halves():
    seen: dict[str, set[str]] = {half: set() for half in HALVES}
    for debate, at, label in turns():
        assert debate.turns[at].response is not None
        seen[label["half"]].add(debate.claim)
        seen[label["half"]].update(one.text for one in debate.turns[at].response.arguments)
    assert not seen["dev"] & seen["held-out"]


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
    rejected = [one for one in repeated if not judge().judge(one)[Maxim.RELATION].yes]
    assert len(rejected) > 10
    padded = [one.id for one in rejected if judge().judge(_more(one, PADDING))[Maxim.RELATION].yes]
    assert len(padded) <= 0.1 * len(rejected), padded


def _more(debate: Debate, words: str) -> Debate:
    """The debate whose last answer goes on with these words."""
    said = debate.last.response
    longer = said.model_copy(update={"content": f"{said.content} {words}"})
    last = debate.last.model_copy(update={"response": longer})
    return debate.model_copy(update={"turns": (*debate.turns[:-1], last)})
