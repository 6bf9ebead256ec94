"""The words of a text, and the word lists that judges and debaters read by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache, cached_property, lru_cache, wraps
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator

from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.text import NEGATIONS, packaged_table, stopwords

_TOKEN: Final = re.compile(r"\d+(?:\.\d+)*|[^\W_]+(?:'[^\W_]+)*|%|[,;:.!?…()\[\]—–]")
_PLAIN: Final = packaged_table(__package__, "spellings.toml")["spellings"]
"""Spellings that mean the same, one for each, behind letters that each of them has."""
_CLAUSE: Final = 40
"""Words before a word in which the beginning of its clause is searched."""
_SCOPE: Final = 5
"""Words that a negation reaches within its clause."""


_ENDINGS: Final = {
    3: "ing ed",
    4: "isations izations isation ization ations ation ements ement ments ment ingly edly ively "
    "ness ities ity ising izing ised ized ise ize ions ion ives ive ance ence ant ent able ible "
    "ally ly er",
    5: "al or",
}
"""Endings by the least number of letters that stand before one."""
_LEAST_BEFORE: Final = {
    ending: least for least, endings in _ENDINGS.items() for ending in endings.split()
}
_LONGEST_FIRST: Final = range(8, 1, -1)
"""Lengths of endings."""
LONGEST_WORD: Final = 60
_LONGEST_REMEMBERED: Final = 1_000
"""Characters."""
NO_WORDS: Final[Set[str]] = frozenset()
_LEAST_SHARED: Final = 2
"""Fewest words that two texts do not have in common by chance."""
_LEAST_IN_DOCUMENT: Final = 3
"""The same of all texts on one topic."""


def remembered(read: Callable[[str], T]) -> Callable[[str], T]:
    """Remember what was read of texts; not of long ones, with which clients could fill memory."""
    of_short_texts = lru_cache(maxsize=32_768)(read)

    @wraps(read)
    def read_or_remember(text: str) -> T:
        return (of_short_texts if len(text) <= _LONGEST_REMEMBERED else read)(text)

    return read_or_remember


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """Return a word without common English endings; endings like -less stay."""
    if not 3 < len(word) <= LONGEST_WORD or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for letters in _LONGEST_FIRST:
        least = _LEAST_BEFORE.get(word[-letters:], LONGEST_WORD)
        if len(word) - letters >= least:
            word = word[:-letters]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    word = word.removesuffix("e") if len(word) > 3 else word
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


@frozen
class Words:
    """The words of a text in lower case, contractions spelt out."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    marks: tuple[str, ...]
    """The punctuation before each word, and at last that behind the last word."""
    senses: tuple[str, ...]
    """The stems, one for all synonyms."""
    matter: tuple[int, ...]
    """Places of the words that are neither function words nor negations."""
    content: tuple[int, ...]
    """The same without words that are in every debate, if there are others."""
    joined: str
    """The words with a space between."""

    @cached_property
    def negations(self) -> list[int]:
        """Places of the negating words; `not only` negates nothing."""
        known = lexicon()
        return [
            at
            for at, word in enumerate(self.words)
            if word in known.negators and known.not_negated.isdisjoint(self.words[at + 1 : at + 2])
        ]

    @cached_property
    def negated(self) -> frozenset[int]:
        """Places of the content words that a negation before them in the clause reaches."""
        places: set[int] = set()
        for at in self.negations:
            for place in range(at + 1, min(at + 1 + _SCOPE, len(self.words))):
                if self.marks[place]:
                    break
                if self.words[place] not in stopwords():
                    places ^= {place}
                    break
        return frozenset(places)

    def clause_start(self, at: int, weak: str = "") -> int:
        """Return where the clause of a word begins: behind the last mark that is not `weak`."""
        least = max(0, at - _CLAUSE)
        return next(
            (place for place in range(at, least, -1) if self.marks[place].strip(weak)), least
        )

    def behind(self, start: int) -> Words:
        """Return the words from a place on."""
        return _with_readings(self.words[start:], self.marks[start:])


def read_words(text: str) -> Words:
    """Return the words of a text."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = text.replace("’", "'").replace("ʼ", "'")
    for letters, pattern, plain in _PLAIN:
        if letters in text:  # the patterns would take most of the time
            text = re.sub(pattern, plain, text)
    words = []
    marks = [""]
    for token in _TOKEN.findall(text):
        if token[0].isalnum() or token == "%":
            words.append("percent" if token == "%" else token)
            marks.append("")
        else:
            marks[-1] += token
    return _with_readings(words, marks)


def _with_readings(words: Sequence[str], marks: Sequence[str]) -> Words:
    known = lexicon()
    stems = tuple(map(stem, words))
    senses = tuple(map(known.senses.get, stems, stems))
    matter = tuple(at for at, word in enumerate(words) if word not in known.function_words)
    content = tuple(at for at in matter if senses[at] not in known.generic)
    joined = " ".join(words)
    return Words(tuple(words), stems, tuple(marks), senses, matter, content or matter, joined)


def _any_of(parts: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{part})" for part in parts))


def _any_words_of(parts: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_any_of(parts).pattern})\b")


WordSet = Annotated[frozenset[str], BeforeValidator(str.split)]
WholeText = Annotated[re.Pattern[str], BeforeValidator(_any_of)]
WordsInText = Annotated[re.Pattern[str], BeforeValidator(_any_words_of)]


class Lexicon(BaseModel, frozen=True):
    """The lists of `lexicon.toml`."""

    negators: WordSet
    function_words: frozenset[str]
    """Words that are no content: stopwords and negations."""
    not_negated: WordSet
    hedges: WordSet
    numbers: WordSet
    witnesses: WordSet
    conditions: WordSet
    attitudes: WordSet
    harmless: WordSet
    reversals: WordSet
    generic: frozenset[str]
    """Stems of words that are in every debate."""
    actions: WordSet
    duties: WordSet
    charges: WordSet
    freedoms: WordSet
    demands: frozenset[str]
    """Stems of what is demanded of a thing: also actions, duties and freedoms."""
    senses: Mapping[str, str]
    connectives: frozenset[str]
    stances: WholeText
    denials: WholeText
    admissions: WholeText
    surrenders: WholeText
    concessions: WordsInText
    retractions: WholeText
    paddings: WordsInText
    vague: WordsInText

    def sense(self, stemmed: str) -> str:
        """Return the stem that represents all synonyms."""
        return self.senses.get(stemmed, stemmed)

    def counts(self, word: str) -> bool:
        """Whether a word is a number or a quantity."""
        return word in self.numbers or word[0].isdigit()


@cache
def lexicon() -> Lexicon:
    """Load `lexicon.toml`."""
    table = packaged_table(__package__, "lexicon.toml")
    senses: dict[str, str] = {}
    for line in table["synonyms"].strip().splitlines():
        stems = [stem(word) for word in line.split()]
        for synonym in stems:
            senses.setdefault(synonym, senses.get(stems[0], stems[0]))
    generic = set()
    for word in table["generic"].split():
        sense = senses.get(stem(word), stem(word))
        # "Supporter" is as generic as "support".
        generic.add(sense[:-2] if sense.endswith(("er", "or")) and len(sense) > 4 else sense)
    demands = " ".join(table[name] for name in ("demands", "actions", "duties", "freedoms"))
    for patterns in ("denials", "surrenders"):
        table[patterns] += table["distances"]
    table["demands"] = set(map(stem, demands.split()))
    table["negators"] = " ".join([table["negators"], *NEGATIONS])
    table["function_words"] = stopwords().union(table["negators"].split())
    table["generic"] = generic
    table["senses"] = senses
    return Lexicon.model_validate(table)


def topical_words(words: Words) -> dict[str, str]:
    """Return the words that can be a topic, by their stems.

    What debates demand of any topic ("ban", "allow", "compulsory") is none, unless a text has no
    other words.
    """
    by_stem = {words.stems[at]: words.words[at] for at in words.content}
    demands = lexicon().demands
    return {stem: word for stem, word in by_stem.items() if stem not in demands} or by_stem


@remembered
def topic_of(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that can be a topic."""
    return frozenset(topical_words(read_words(text)))


def common_topic(
    asked: Set[str],
    text: Set[str],
    *,
    document: Set[str] = NO_WORDS,
    names: Set[str],
    widespread: Set[str] = NO_WORDS,
) -> Set[str]:
    """Return the stems that a text has in common with what is asked; none if that is chance.

    Args:
        asked: The words of the user.
        text: Those of the text.
        document: Those of all texts on its topic.
        names: Words of which each names the topic alone.
        widespread: Words that many topics have.
    """
    shared = asked & text
    in_document = asked & (document | text)
    are_enough = len(shared) >= _LEAST_SHARED or len(in_document) >= _LEAST_IN_DOCUMENT
    if (
        shared == asked
        or not names.isdisjoint(shared)
        or (are_enough and not in_document <= widespread)
    ):
        return shared
    return NO_WORDS
