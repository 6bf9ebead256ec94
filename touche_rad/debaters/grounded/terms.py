"""Words as the debater compares them: stemmed, weighted by rarity, with their tone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise

from touche_rad.text import content_words, words

Vector = Mapping[str, float]
"""Weights of terms; one that is compared has length 1."""

NEGATIONS = frozenset(
    "not no never nor nobody none nothing neither cannot without hardly rarely barely fail fails"
    " lack lacks lacking".split()
)
"""Words that turn a statement into its opposite, as one counts them."""

_EMPTY = frozenset(
    "people make way thing say think believe argue argument claim point view fact often even well"
    " rather like get take give use good need want know see mean case example ignore overlook"
    " assume acknowledge consider suggest assumption notion idea actually simply really truly"
    " however indeed inherently ultimately potentially fundamentally essentially may might"
    " your my that critique perspective statement response concern".split()
)
"""Words of debating itself, which say little of what is debated."""

_ENDINGS = (
    ("isations", 4), ("izations", 4), ("isation", 4), ("ization", 4), ("ations", 4), ("ation", 4),
    ("ements", 4), ("ement", 4), ("ments", 4), ("ment", 4), ("ingly", 4), ("edly", 4),
    ("ively", 4), ("fulness", 4), ("ness", 4), ("ities", 4), ("ity", 4), ("ising", 4),
    ("izing", 4), ("ised", 4), ("ized", 4), ("ise", 4), ("ize", 4), ("ions", 4), ("ion", 4),
    ("ives", 4), ("ive", 4), ("ance", 4), ("ence", 4), ("able", 4), ("ible", 4), ("ally", 4),
    ("ing", 3), ("ed", 3), ("ly", 4), ("al", 5), ("er", 4), ("or", 5), ("ful", 4),
)  # fmt: skip
_COMMON_TERM = 0.25
"""What a term of debating weighs, beside one of the matter."""
_PAIR = 0.6
"""What two words in a row weigh as a phrase, beside a word of the same rarity."""


def is_negation(word: str) -> bool:
    """Whether a word negates."""
    return word in NEGATIONS or word.endswith("n't")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a word without its common English endings."""
    word = re.sub(r"'s$|'", "", word)
    if len(word) <= 3 or not word.isascii():
        return word
    word = _singular(word)
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = _undoubled(word.removesuffix(ending))
            break
    word = word.removesuffix("e") if len(word) > 3 else word
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _undoubled(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word


_EMPTY_STEMS = frozenset(map(stem, _EMPTY))


@lru_cache(maxsize=32_768)
def terms(text: str) -> tuple[str, ...]:
    """Return the stems of the words that carry matter, negations apart, in order."""
    return tuple(stem(word) for word in content_words(text) if not is_negation(word))


def _counted(text: str) -> Counter[str]:
    found = terms(text)
    counted = Counter(found)
    counted.update(f"{one} {other}" for one, other in pairwise(found))
    return counted


class Lexis:
    """How rare each term is in a sample of the collection, and texts as vectors by that."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Count in how many texts each term stands."""
        self.size = 0
        self.held: Counter[str] = Counter()
        for text in texts:
            self.size += 1
            self.held.update(set(terms(text)))

    @lru_cache(maxsize=65_536)  # noqa: B019 - lives as long as the debater
    def rarity(self, term: str) -> float:
        """Return the inverse document frequency; a phrase is as rare as its words together."""
        if " " in term:
            return _PAIR * sum(map(self.rarity, term.split())) / 2
        found = math.log(1 + (self.size + 1) / (self.held[term] + 0.5))
        return found * _COMMON_TERM if term in _EMPTY_STEMS else found

    def weights(self, text: str) -> dict[str, float]:
        """Return each term's weight in a text, not brought to any length."""
        return {
            term: (1 + math.log(count)) * self.rarity(term)
            for term, count in _counted(text).items()
        }

    def vector(self, text: str) -> Vector:
        """Return a text as a vector of length 1, or an empty one."""
        return unit(self.weights(text))


def unit(weights: Vector) -> Vector:
    """Bring a vector to length 1."""
    length = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {term: weight / length for term, weight in weights.items()} if length else {}


def cosine(one: Vector, other: Vector) -> float:
    """Return how alike two vectors of length 1 are."""
    return sum(one[term] * other[term] for term in sorted(one.keys() & other.keys()))


def coverage(of: Vector, by: Vector) -> float:
    """Return the share of the weight of one vector's terms that another has as well."""
    total = sum(of.values())
    return sum(of[term] for term in sorted(of.keys() & by.keys())) / total if total else 0.0


def mixed(parts: Iterable[tuple[Vector, float]]) -> Vector:
    """Add vectors by weight, and bring the sum to length 1."""
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
"""How many words a negation reaches ahead."""
_SIGNS = {stem(word): 1 for word in _WELL.split()} | {stem(word): -1 for word in _ILL.split()}


@lru_cache(maxsize=32_768)
def tone(text: str) -> float:
    """Return -1..1: below 0 it speaks ill, above 0 well, 0 neither or both alike."""
    total, seen, turned = 0, 0, 0
    for word in words(text):
        if is_negation(word):
            turned = _REACH + 1
        elif sign := _SIGNS.get(stem(word), 0):
            total += -sign if turned else sign
            seen += 1
        turned = max(0, turned - 1)
    return total / (seen + 1)
