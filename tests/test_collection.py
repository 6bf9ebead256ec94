"""The arguments of the demo have both sides, chains, and texts that are short and differ."""

from __future__ import annotations

from itertools import combinations, groupby
from operator import attrgetter

import pytest

from tests.demo import ARGUMENTS
from touche_rad.files import read_arguments
from touche_rad.text import count_words, words

COLLECTION = list(read_arguments(ARGUMENTS))
TEXTS = {argument.text for argument in COLLECTION}
TOPICS = {topic: list(arguments) for topic, arguments in groupby(COLLECTION, attrgetter("topic"))}
LATER = list(TOPICS)[18:]
"""Topics without debates and labels."""


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_has_claims_chains_and_texts_that_differ(topic: str) -> None:
    assert len(TOPICS) >= 60
    arguments = TOPICS[topic]
    assert len(arguments) >= 20
    assert [int(argument.id[4:]) for argument in arguments] == [*range(1, len(arguments) + 1)]
    # An attacked text that is changed in one place only would be one more claim.
    assert 7 <= len({argument.attacks for argument in arguments} - TEXTS) <= 9
    counters = {argument.text for argument in arguments if argument.attacks in TEXTS}
    assert sum(argument.attacks in counters for argument in arguments) >= 2
    assert all(8 <= count_words(argument.text) <= 40 for argument in arguments)
    for text, later in combinations([set(words(argument.text)) for argument in arguments], 2):
        assert len(text & later) <= 0.35 * len(text | later), text & later


@pytest.mark.parametrize("topic", LATER)
def test_a_claim_and_its_opposite_are_attacked(topic: str) -> None:
    sides = {(argument.attacks, argument.supports) for argument in TOPICS[topic]}
    assert sides & {(opposite, claim) for claim, opposite in sides}
