"""Words, word lists, negation and common words: how texts are compared with what they cite."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from touche_rad.text import NEGATIONS, stopwords, strip_ending

REMEMBERED = 1_000
"""Maximum letters of a text whose tokens are cached."""
LONGEST_WORD = 60

_PIECE = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)*)|(?P<word>[^\W\d_]+(?:['’ʼ][^\W\d_]+)*|[^\W_]+)"
    r"|(?P<gap>\.{2,}|…)|(?P<end>[.!?])|(?P<strong>[;:—–]|\s-+\s|--+)|(?P<weak>[,()\[\]])|(?P<percent>%)"
)
_SPELT_OUT = {"can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not"}
_ENDINGS = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}
_IS_BEHIND = frozenset("it that there he she what who here where".split())
_RANK = {"": 0, ",": 1, ";": 2, ".": 3, "…": 4}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, its stem, and the mark before it: none, `,`, `;`, `.` or `…`."""

    word: str
    stem: str
    before: str
    matters: bool
    """Whether it is a content word."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The tokens of a text, and its words as one text for searching."""

    tokens: tuple[Token, ...]
    joined: str
    after: str = ""
    """The mark after the last word."""


def read_passage(text: str) -> Passage:
    """Return the tokens of a text; short texts are cached."""
    return _remembered(text) if len(text) <= REMEMBERED else _read(text)


@lru_cache(maxsize=2_048)
def _remembered(text: str) -> Passage:
    return _read(text)


def _read(text: str) -> Passage:
    found: list[Token] = []
    before, empty = "", stopwords()
    for match in _PIECE.finditer(unicodedata.normalize("NFKC", text).lower()):
        mark = _mark(match.lastgroup or "")
        if mark:
            before = max(before, mark, key=_RANK.__getitem__)
            continue
        for word, stemmed in _spelt(match):
            found.append(Token(word, stemmed, before, word not in empty))
            before = ""
    return Passage(tuple(found), join_words(token.word for token in found), before)


def join_words(words: Iterator[str] | Sequence[str]) -> str:
    """Join words with a space around each, so that a search finds whole words only."""
    return f" {' '.join(words)} "


def _mark(group: str) -> str:
    return {"gap": "…", "end": ".", "strong": ";", "weak": ","}.get(group, "")


def _spelt(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Yield the words of one written word with their stems; very long ones stay unchanged."""
    if len(match.group()) > LONGEST_WORD:
        yield match.group(), match.group()
        return
    for word in _meant(match.group(), match.lastgroup):
        yield word, stem(word)


@lru_cache(maxsize=2_048)
def _meant(written: str, group: str | None) -> tuple[str, ...]:
    """Return the words of one written word; contractions are expanded."""
    word = re.sub("[’ʼ]", "'", written)
    if group == "percent":
        return ("percent",)
    if group == "number":
        return (word.replace(",", ""),)
    if word in _SPELT_OUT:
        return tuple(_SPELT_OUT[word].split())
    for ending, meant in _ENDINGS.items():
        if word.endswith(ending) and len(word) > len(ending):
            return word.removesuffix(ending), meant
    if word.endswith("'s") and word[:-2] in _IS_BEHIND:
        return word[:-2], "is"
    return (word.removesuffix("'s").replace("'", "") or word,)


@lru_cache(maxsize=2_048)
def stem(word: str) -> str:
    """Return a word without common English endings; endings like -less stay."""
    return strip_ending(word, _SUFFIXES, ("sses", "shes", "ches", "xes", "zes"))


_SUFFIXES = [
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
    ("ant", 4),
    ("ent", 4),
    ("able", 4),
    ("ible", 4),
    ("ally", 4),
    ("al", 5),
    ("ing", 3),
    ("ed", 3),
    ("ly", 4),
    ("er", 4),
    ("or", 5),
]


@dataclass(frozen=True)
class Lexicon:
    """The word lists of `lexicon.toml`, with patterns, synonyms and contraries."""

    negators: frozenset[str]
    not_negated: frozenset[str]
    exaggerators: frozenset[str]
    mild: frozenset[str]
    hedges: frozenset[str]
    numbers: frozenset[str]
    witnesses: frozenset[str]
    conditions: frozenset[str]
    attitudes: frozenset[str]
    harmless: frozenset[str]
    light: frozenset[str]
    reversals: frozenset[str]
    directed: frozenset[str]
    generic: frozenset[str]
    broad: frozenset[str]
    connectives: frozenset[tuple[str, ...]]
    stances: re.Pattern[str]
    surrenders: re.Pattern[str]
    concessions: re.Pattern[str]
    retractions: re.Pattern[str]
    list_marks: tuple[re.Pattern[str], ...]
    additions: re.Pattern[str]
    paddings: re.Pattern[str]
    vague: re.Pattern[str]
    senses: dict[str, str]
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
    read = tomllib.loads(files(__package__).joinpath("lexicon.toml").read_text("utf-8"))

    def words(name: str) -> frozenset[str]:
        return frozenset(read[name].split())

    def pattern(name: str, around: str = "{}") -> re.Pattern[str]:
        return re.compile(around.format("|".join(f"(?:{part})" for part in read[name])))

    senses = _senses(read["synonyms"])

    def stems(name: str) -> frozenset[str]:
        found = [stem(word) for word in read[name].split()]
        return frozenset(root(senses.get(one, one)) for one in found)

    return Lexicon(
        negators=NEGATIONS | words("negators"),
        **{name: words(name) for name in _WORD_LISTS},
        generic=stems("generic") | stems("adverbial"),
        broad=stems("broad"),
        connectives=frozenset(tuple(phrase.split()) for phrase in read["connectives"]),
        stances=pattern("stances"),
        surrenders=pattern("surrenders"),
        concessions=pattern("concessions", r"\b(?:{})\b"),
        retractions=pattern("retractions"),
        list_marks=tuple(re.compile(part) for part in read["list_marks"]),
        additions=pattern("additions"),
        paddings=pattern("paddings", r"\b(?:{})\b"),
        vague=pattern("vague", r"\b(?:{})\b"),
        senses=senses,
        contraries=_contraries(read["antonyms"]),
    )


_WORD_LISTS = (
    "not_negated",
    "exaggerators",
    "mild",
    "hedges",
    "numbers",
    "witnesses",
    "conditions",
    "attitudes",
    "harmless",
    "light",
    "reversals",
    "directed",
)


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


def coverage(said: Sequence[Token], written: Sequence[Token]) -> float:
    """Return the share of the content words that the source has, also as synonyms."""
    found, matter = _found(said, written)
    return found / matter if matter else 0.0


def strict_coverage(said: Sequence[Token], written: Sequence[Token]) -> float:
    """Return the coverage; if a word is missing, one of the found words does not count.

    That word may only be the topic: `zoos save animals` has two thirds of `zoos harm animals`.
    """
    found, matter = _found(said, written)
    return 1.0 if matter and found == matter else max(0, found - 1) / max(1, matter)


def _found(said: Sequence[Token], written: Sequence[Token]) -> tuple[int, int]:
    known = lexicon()
    there = {token.stem for token in written}
    senses = {known.sense(one) for one in there}
    matter = [token for token in said if token.matters and token.word not in known.negators]
    found = sum(token.stem in there or known.sense(token.stem) in senses for token in matter)
    return found, len(matter)
