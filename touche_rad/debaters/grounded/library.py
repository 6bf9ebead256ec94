"""Words with weights by rarity, and what is computed of each argument once."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from touche_rad.debate import Argument
from touche_rad.evidence.quotable import form
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import NEGATIONS, content_words, strip_ending, words

Vector = Mapping[str, float]
"""Weights of terms; one that is compared has length 1."""

_NEGATIONS = NEGATIONS | set("rarely barely fail fails lack lacks lacking".split())
"""Words that turn a statement into its opposite."""

_EMPTY = frozenset(
    "people make way thing say think believe argue argument claim point view fact often even well"
    " rather like get take give use good need want know see mean case example ignore overlook"
    " assume acknowledge consider suggest assumption notion idea actually simply really truly"
    " however indeed inherently ultimately potentially fundamentally essentially may might"
    " your my that critique perspective statement response concern".split()
)
"""Words of debating itself, which say little of what is debated."""

_ENDINGS = (
    ("isations", 4),
    ("izations", 4),
    ("isation", 4),
    ("ization", 4),
    ("ations", 4),
    ("ation", 4),
    ("ements", 4),
    ("ement", 4),
    ("ments", 4),
    ("ment", 4),
    ("ingly", 4),
    ("edly", 4),
    ("ively", 4),
    ("fulness", 4),
    ("ness", 4),
    ("ities", 4),
    ("ity", 4),
    ("ising", 4),
    ("izing", 4),
    ("ised", 4),
    ("ized", 4),
    ("ise", 4),
    ("ize", 4),
    ("ions", 4),
    ("ion", 4),
    ("ives", 4),
    ("ive", 4),
    ("ance", 4),
    ("ence", 4),
    ("able", 4),
    ("ible", 4),
    ("ally", 4),
    ("ing", 3),
    ("ed", 3),
    ("ly", 4),
    ("al", 5),
    ("er", 4),
    ("or", 5),
    ("ful", 4),
)
_COMMON_TERM = 0.25
"""Weight of a general term of debating, relative to a specific term."""
_PAIR = 0.6
"""Weight of two adjacent words as a phrase, relative to a word of the same rarity."""


def is_negation(word: str) -> bool:
    """Whether a word negates."""
    return word in _NEGATIONS or word.endswith("n't")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a word without its common English endings."""
    word = re.sub(r"'s$|'", "", word)
    return strip_ending(word, _ENDINGS, ("sses", "shes", "ches", "xes"))


_EMPTY_STEMS = frozenset(map(stem, _EMPTY))


@lru_cache(maxsize=32_768)
def terms(text: str) -> tuple[str, ...]:
    """Return the stems of the content words in order, without negations."""
    return tuple(stem(word) for word in content_words(text) if not is_negation(word))


def _counted(text: str) -> Counter[str]:
    found = terms(text)
    counted = Counter(found)
    counted.update(f"{one} {other}" for one, other in pairwise(found))
    return counted


class Lexis:
    """Inverse document frequencies of a sample, and texts as vectors."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Count the texts that contain each term."""
        self.size = 0
        self.held: Counter[str] = Counter()
        for text in texts:
            self.size += 1
            self.held.update(set(terms(text)))

    @lru_cache(maxsize=65_536)  # noqa: B019 - lives as long as the debater
    def rarity(self, term: str) -> float:
        """Return the inverse document frequency; of a phrase, from that of its words."""
        if " " in term:
            return _PAIR * sum(map(self.rarity, term.split())) / 2
        found = math.log(1 + (self.size + 1) / (self.held[term] + 0.5))
        return found * _COMMON_TERM if term in _EMPTY_STEMS else found

    def weights(self, text: str) -> dict[str, float]:
        """Return the weights of the terms of a text, without normalisation."""
        return {
            term: (1 + math.log(count)) * self.rarity(term)
            for term, count in _counted(text).items()
        }

    def vector(self, text: str) -> Vector:
        """Return a text as a vector of length 1, or an empty one."""
        return unit(self.weights(text))


def unit(weights: Vector) -> Vector:
    """Normalise a vector to length 1."""
    length = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {term: weight / length for term, weight in weights.items()} if length else {}


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of length 1."""
    return sum([one[term] * other[term] for term in _shared(one, other)])


def coverage(of: Vector, by: Vector) -> float:
    """Return the share of a vector's weight whose terms another vector has."""
    shared = _shared(of, by)
    return sum([of[term] for term in shared]) / sum(of.values()) if shared else 0.0


def _shared(one: Vector, other: Vector) -> Collection[str]:
    """Return the common terms in an order that is always the same where a sum depends on it."""
    shared = one.keys() & other.keys()
    return sorted(shared) if len(shared) > 2 else shared


_ENOUGH_ALONE = 0.5
"""Share of a text's weight from which one word in common is no chance."""


def shares_by_chance(of: Vector, by: Vector, topic: Vector) -> bool:
    """Whether two texts have at most one word in common, by chance.

    It is no chance if the word is a large part of the first text, or names the topic of the second.
    """
    words = {term: weight for term, weight in of.items() if " " not in term}
    shared = {term: weight for term, weight in words.items() if term in by}
    if len(shared) > 1 or shared.keys() & topic.keys():
        return False
    return sum(shared.values()) < _ENOUGH_ALONE * sum(words.values())


def mixed(parts: Iterable[tuple[Vector, float]]) -> Vector:
    """Return the weighted sum of vectors, normalised to length 1."""
    total: dict[str, float] = {}
    for vector, share in parts:
        for term, weight in vector.items():
            total[term] = total.get(term, 0.0) + share * weight
    return unit(total)


_WELL = """
good better best benefit beneficial advantage advantageous improve improvement help helpful protect
protection safe safety safer secure freedom liberty fair fairness just justice equal equality
effective efficient efficiently success successful succeed gain useful valuable value important
essential vital necessary worth worthwhile healthy health positive progress promote foster encourage
enable empower support strengthen enhance save solve solution reliable sustainable legitimate moral
ethical humane happy happiness love respect dignity trust opportunity prosper prosperity flourish
thrive reward enjoy allow desirable preferable reasonable rational wise sound reduce alleviate
mitigate possible capable able cheap cheaper affordable accurate clear honest stable harmless
inclusive diverse creative innovative peaceful compassion justified acceptable right
"""
_ILL = """
bad worse worst harm harmful hurt damage damaging destroy destruction destructive dangerous danger
risk risky threat threaten threatening unsafe unfair unjust injustice inequality unequal
discriminate discrimination discriminatory oppress oppression oppressive exploit exploitation abuse
abusive violence violent kill death die suffer suffering pain painful cruel cruelty cost costly
expensive burden waste wasteful inefficient ineffective fail failure useless worthless unnecessary
pointless wrong immoral unethical evil corrupt corruption fraud crime criminal illegal lose loss
problem problematic difficult difficulty impossible unable limit limited restrict restriction
restrictive undermine weaken erode hinder impede disadvantage disrupt exclude exclusion marginalize
segregate bias biased prejudice racist sexist hate hatred fear distrust mistrust mislead misleading
false deceptive stigma shame humiliate violate violation coerce coercion forced poverty poor debt
crisis collapse decline worsen exacerbate perpetuate reinforce alienate isolate neglect ignore
impractical unrealistic unsustainable unreliable irrational arbitrary unhealthy disease sick
addiction toxic pollute pollution war conflict chaos unstable punish ban abolish
"""
_REACH = 3
"""Number of words that a negation reaches."""
_SIGNS = {stem(word): 1 for word in _WELL.split()} | {stem(word): -1 for word in _ILL.split()}


@lru_cache(maxsize=32_768)
def tone(text: str) -> float:
    """Return the sentiment of a text from -1 (negative) to 1 (positive)."""
    total, seen, turned = 0, 0, 0
    for word in words(text):
        if is_negation(word):
            turned = _REACH + 1
        elif sign := _SIGNS.get(stem(word), 0):
            total += -sign if turned else sign
            seen += 1
        turned = max(0, turned - 1)
    return total / (seen + 1)


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

    def _rows(self, texts: Sequence[str]) -> _Rows:
        columns: list[int] = []
        ends = [0]
        for text in texts:
            columns.extend(self._place[term] for term in terms(text) if term in self._place)
            ends.append(len(columns))
        places = np.array(columns, dtype=np.int64)
        return _Rows(places, self._weight[places], np.diff(ends), len(self._place))


class _Rows:
    """A sparse matrix whose rows have length 1; equal places of a row are added.

    All sums have a fixed order, so that runs agree. `scipy.sparse` does the same, but loading it
    takes longer than all of this module's work on a small collection.
    """

    def __init__(
        self,
        columns: npt.NDArray[np.int64],
        values: Array,
        counts: npt.NDArray[np.int64],
        width: int,
    ) -> None:
        self.shape = len(counts), width
        row = np.repeat(np.arange(len(counts)), counts)
        places, which = np.unique(row * max(width, 1) + columns, return_inverse=True)
        self._values = np.zeros(len(places), dtype=np.float32)
        np.add.at(self._values, which, values)
        row, self._columns = np.divmod(places, max(width, 1))
        self._starts = np.searchsorted(row, np.arange(len(counts) + 1))
        filled, first = np.unique(row, return_index=True)
        squares = np.zeros(len(counts), dtype=np.float32)
        if len(filled):
            squares[filled] = np.add.reduceat(self._values * self._values, first)
        self._values /= np.maximum(np.sqrt(squares), np.float32(1e-6))[row]

    def times(self, dense: Array) -> Array:
        """Return the product with a dense matrix: the first values of all rows, the second, ..."""
        found = np.zeros((self.shape[0], dense.shape[1]), dtype=np.float32)
        counts = np.diff(self._starts)
        for place in range(int(counts.max(initial=0))):
            rows = np.flatnonzero(counts > place)
            at = self._starts[rows] + place
            found[rows] += self._values[at, None] * dense[self._columns[at]]
        return found

    def transposed_times(self, dense: Array) -> Array:
        """Return the product of the transposed matrix with a dense one, row by row."""
        found = np.zeros((self.shape[1], dense.shape[1]), dtype=np.float32)
        for row, (start, end) in enumerate(pairwise(self._starts.tolist())):
            found[self._columns[start:end]] += self._values[start:end, None] * dense[row]
        return found


def _decomposed(rows: _Rows, dimensions: int, seed: int) -> Array:
    """The right singular vectors, by random projection and two power steps."""
    dimensions = max(0, min(dimensions, min(rows.shape) - 1))
    if not dimensions:
        return np.zeros((rows.shape[1], 0), dtype=np.float32)
    random = np.random.default_rng(seed)
    width = min(dimensions + 10, min(rows.shape))
    basis = rows.times(random.standard_normal((rows.shape[1], width), dtype=np.float32))
    for _ in range(2):
        basis = rows.times(rows.transposed_times(_orthogonal(basis)))
    right = _orthogonal(rows.transposed_times(_orthogonal(basis)))[:, :dimensions]
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
    faults: dict[str, float]
    """The faults of form of its text."""


class Library:
    """Profiles of arguments, made as they are needed."""

    def __init__(self, sample: Sequence[Argument], seed: int = 0) -> None:
        """Learn from a sample which terms are rare and which belong together."""
        texts = [f"{argument.text} {argument.attacks} {argument.topic}" for argument in sample]
        self.lexis = Lexis(texts)
        self.latent = Latent(texts, self.lexis, DIMENSIONS, seed)
        self._made: dict[str, Profile] = {}
        self._claims: dict[str, Vector] = {}

    def profile(self, argument: Argument) -> Profile:
        """Return an argument's profile."""
        found = self._made.get(argument.id)
        if found is None:
            if len(self._made) >= REMEMBERED:
                self._made.clear()
                self._claims.clear()
            found = self._made[argument.id] = self._profile(argument)
        return found

    def _profile(self, argument: Argument) -> Profile:
        vector, latent = self.lexis.vector, self.latent.vector
        attacked = argument.original != "supports"
        claim = argument.attacks if attacked else argument.supports
        first, second = sorted((argument.attacks, argument.supports))
        return Profile(
            text=vector(argument.text),
            attacks=self._claim(argument.attacks),
            topic=self._claim(argument.topic),
            claim=self._claim(claim),
            sign=1 if attacked else -1,
            claim_tone=tone(claim),
            claim_negated=negated(claim),
            latent_text=latent(argument.text),
            latent_attacks=latent(f"{argument.attacks} {argument.topic}"),
            words=frozenset(terms(argument.text)),
            matter=(first, second),
            faults=form(argument.text),
        )

    def _claim(self, text: str) -> Vector:
        """Return the vector of a claim or a topic, which many arguments share."""
        found = self._claims.get(text)
        if found is None:
            found = self._claims[text] = self.lexis.vector(text)
        return found


def sampled(index: ArgumentIndex) -> list[Argument]:
    """Return at most `SAMPLE` arguments, evenly spread over the index."""
    step = max(1, -(-len(index) // SAMPLE))
    every: Iterable[Argument] = islice(index.arguments(), 0, None, step)
    return list(every)


def negated(text: str) -> bool:
    """Whether a statement is negated an odd number of times."""
    return sum(map(is_negation, words(text))) % 2 == 1
