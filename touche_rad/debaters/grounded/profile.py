"""What is computed of each argument once, before any debate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from touche_rad.debate import Argument
from touche_rad.debaters.grounded.terms import Lexis, Vector, is_negation, terms, tone
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, count_words, cut_to_words, sentences, words

_DANGLING = re.compile(
    r"(?:this|that|these|those|such|it(?! (?:is|was) )|its|they|their|them|he|she|his|her|the same"
    r"|the (?:former|latter)"
    r"|however|but|also|additionally|furthermore|moreover|similarly|otherwise|therefore|thus|hence"
    r"|again|another|likewise|conversely|here|not only|doing so|by doing|if (?:so|this|that|it)"
    r"|in (?:this|that|these|such|the above)|when (?:this|it)|as a result|for example|for instance"
    r"|actually|indeed|some of these|most of these|both (?:of )?these)\b",
    re.IGNORECASE,
)
_META = re.compile(
    r"\b(?:parent (?:claim|argument|statement|idea)|(?:this|the|above|original) (?:claim"
    r"|premise|point|thesis"
    r"|kialo|debate|thread|link|article|post|reply|comment|study)|(?:claim|point|argument"
    r"|article|study) (?:linked )?above"
    r"|kialo|see the data|linked document|ted talk)\b|https?:|www\.|\w\.(?:com|org|net|gov|edu)\b"
    r"|\[\w[^\]]*\]|\(p+\. ?\d",
    re.IGNORECASE,
)
_FEWEST, _MOST = 10, 45
_ENDED = re.compile(r"[.!?…][\"'”’)\]]*$")

_SHRED = re.compile(
    r"(?<=[.!?\"”])(?:\s+[a-z]+(?:-[a-z]+)+|\s*(?:www\.)?[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|gov|edu|uk))+$"
)
"""A link's name or address that was left behind the last full stop."""

FORM: Final = ("dangling", "meta", "question", "short", "long")
"""The faults of form, each 0 where a text has it not."""


@lru_cache(maxsize=32_768)
def _form(text: str) -> tuple[float, ...]:
    quoted = " ".join(whole_sentences(text))
    size = count_words(quoted)
    return (
        float(bool(_DANGLING.match(quoted))),
        float(bool(_META.search(quoted))),
        float("?" in quoted),
        max(0.0, (_FEWEST - size) / _FEWEST),
        max(0.0, (size - _MOST) / 15),
    )


def form(text: str) -> dict[str, float]:
    """Return what makes a text a poor quotation; all are 0 where nothing does."""
    return dict(zip(FORM, _form(text), strict=True))


def dangles(sentence: str) -> bool:
    """Whether a sentence starts with a word that points to something not quoted."""
    return bool(_DANGLING.match(sentence))


def whole_sentences(text: str) -> list[str]:
    """A text's sentences without the shreds at its end, such as a link's name."""
    found = sentences(_SHRED.sub("", clean(text)))
    while len(found) > 1 and not _ENDED.search(found[-1]):
        found.pop()
    return found


def quotation(text: str, most: int, whole: int) -> str:
    """Return what is quoted of a text: all of it, or a run of whole sentences that stands alone.

    Args:
        text: The argument's text.
        most: The most words that may be quoted.
        whole: Up to how many words the text is quoted whole.
    """
    found = whole_sentences(text)
    joined = " ".join(found)
    if count_words(joined) <= min(whole, most):
        return joined
    runs = [
        " ".join(found[start:end])
        for start in range(len(found))
        for end in range(start + 1, min(start + 2, len(found)) + 1)
        if count_words(" ".join(found[start:end])) <= most
        and (start == 0 or not dangles(found[start]))
    ]
    if not runs:
        return cut_to_words(clean(text), most)
    return max(runs, key=lambda run: (not dangles(run), _worth(run), -runs.index(run)))


def _worth(run: str) -> int:
    """Prefer what is long enough to argue, and no longer than one reads at ease."""
    size = count_words(run)
    return min(size, _MOST) - max(0, size - _MOST)


Array = npt.NDArray[np.float32]


class Latent:
    """A truncated singular value decomposition of a sample of texts; any text is folded into it.

    Only the map from terms to dimensions is kept, so its size does not grow with the collection.
    """

    def __init__(self, texts: Sequence[str], lexis: Lexis, dimensions: int, seed: int = 0) -> None:
        """Decompose the texts, each of which should tell of one matter.

        Args:
            texts: The sample.
            lexis: What each term weighs.
            dimensions: How many dimensions are kept at most.
            seed: For the random projection that the decomposition starts from.
        """
        self._lexis = lexis
        kept = sorted(term for term, count in lexis.held.items() if count > 1)
        self._place = {term: place for place, term in enumerate(kept)}
        self._weight = np.array([lexis.rarity(term) for term in kept], dtype=np.float32)
        self._map = _decomposed(self._rows(texts), dimensions, seed)

    def vector(self, text: str) -> Array:
        """Return a text's place, of length 1, or the origin where no term is known."""
        places = [self._place[term] for term in terms(text) if term in self._place]
        if not places or not self._map.shape[1]:
            return np.zeros(self._map.shape[1], dtype=np.float32)
        found: Array = self._weight[places] @ self._map[places]
        length = float(np.linalg.norm(found))
        return found / length if length > 1e-6 else np.zeros_like(found)

    def _rows(self, texts: Sequence[str]) -> csr_matrix:
        columns: list[int] = []
        ends = [0]
        for text in texts:
            columns.extend(self._place[term] for term in terms(text) if term in self._place)
            ends.append(len(columns))
        values = self._weight[columns] if columns else np.zeros(0, dtype=np.float32)
        shape = (len(texts), len(self._place))
        rows = csr_matrix((values, np.array(columns, dtype=np.int32), ends), shape=shape)
        rows.sum_duplicates()
        lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
        rows.data /= np.repeat(np.maximum(lengths, 1e-6), np.diff(rows.indptr))
        return rows


def _decomposed(rows: csr_matrix, dimensions: int, seed: int) -> Array:
    """The right singular vectors, by random projection and two power steps."""
    dimensions = max(0, min(dimensions, min(rows.shape) - 1))
    if not dimensions:
        return np.zeros((rows.shape[1], 0), dtype=np.float32)
    random = np.random.default_rng(seed)
    width = min(dimensions + 10, min(rows.shape))
    basis = rows @ random.standard_normal((rows.shape[1], width), dtype=np.float32)
    for _ in range(2):
        basis = rows @ (rows.T @ _orthogonal(basis))
    right = _orthogonal(rows.T @ _orthogonal(basis))[:, :dimensions]
    return np.ascontiguousarray(_signed(right.T).T, dtype=np.float32)


def _orthogonal(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The left singular vectors, greatest first, by way of the small matrix of inner products."""
    values, turned = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
    kept = values > max(float(values[-1]), 1e-12) * 1e-7
    scaled = (turned[:, kept] / np.sqrt(values[kept]))[:, ::-1]
    found: npt.NDArray[np.float32] = vectors @ scaled.astype(np.float32)
    return found


def _signed(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Give each vector the sign that makes its greatest part positive, so that runs agree."""
    greatest = np.abs(vectors).argmax(axis=1)
    signs: npt.NDArray[np.float32] = np.sign(vectors[np.arange(len(vectors)), greatest])
    return vectors * signs[:, None]


SAMPLE = 10_000
"""Arguments from which the terms' rarity and the latent space are learnt. A larger collection is
sampled evenly in the index's own order, so that set-up takes seconds at any size."""
DIMENSIONS = 128
REMEMBERED = 20_000
"""Profiles that are kept; when there are more, all are made anew."""


@dataclass(frozen=True, eq=False, slots=True)
class Profile:
    """An argument as the ranking compares it."""

    text: Vector
    attacks: Vector
    topic: Vector
    claim: Vector
    """The claim that people wrote: what is attacked, or what is supported (`original` says)."""
    sign: int
    """1 where that claim is attacked, -1 where it is supported."""
    claim_tone: float
    claim_negated: bool
    latent_text: Array
    latent_attacks: Array
    words: frozenset[str]
    """The terms of the text."""
    matter: tuple[str, str]
    """The pair of opposed claims that it takes sides on, the same for either side."""


class Library:
    """Profiles of arguments, made as they are needed."""

    def __init__(self, sample: Sequence[Argument], seed: int = 0) -> None:
        """Learn from a sample which terms are rare and which belong together."""
        texts = [f"{argument.text} {argument.attacks} {argument.topic}" for argument in sample]
        self.lexis = Lexis(texts)
        self.latent = Latent(texts, self.lexis, DIMENSIONS, seed)
        self._made: dict[str, Profile] = {}

    def profile(self, argument: Argument) -> Profile:
        """Return an argument's profile."""
        found = self._made.get(argument.id)
        if found is None:
            if len(self._made) >= REMEMBERED:
                self._made.clear()
            found = self._made[argument.id] = self._profile(argument)
        return found

    def _profile(self, argument: Argument) -> Profile:
        vector, latent = self.lexis.vector, self.latent.vector
        attacked = argument.original != "supports"
        claim = argument.attacks if attacked else argument.supports
        first, second = sorted((argument.attacks, argument.supports))
        return Profile(
            text=vector(argument.text),
            attacks=vector(argument.attacks),
            topic=vector(argument.topic),
            claim=vector(claim),
            sign=1 if attacked else -1,
            claim_tone=tone(claim),
            claim_negated=negated(claim),
            latent_text=latent(argument.text),
            latent_attacks=latent(f"{argument.attacks} {argument.topic}"),
            words=frozenset(terms(argument.text)),
            matter=(first, second),
        )


def sampled(index: ArgumentIndex) -> list[Argument]:
    """Return at most `SAMPLE` arguments, evenly spread over the index."""
    step = max(1, -(-len(index) // SAMPLE))
    every: Iterable[Argument] = islice(index.arguments(), 0, None, step)
    return list(every)


def negated(text: str) -> bool:
    """Whether a statement is negated an odd number of times."""
    return sum(map(is_negation, words(text))) % 2 == 1
