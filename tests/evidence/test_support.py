"""Which sentences an argument supports by its words, and what is wrong with the others."""

from __future__ import annotations

import pytest

from tests.records import read_table
from touche_rad.evidence.support import (
    LONGEST,
    MAX_SENTENCES,
    findings_in,
    read_sentences,
    repeated_share,
    supporting_spans,
)
from touche_rad.evidence.words import read_words

MINTS = "Mints lose money on every small coin they strike."
COPPER = "If banks melt old coins, copper becomes cheap for many builders."
BLIND = "Coins may not be useful to blind people, because they cannot read banknotes."
TEXT = f"{MINTS} {COPPER} {BLIND}"


@pytest.mark.parametrize(
    ("sentence", "flags", "reason"),
    [
        *read_table("evidence/sentences.tsv"),
        (f"{'Mints lose coins ' * (LONGEST // 3 + 1)}.", "", str(LONGEST)),
    ],
)
def test_a_sentence_is_compared_by_its_words(sentence: str, flags: str, reason: str) -> None:
    (finding,) = read_sentences(sentence, [read_words(TEXT)])
    names = ("supported", "quoted", "denies")
    assert [name for name in names if getattr(finding.support, name)] == flags.split()
    assert reason in finding.support.why


@pytest.mark.parametrize("sentence", ["I disagree.", "No.", "Is that so?"])
def test_some_sentences_claim_nothing(sentence: str) -> None:
    assert findings_in(sentence, [TEXT]) == []


def test_the_best_argument_is_the_source() -> None:
    (finding,) = findings_in(MINTS, ["Banks melt coins.", TEXT, TEXT])
    assert finding.source == 1


def test_a_quotation_that_is_taken_back_is_unsupported() -> None:
    quoted, retracted = findings_in(f"{MINTS} I do not believe that.", [TEXT])
    assert quoted.support.quoted
    assert not retracted.support.supported


def test_only_the_first_sentences_are_compared() -> None:
    findings = findings_in(f"{MINTS} " * (MAX_SENTENCES + 5), [TEXT])
    quoted = [finding.support.quoted for finding in findings]
    assert quoted == [*[True] * MAX_SENTENCES, False]


@pytest.mark.parametrize(
    ("sentence", "share"),
    [(MINTS, 1.0), (MINTS.replace("lose", "do not lose"), 0.2), ("Penguins swim.", 0.0), ("", 0)],
)
def test_the_share_of_repeated_words_counts_no_denied_text(sentence: str, share: float) -> None:
    earlier = [read_words(MINTS), read_words(COPPER)]
    assert repeated_share([read_words(sentence)], earlier) == pytest.approx(share, abs=0.1)


def test_the_supporting_words_of_an_argument_are_marked() -> None:
    spans = supporting_spans("But banks melt coins.", TEXT)
    assert [TEXT[start:end] for start, end in spans] == ["banks melt", "coins,"]
    assert not supporting_spans("It can exist.", "Existence can't melt.")
