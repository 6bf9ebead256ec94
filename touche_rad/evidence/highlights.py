"""Which words of a cited argument support which sentence of a response."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from touche_rad.evidence.alignment import MAX_SENTENCE, MAX_SOURCE, common_words
from touche_rad.evidence.findings import findings, read_sentences, score
from touche_rad.evidence.support import SupportKind
from touche_rad.evidence.words import Token, read_passage

_SUPPORTS = 0.5


@dataclass(frozen=True)
class SupportedSentence:
    """A sentence of a response that claims something, and what its sources say."""

    text: str
    kind: SupportKind
    why: str
    score: float
    source: int | None
    """Number of the argument, from 0, that the sentence was compared with."""

    @property
    def supported(self) -> bool:
        """Whether the argument supports the sentence."""
        return self.score >= _SUPPORTS


def supported_sentences(content: str, texts: Sequence[str]) -> list[SupportedSentence]:
    """Return the sentences of a response that claim something, with their support."""
    found = findings(tuple(read_sentences(content)), [read_passage(text) for text in texts])
    return [
        SupportedSentence(
            one.sentence.text, one.support.kind, one.support.why, score(one.support), one.source
        )
        for one in found
    ]


def supporting_spans(sentence: str, text: str) -> list[tuple[int, int]]:
    """Return the parts of an argument's text, as positions, that have the sentence's words."""
    said = read_passage(sentence).tokens[:MAX_SENTENCE]
    words = list(_words(text))[:MAX_SOURCE]
    pairs = common_words(said, [token for token, _, _ in words])
    places = sorted({at for _, at in pairs})
    spans = [words[at][1:] for at in places]
    joined: list[tuple[int, int]] = spans[:1]
    for (before, at), span in zip(pairwise(places), spans[1:], strict=True):
        if at == before + 1:
            joined[-1] = (joined[-1][0], span[1])
        else:
            joined.append(span)
    return joined


def _words(text: str) -> Iterator[tuple[Token, int, int]]:
    """Yield the tokens of a text with their positions."""
    for match in re.finditer(r"\S+", text):
        for token in read_passage(match.group()).tokens:
            yield token, *match.span()
