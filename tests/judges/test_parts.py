"""The judge's parts, each on plain data."""

from __future__ import annotations

import pytest

from judges.grice.grounded.relation import link_strength
from judges.grice.grounded.scene import quote_short
from touche_rad.evidence.alignment import MAX_SOURCE, align
from touche_rad.evidence.repetition import (
    Quotation,
    claims_nothing,
    content_starts,
    find_quotation,
    without_padding,
)
from touche_rad.evidence.support import logistic
from touche_rad.evidence.words import (
    coverage,
    lexicon,
    negated_words,
    read_passage,
    stem,
    strict_coverage,
)
from touche_rad.text import CHUNK, split_sentences

TEXT = "Cages are old. Parks are green, I think, and not cheap. Zoos are wide."


def words(text: str) -> list[str]:
    return [token.word for token in read_passage(text).tokens]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Don't, can’t, cannot, won't", "do not can not can not will not"),
        ("It's the dog's", "it is the dog"),
        ("They're 1,000.5 or 30 %", "they are 1000.5 or 30 percent"),
        ("ﬁne CAFÉ well-run", "fine café well run"),
        ("🦒 … !", ""),
    ],
)
def test_words_are_read_plain(text, read):
    assert words(text) == read.split()


def test_a_word_knows_the_strongest_break_before_it():
    read = read_passage("a, b; c. d … e f -- g (h)")
    assert [token.before for token in read.tokens] == ["", ",", ";", ".", "…", "", ";", ","]
    assert read_passage("a b…").after == "…"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cities", "city"),
        ("stopped", "stop"),
        ("organise", "organization"),
        ("boxes", "box"),
        ("improvement", "improves"),
        ("quickly", "quick"),
        ("studies", "study"),
    ],
)
def test_one_stem(one, other):
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("careless", "care"), ("glass", "gla"), ("bus", "bu")])
def test_two_stems(one, other):
    assert stem(one) != stem(other)


def test_long_text_is_split_into_pieces_and_nothing_is_lost():
    text = "Zoos save animals and more " * 1000
    assert max(map(len, split_sentences(text))) <= CHUNK
    assert [word for part in split_sentences(text) for word in words(part)] == words(text)
    assert split_sentences("a" * (2 * CHUNK + 5)) == ["a" * CHUNK, "a" * CHUNK, "aaaaa"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Cages are old.", Quotation.KEPT),
        ("cages are old parks are green", Quotation.KEPT),
        ("But cages are old", Quotation.KEPT),
        ("Cages are old … zoos are wide", Quotation.KEPT),
        ("Cages are … green", Quotation.KEPT),
        ("Zoos are wide … cages are old", Quotation.NONE),
        ("Parks are … cheap", Quotation.TORN),
        ("Cages are young", Quotation.NONE),
        ("Ages are old", Quotation.NONE),
    ],
)
def test_quotation(text, found):
    assert find_quotation(read_passage(text), read_passage(TEXT)) is found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("I think zoos save animals.", Quotation.KEPT),
        ("Some claim zoos save animals.", Quotation.TORN),
        ("Nobody believes zoos save animals.", Quotation.TORN),
        ("Whether zoos save animals is open.", Quotation.TORN),
        ("If parks close, zoos save animals.", Quotation.TORN),
        ("Parks close, zoos save animals.", Quotation.KEPT),
        ("Zoos save animals unless money runs out.", Quotation.TORN),
        ("Zoos save animals is not what I said.", Quotation.TORN),
        ("Zoos save animals, and parks do not.", Quotation.KEPT),
        ("Some claim zoos save animals. In fact zoos save animals.", Quotation.KEPT),
    ],
)
def test_what_is_left_out_around_a_part(source, found):
    assert find_quotation(read_passage("Zoos save animals"), read_passage(source)) is found


def test_frames_are_stripped_one_by_one():
    tokens = read_passage("However, I disagree with you: in fact zoos save animals").tokens
    assert [tokens[at].word for at in content_starts(tokens)] == ["however", "i", "in", "zoos"]


@pytest.mark.parametrize("text", ["I disagree.", "Why is that?", "No, that is not true!", "But"])
def test_claims_nothing(text):
    assert claims_nothing(read_passage(text).tokens, text)


@pytest.mark.parametrize("text", ["Zoos save animals, don't they?", "Why not.", "Animals suffer."])
def test_claims_something(text):
    assert not claims_nothing(read_passage(text).tokens, text)


def test_padding_is_left_out():
    tokens = read_passage("Zoos, generally speaking, save animals at the end of the day").tokens
    assert [token.word for token in without_padding(tokens)] == ["zoos", "save", "animals"]


@pytest.mark.parametrize(
    ("text", "flagged"),
    [
        ("zoos do not save animals", ["save"]),
        ("zoos not only save animals", []),
        ("zoos never, save animals", []),
        ("nobody doubts zoos", []),
        ("rules rather than animals", ["animals"]),
        ("a few animals", []),
        ("few animals", ["animals"]),
        ("no longer save animals", ["save"]),
    ],
)
def test_what_a_negation_reaches(text, flagged):
    tokens = read_passage(text).tokens
    found = [token.word for token, flag in zip(tokens, negated_words(tokens), strict=True) if flag]
    assert [word for word in found if word != "longer"] == flagged


def test_alignment_pairs_what_runs_together():
    found = align(
        read_passage("Zoos save rare cats").tokens, read_passage("Old zoos save cats").tokens
    )
    assert found.pairs == ((0, 1), (1, 2), (3, 3))
    assert found.share == 0.75
    assert [[token.word for token in change.said] for change in found.changes] == [["rare"]]


def test_a_long_source_is_seen_where_it_shares_most():
    source = read_passage("filler words " * 300 + "zoos save cats " + "other words " * 300)
    found = align(read_passage("zoos save cats").tokens, source.tokens)
    assert len(found.written) == MAX_SOURCE
    assert found.share == 1


def test_coverage_counts_likes_and_evidence_leaves_the_topic_out():
    said, written = read_passage("zoos harm kids").tokens, read_passage("zoos save children").tokens
    assert coverage(said, written) == pytest.approx(2 / 3)
    assert strict_coverage(said, written) == pytest.approx(1 / 3)
    assert strict_coverage(written, written) == 1


def test_link_grows_with_rare_words_and_hardly_with_common_ones():
    zoo, cat, think = (frozenset({stem(word)}) for word in ("zoo", "cat", "think"))
    assert link_strength(zoo, cat) == 0
    assert link_strength(zoo | cat, zoo | cat) == pytest.approx(0.632, abs=1e-3)
    assert link_strength(think, think) < 0.1 < link_strength(zoo, zoo)


def test_half_is_the_line():
    assert logistic(0) == 0.5
    assert 0 < logistic(-1e9) < logistic(1e9) < 1


def test_no_word_is_its_own_contrary_and_prefixes_turn():
    known = lexicon()
    assert not [pair for pair in known.contraries if pair[0] == pair[1]]
    assert known.contrary(stem("fair"), stem("unfair"))
    assert known.contrary(stem("harmful"), stem("harmless"))
    assert known.contrary(stem("increases"), stem("reduced"))
    assert not known.contrary(stem("fair"), stem("affair"))


def test_a_rationale_quotes_long_sentences_at_word_limits() -> None:
    text = "Suffering in a cramped enclosure is an argument against cramped enclosures."
    begin, end = quote_short(text).strip("“”").split(" … ")
    assert f"{text} ".startswith(f"{begin} ")
    assert f" {text}".endswith(f" {end}")
    assert len(quote_short("x" * 500)) < 100
