"""Which sentences an argument supports by its words, and what is wrong with the others."""

from __future__ import annotations

import pytest

from touche_rad.debate import Argument
from touche_rad.evidence.guard import WordCheck, describe_unsupported, read, without_attribution
from touche_rad.evidence.support import (
    LONGEST,
    MAX_SENTENCES,
    Earlier,
    Support,
    findings_in,
    read_sentences,
    repeated_share,
    supporting_spans,
)
from touche_rad.evidence.words import read_words, stem

MINTS = "Mints lose money on every small coin they strike."
COPPER = "If banks melt old coins, copper becomes cheap for many builders."
BLIND = "Coins may not be useful to blind people, because they cannot read banknotes."
TEXT = f"{MINTS} {COPPER} {BLIND}"


def support_of(sentence: str) -> Support:
    (finding,) = read_sentences(sentence, [read_words(TEXT)])
    return finding.support


@pytest.mark.parametrize(
    "sentence",
    [
        MINTS,
        f"But {MINTS.lower()}",
        f"I disagree: {MINTS.lower()}",
        f"{COPPER.removesuffix('.')} …",
        "“Mints lose money on every small coin they strike.”",
    ],
)
def test_a_sentence_of_the_argument_is_a_quotation(sentence: str) -> None:
    support = support_of(sentence)
    assert support.quoted
    assert support.supported
    assert not support.distorted


def test_words_in_mostly_the_same_order_are_supported() -> None:
    support = support_of("Small coins: mints lose money when they strike them.")
    assert support.supported
    assert not support.quoted
    assert support.content_share == 1
    assert support.share == pytest.approx(5 / 7, abs=0.01)


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("Copper becomes cheap for many builders.", "if banks melt"),
        ("Mints lose money on every small coin.", "they"),
        ("Do mints lose money on every small coin they strike?", "asks"),
        ("Mints lose 7 money on every small coin they strike.", "7"),
        ("Studies show mints lose money on every small coin they strike.", "studies"),
        ("Mints strike money on every small coin they lose.", "“strike” and “lose”"),
        ("Unless mints lose money on every small coin they strike.", "unless"),
        ("You said: mints lose money on every small coin they strike.", "said"),
        ("Mints lose money …", "“on”"),
    ],
)
def test_what_changes_the_meaning_of_the_argument_is_named(sentence: str, word: str) -> None:
    support = support_of(sentence)
    assert support.distorted
    assert not support.supported
    assert not support.denies
    assert word in support.why


@pytest.mark.parametrize(
    "sentence",
    [
        "Mints lose no money on every small coin they strike.",
        "Mints do not lose money on every small coin they strike.",
        "I doubt that mints lose money on every small coin they strike.",
        "Coins may be useful to blind people, because they cannot read banknotes.",
        "Coins may not be useful to blind people, because they can read banknotes.",
    ],
)
def test_a_denial_of_the_argument_is_recognised(sentence: str) -> None:
    support = support_of(sentence)
    assert support.denies
    assert support.distorted
    assert not support.supported


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("Mints lose money on every small golden coin they strike.", "golden"),
        ("Penguins live in Antarctica.", "0%"),
        (f"{'Mints lose coins ' * (LONGEST // 3 + 1)}.", str(LONGEST)),
    ],
)
def test_what_the_argument_does_not_say_is_not_supported(sentence: str, word: str) -> None:
    support = support_of(sentence)
    assert not support.supported
    assert not support.distorted
    assert word in support.why


@pytest.mark.parametrize("sentence", ["I disagree.", "No.", "Is that so?"])
def test_some_sentences_claim_nothing(sentence: str) -> None:
    assert findings_in(sentence, [TEXT]) == []


def test_the_best_argument_is_the_source() -> None:
    (finding,) = findings_in(MINTS, ["Banks melt coins.", TEXT, TEXT])
    assert finding.source == 1
    (finding,) = findings_in(MINTS, [])
    assert finding.source is None
    assert not finding.support.supported


def test_a_quotation_that_is_taken_back_is_distorted() -> None:
    quoted, retracted = findings_in(f"{MINTS} I do not believe that.", [TEXT])
    assert quoted.support.quoted
    assert retracted.support.distorted


def test_only_the_first_sentences_are_compared() -> None:
    findings = findings_in(f"{MINTS} " * (MAX_SENTENCES + 5), [TEXT])
    assert len(findings) == MAX_SENTENCES + 1
    assert all(finding.support.quoted for finding in findings[:-1])
    assert not findings[-1].support.supported


def test_the_share_of_repeated_words_counts_no_denied_text() -> None:
    earlier = [read_words(MINTS), read_words(COPPER)]
    assert repeated_share([read_words(MINTS)], earlier) == 1
    denial = read_words("Mints do not lose money on every small coin they strike.")
    assert repeated_share([denial], earlier) < 0.5
    half = [read_words(MINTS), read_words("Penguins swim near icy southern cliffs daily.")]
    assert repeated_share(half, earlier) == pytest.approx(0.5, abs=0.1)
    assert repeated_share([], earlier) == 0


def test_a_text_that_was_said_before_is_an_echo() -> None:
    earlier = Earlier([MINTS, COPPER])
    assert earlier.has(f"However, {MINTS.lower()}")
    assert not earlier.has(BLIND)


def test_the_supporting_words_of_an_argument_are_marked() -> None:
    spans = supporting_spans("But banks melt coins.", TEXT)
    assert [TEXT[start:end] for start, end in spans] == ["banks melt", "coins,"]


@pytest.mark.parametrize(
    ("words", "stemmed"),
    [
        ("lie lies", "lie"),
        ("city cities", "citi"),
        ("box boxes", "box"),
        ("stop stopped stopping", "stop"),
        ("harm harms harmed", "harm"),
        ("organize organised organization", "organ"),
        ("bus", "bus"),
        ("harmless", "harmless"),
        ("naïve", "naïve"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: str, stemmed: str) -> None:
    assert {stem(word) for word in words.split()} == {stemmed}


def test_spellings_are_read_alike() -> None:
    words = ("they", "can", "not", "it", "is", "4000", "percent")
    assert read_words("They can’t; it's 4,000 %.").words == words
    assert read_words("Not only mints").negations == []
    assert read_words("Mints do not melt coins, banks do").negated == {3}


ZOOS = "Zoos harm wild animals because cages are small."
ZOO = Argument(id="z", text=ZOOS)


@pytest.mark.parametrize(
    ("sentence", "check"),
    [
        (ZOOS, WordCheck.SUPPORTED),
        ("I disagree.", WordCheck.SUPPORTED),
        ("Zoos harm wild animals, since cages are small.", WordCheck.SUPPORTED),
        ("Zoos harm wild animals in wide open fields.", WordCheck.OPEN),
        ("Penguins live in Antarctica.", WordCheck.OPEN),
        ("Penguins live in 7 cages.", WordCheck.DISTORTED),
        ("Zoos do not harm wild animals because cages are small.", WordCheck.DISTORTED),
    ],
)
def test_a_sentence_is_checked_by_its_words(sentence: str, check: WordCheck) -> None:
    assert read(sentence, (ZOO,)) is check


def test_a_pronoun_stands_for_words_of_the_opponent() -> None:
    pronoun = Argument(id="p", text="They harm wild animals.")
    assert read("Zoos harm wild animals.", (pronoun,), "I like zoos.") is WordCheck.SUPPORTED
    assert read("Zoos harm wild animals.", (pronoun,)) is WordCheck.OPEN


@pytest.mark.parametrize(
    ("sentence", "rest"),
    [
        ("You praise zoos, but cages harm animals.", "cages harm animals."),
        ("You praise zoos.", ""),
        ("You praise penguins and cliffs, but cages harm animals.", None),
        ("Zoos are praised, but cages harm animals.", None),
    ],
)
def test_a_clause_that_names_what_the_opponent_said_needs_no_support(
    sentence: str, rest: str | None
) -> None:
    assert without_attribution(sentence, "I think zoos are great.") == (
        sentence if rest is None else rest
    )


def test_a_model_is_told_what_to_drop() -> None:
    absent = describe_unsupported("Zoos harm wild animals, and penguins swim far away.", [ZOO])
    assert absent == 'drop "penguins swim far away"'
    changed = describe_unsupported("Cages harm wild animals because zoos are small.", [ZOO])
    assert "“cages” and “zoos”" in changed
