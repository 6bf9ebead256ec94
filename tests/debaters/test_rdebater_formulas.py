"""R-Debater's formulas, for any records: matching, the cosine's Top-k, means, priors, predicates."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.cases import with_cases
from touche_rad.debate import Argument
from touche_rad.debaters._citing import cited
from touche_rad.debaters.rdebater._reading import predicates
from touche_rad.debaters.rdebater._retrieval import (
    RetrievedArgument,
    by_words,
    prior_evidence,
    prior_schemes,
    rule_match,
    scheme_means,
)
from touche_rad.debaters.rdebater.schemes import Annotation, Dimension, Level, Mark, Scheme

WORDS = some.lists(some.sampled_from("the penny bees roof train is not cheap".split()), max_size=8)
TEXTS = WORDS.map(" ".join)
LEVELS = some.sampled_from([level for level in Level if level])
MARKS = some.dictionaries(some.sampled_from(list(Scheme)), LEVELS, max_size=7)


def argument(number: int, text: str = "") -> Argument:
    return Argument(id=str(number), text=text)


def record(number: int, marks: dict[Scheme, Level] | None) -> RetrievedArgument:
    if marks is None:
        return RetrievedArgument(argument(number), 0.0)
    levels = {
        scheme: Mark(levels=dict.fromkeys(Dimension, level)) for scheme, level in marks.items()
    }
    return RetrievedArgument(argument(number), 0.0, Annotation(marks=levels))


RECORDS = some.lists(MARKS | some.none(), max_size=6).map(
    lambda marks_of_records: [
        record(number, marks) for number, marks in enumerate(marks_of_records)
    ]
)


@given(RECORDS, some.integers(1, 8))
def test_the_mean_is_the_sum_of_labels_over_k_and_absent_is_nought(
    records: list[RetrievedArgument], k: int
) -> None:
    means = scheme_means(records, k)
    for scheme in Scheme:
        labels = [record.annotation.level(scheme) for record in records if record.annotation]
        assert means[scheme] == sum(labels) / k
        if not any(scheme in record.schemes for record in records):
            assert means[scheme] == 0


@given(RECORDS, some.integers(1, 8), some.floats(0, 4))
def test_priors_are_strictly_above_the_threshold_and_exemplars_use_one_of_them(
    records: list[RetrievedArgument], k: int, threshold: float
) -> None:
    means = scheme_means(records, k)
    schemes = prior_schemes(means, threshold)
    assert set(schemes) == {scheme for scheme in Scheme if means[scheme] > threshold}
    prior = prior_evidence(records, schemes)
    assert [record for record in records if set(record.schemes) & set(schemes)] == list(prior)
    assert not (prior and not schemes)


@given(TEXTS, some.lists(TEXTS, max_size=5))
def test_the_cosine_of_words_is_one_for_the_same_words_and_nought_for_none(
    history: str, texts: list[str]
) -> None:
    cosines = by_words(history, texts)
    assert all(-1e-9 <= cosine <= 1 + 1e-9 for cosine in cosines)
    for text, cosine in zip(texts, cosines, strict=True):
        if sorted(text.split()) == sorted(history.split()) and "penny" in text:
            assert math.isclose(cosine, 1.0)
        if not set(text.split()) & set(history.split()):
            assert cosine == 0


@given(TEXTS, some.lists(TEXTS, max_size=3))
def test_a_rule_matches_any_phrase_word_for_word(text: str, keywords: list[str]) -> None:
    words_of_text = text.split()

    def stands(phrase: list[str]) -> bool:
        return bool(phrase) and any(
            words_of_text[place : place + len(phrase)] == phrase
            for place in range(len(words_of_text))
        )

    wanted = any(stands(keyword.split()) for keyword in keywords)
    assert rule_match(text.upper() + "!", keywords) is wanted


@with_cases(("lines", "parsed"), "debaters/predicates_of_models.json")
def test_predicates_are_read_once(lines: list[str], parsed: list[str]) -> None:
    assert [*predicates(lines)] == parsed


ART = argument(1, "AI art is theft because it copies the style of living artists.")
TOOLS = argument(2, "AI tools let disabled people paint pictures that they could not paint before.")


@pytest.mark.parametrize(
    ("content", "named", "arguments"),
    [
        ("AI tools let disabled people paint.", [TOOLS], [TOOLS]),
        ("AI tools let disabled people paint.", [ART], [TOOLS]),
        ("AI is here to stay, whatever you say about it.", [ART], []),
        ("AI art is not theft because it copies the style of living artists.", [ART], []),
        ("You give no reason.", [], []),
    ],
    ids=["named", "wrong number", "one shared word", "contrary", "nothing"],
)
def test_one_shared_word_does_not_make_a_citation(
    content: str, named: list[Argument], arguments: list[Argument]
) -> None:
    assert list(cited(content, named, [ART, TOOLS], 2)) == arguments
