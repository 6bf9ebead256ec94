"""Words, word lists, negation and common words: how texts are compared with what they cite."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import takewhile
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from touche_rad.text import NEGATIONS, stopwords, strip_ending

REMEMBERED = 1_000
"""Maximum letters of a text whose tokens are cached."""
LONGEST_WORD = 60

_PIECE = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)*)|(?P<word>[^\W\d_]+(?:['’ʼ][^\W\d_]+)*|[^\W_]+)"
    r"|(?P<gap>\.{2,}|…)|(?P<end>[.!?])|(?P<strong>[;:—–]|\s-+\s|--+)|(?P<weak>[,()\[\]])|(?P<percent>%)"
)
_SPELT_OUT = {"can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not"}
_CONTRACTIONS = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}
_IS_BEHIND = frozenset("it that there he she what who here where".split())
_MARKS = {"gap": "…", "end": ".", "strong": ";", "weak": ","}
ALL_MARKS = (",", ";", ".", "…")
ENDS = (";", ".", "…")
"""Marks at the end of a clause that stands alone."""
_RANK = {"": 0, ",": 1, ";": 2, ".": 3, "…": 4}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, its stem, and the mark before it: none, `,`, `;`, `.` or `…`."""

    word: str
    stem: str
    before: str
    matters: bool
    """Whether it is a content word."""


@dataclass(frozen=True)
class Passage:
    """The tokens of a text."""

    tokens: tuple[Token, ...]
    after: str = ""
    """The mark after the last word."""

    @cached_property
    def joined(self) -> str:
        """The words as one text for searching."""
        return join_words([token.word for token in self.tokens])


def read_passage(text: str) -> Passage:
    """Return the tokens of a text; short texts are cached."""
    return _remembered(text) if len(text) <= REMEMBERED else _read(text)


@lru_cache(maxsize=2_048)
def _remembered(text: str) -> Passage:
    return _read(text)


def _read(text: str) -> Passage:
    tokens: list[Token] = []
    before, empty = "", stopwords()
    for match in _PIECE.finditer(unicodedata.normalize("NFKC", text).lower()):
        written, kind = match.group(), str(match.lastgroup)
        if mark := _MARKS.get(kind):
            before = max(before, mark, key=_RANK.__getitem__)
            continue
        # Very long words stay unchanged, and in no cache.
        long = len(written) > LONGEST_WORD
        for word in [written] if long else _spell_out(written, kind):
            tokens.append(Token(word, word if long else stem(word), before, word not in empty))
            before = ""
    return Passage(tuple(tokens), before)


def join_words(words: Sequence[str]) -> str:
    """Join words with a space around each, so that a search finds whole words only."""
    return f" {' '.join(words)} "


def split_at(
    tokens: Sequence[Token], marks: Sequence[str] = ALL_MARKS
) -> Iterator[Sequence[Token]]:
    """Yield the parts between some of the marks."""
    starts = [at for at, token in enumerate(tokens) if at and token.before in marks]
    for start, end in zip([0, *starts], [*starts, len(tokens)], strict=True):
        if end > start:
            yield tokens[start:end]


def clause_before(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens of the last clause."""
    return [*split_at(tokens, ENDS)][-1] if tokens else ()


def clause_behind(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens up to the next clause; none if the first begins one."""
    return [*takewhile(lambda token: token.before not in ENDS, tokens)]


def _spell_out(written: str, kind: str) -> Sequence[str]:
    """Return the words of one written word; contractions are expanded."""
    word = re.sub("[’ʼ]", "'", written)
    if kind == "percent":
        return ["percent"]
    if kind == "number":
        return [word.replace(",", "")]
    if word in _SPELT_OUT:
        return _SPELT_OUT[word].split()
    for ending, meaning in _CONTRACTIONS.items():
        if word.endswith(ending) and len(word) > len(ending):
            return [word.removesuffix(ending), meaning]
    if word.endswith("'s") and word[:-2] in _IS_BEHIND:
        return [word[:-2], "is"]
    return [word.removesuffix("'s").replace("'", "") or word]


_ENDINGS_BY_LEAST = {
    3: "ing ed",
    4: "isations izations isation ization ations ation ements ement ments ment ingly edly ively "
    "ness ities ity ising izing ised ized ise ize ions ion ives ive ance ence ant ent able ible "
    "ally ly er",
    5: "al or",
}
"""Endings by the least number of letters that stand before one."""
_LONGEST_FIRST = sorted(
    ((ending, least) for least, endings in _ENDINGS_BY_LEAST.items() for ending in endings.split()),
    key=lambda one: -len(one[0]),
)


@lru_cache(maxsize=2_048)
def stem(word: str) -> str:
    """Return a word without common English endings; endings like -less stay."""
    return strip_ending(word, _LONGEST_FIRST, ("sses", "shes", "ches", "xes", "zes"))


def _any_of(parts: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{part})" for part in parts))


def _any_words_of(parts: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_any_of(parts).pattern})\b")


WordSet = Annotated[frozenset[str], BeforeValidator(str.split)]
WholeText = Annotated[re.Pattern[str], BeforeValidator(_any_of)]
WordsInText = Annotated[re.Pattern[str], BeforeValidator(_any_words_of)]


class Lexicon(BaseModel):
    """The word lists of `lexicon.toml`, with patterns, synonyms and contraries."""

    model_config = ConfigDict(frozen=True)

    negators: WordSet
    not_negated: WordSet
    exaggerators: WordSet
    mild: WordSet
    hedges: WordSet
    numbers: WordSet
    witnesses: WordSet
    conditions: WordSet
    attitudes: WordSet
    harmless: WordSet
    light: WordSet
    reversals: WordSet
    directed: WordSet
    generic: frozenset[str]
    broad: frozenset[str]
    connectives: frozenset[str]
    stances: WholeText
    surrenders: WholeText
    concessions: WordsInText
    retractions: WholeText
    list_marks: tuple[re.Pattern[str], ...]
    additions: WholeText
    paddings: WordsInText
    vague: WordsInText
    senses: Mapping[str, str]
    contraries: frozenset[tuple[str, str]]

    def sense(self, stemmed: str) -> str:
        """Return the stem that represents all synonyms."""
        return self.senses.get(stemmed, stemmed)

    def contrary(self, one: str, other: str) -> bool:
        """Whether two stems are contraries."""
        return (one, other) in self.contraries or _differ_by_prefix(one, other)

    def counts(self, word: str) -> bool:
        """Whether a word is a number or a quantity."""
        return word in self.numbers or word[0].isdigit()


def root(sense: str) -> str:
    """Return a stem without the ending -er or -or (boxer, boxing)."""
    return sense[:-2] if sense.endswith(("er", "or")) and len(sense) >= 5 else sense


_PREFIXES = frozenset(("un", "in", "im", "ir", "il", "dis", "non", "mis", "de", "anti"))


def _differ_by_prefix(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) < 4 or short == long:
        return False
    return (long.endswith(short) and long[: -len(short)] in _PREFIXES) or (
        long.endswith("less") and long.removesuffix("less") == short.removesuffix("ful")
    )


@cache
def lexicon() -> Lexicon:
    """Load `lexicon.toml`."""
    table = tomllib.loads(files(__package__).joinpath("lexicon.toml").read_text("utf-8"))
    senses = _senses(table["synonyms"])

    def roots(words: str) -> frozenset[str]:
        stems = [stem(word) for word in words.split()]
        return frozenset(root(senses.get(one, one)) for one in stems)

    computed = {
        "negators": " ".join([table["negators"], *NEGATIONS]),
        "generic": roots(table["generic"] + table["adverbial"]),
        "broad": roots(table["broad"]),
        "senses": senses,
        "contraries": _contraries(table["antonyms"]),
    }
    return Lexicon.model_validate(table | computed)


def _senses(lines: str) -> dict[str, str]:
    senses: dict[str, str] = {}
    for line in lines.strip().splitlines():
        stems = [stem(word) for word in line.split()]
        for one in stems:
            senses.setdefault(one, senses.get(stems[0], stems[0]))
    return senses


def _contraries(lines: str) -> frozenset[tuple[str, str]]:
    pairs = [tuple(stem(word) for word in line.split()) for line in lines.strip().splitlines()]
    return frozenset((a, b) for one, other in pairs for a, b in ((one, other), (other, one)))


_SCOPE = 5
"""Words that a negation reaches within its clause."""
_LETS_THROUGH = frozenset(("longer", "enough", "able", "allowed", "even", "really"))
"""Content words that do not end a negation: `no longer enough to pay`."""
_NEGATING_PAIRS = {("rather", "than"), ("instead", "of"), ("anything", "but")}
_SOME = {("a", "few"), ("a", "little"), ("no", "doubt"), ("or", "without"), ("or", "not")}


def negated_words(tokens: Sequence[Token]) -> list[bool]:
    """Return for each token whether it is a content word with an odd number of negations before.

    Function words between do not count: `not to be noticed` negates `noticed`.
    """
    flags: list[bool] = []
    reaching: list[int] = []
    for at, token in enumerate(tokens):
        reaching = [] if token.before else [start for start in reaching if at - start <= _SCOPE]
        negates = _negates(tokens, at)
        flags.append(token.matters and not negates and len(reaching) % 2 == 1)
        if negates:
            reaching.append(at)
        elif token.matters and token.word not in _LETS_THROUGH:
            reaching = []
    return flags


def negates_oddly(tokens: Sequence[Token]) -> bool:
    """Whether the number of negations is odd."""
    return sum(_negates(tokens, at) for at in range(len(tokens))) % 2 == 1


def any_negator(*places: Sequence[Token]) -> bool:
    """Whether there is any negating word."""
    known = lexicon()
    return any(token.word in known.negators for tokens in places for token in tokens)


def _negates(tokens: Sequence[Token], at: int) -> bool:
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if (tokens[at].word, following) in _NEGATING_PAIRS:
        return True
    if at and (tokens[at - 1].word, tokens[at].word) in _SOME:
        return False
    known = lexicon()
    return tokens[at].word in known.negators and following not in known.not_negated


def coverage(claim: Sequence[Token], source: Sequence[Token]) -> float:
    """Return the share of the content words that the source has, also as synonyms."""
    hits, matter = _hits(claim, source)
    return hits / matter if matter else 0.0


def strict_coverage(claim: Sequence[Token], source: Sequence[Token]) -> float:
    """Return the coverage; if a word is missing, one of the found words does not count.

    That word may only be the topic: `zoos save animals` has two thirds of `zoos harm animals`.
    """
    hits, matter = _hits(claim, source)
    return 1.0 if matter and hits == matter else max(0, hits - 1) / max(1, matter)


def _hits(claim: Sequence[Token], source: Sequence[Token]) -> tuple[int, int]:
    known = lexicon()
    there = {token.stem for token in source}
    senses = {known.sense(one) for one in there}
    matter = [token for token in claim if token.matters and token.word not in known.negators]
    hits = sum(token.stem in there or known.sense(token.stem) in senses for token in matter)
    return hits, len(matter)


def share_of_content(
    parts: Sequence[Sequence[Token]], share: Callable[[Sequence[Token]], float]
) -> float:
    """Return the mean of a share over parts of a text, weighted by their content words."""
    lengths = [sum(token.matters for token in part) for part in parts]
    total = sum(lengths)
    weighted = (length * share(part) for length, part in zip(lengths, parts, strict=True))
    return sum(weighted) / total if total else 0.0
