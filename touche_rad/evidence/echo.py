"""How far a text repeats what was said before, in the same or nearly the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from touche_rad.evidence.matching import align, content_starts
from touche_rad.evidence.support import contrary_pair, coverage
from touche_rad.evidence.words import Passage, Token, join_words, lexicon, read_passage

ECHO: Final = 0.7
"""Share of earlier words from which a text is an echo."""
_SHORTEST: Final = 2
"""Content words of a clause that is compared alone."""
_STOPS: Final = frozenset((".", "…"))


class Earlier:
    """The messages of a debate so far, to find texts that only repeat them."""

    def __init__(self, messages: Iterable[str]) -> None:
        self._messages = [read_passage(message) for message in messages]
        self._senses = {
            sense
            for message in self._messages
            for token in message.tokens
            for sense in _senses(token)
        }

    def has(self, text: str) -> bool:
        """Whether the messages say a text already, whole or nearly so."""
        read = read_passage(text)
        content = [token for token in read.tokens if token.matters]
        known = sum(not self._senses.isdisjoint(_senses(token)) for token in content)
        if known < ECHO * len(content):  # a quick check that rules out most texts
            return False
        return echo_share(_sentences(read), self._messages) >= ECHO


def echo_share(sentences: Sequence[Passage], earlier: Sequence[Passage]) -> float:
    """Return the share of the sentences that earlier messages say with the same meaning.

    Each sentence is compared with the message that it repeats most.
    """
    lengths = [sum(token.matters for token in one.tokens) for one in sentences]
    total = sum(lengths)
    found = (
        length * max((echoed(one, message) for message in earlier), default=0.0)
        for one, length in zip(sentences, lengths, strict=True)
    )
    return sum(found) / total if total else 0.0


def echoed(sentence: Passage, message: Passage) -> float:
    """Return the share of a sentence's content words in a message; 0 if the meaning is reversed.

    Words count also as synonyms. An opening such as "On the contrary:" does not count.
    """
    tokens = sentence.tokens[content_starts(sentence.tokens)[-1] :] or sentence.tokens
    covered = coverage(tokens, message.tokens)
    if covered < 0.5:
        return covered
    return 0.0 if is_reversed(tokens, message.tokens) else covered


def is_reversed(said: Sequence[Token], written: Sequence[Token]) -> bool:
    """Whether a sentence reverses a text in the same words; the order of clauses does not count."""
    if not _reverses(said, written):
        return False
    clauses = list(_clauses(said))
    return len(clauses) < 2 or any(_reverses(one, written) for one in clauses)


def _sentences(passage: Passage) -> list[Passage]:
    """Split a passage at the ends of its sentences."""
    return [
        Passage(tuple(tokens), join_words([token.word for token in tokens]))
        for tokens in _split(passage.tokens, _STOPS)
    ]


def _senses(token: Token) -> tuple[str, str]:
    return token.stem, lexicon().sense(token.stem)


def _reverses(said: Sequence[Token], written: Sequence[Token]) -> bool:
    aligned = align(said, written)
    if aligned.turned() or contrary_pair(said, aligned.stretch):
        return True
    negators = lexicon().negators
    ours = sum(token.word in negators for token in said)
    return ours != 0 and ours != sum(token.word in negators for token in aligned.stretch)


def _clauses(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the clauses between commas and stronger marks; short ones belong to the one before."""
    held: list[Token] = []
    for clause in _split(tokens, frozenset((",", ";", ".", "…"))):
        if held and sum(token.matters for token in clause) >= _SHORTEST:
            yield held
            held = []
        held.extend(clause)
    if held:
        yield held


def _split(tokens: Sequence[Token], marks: frozenset[str]) -> Iterator[Sequence[Token]]:
    starts = [at for at, token in enumerate(tokens) if at and token.before in marks]
    for start, end in zip([0, *starts], [*starts, len(tokens)], strict=True):
        if end > start:
            yield tokens[start:end]
