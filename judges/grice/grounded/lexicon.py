"""The judge's word lists, read once from `lexicon.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from judges.grice.grounded.tokens import stem


@dataclass(frozen=True)
class Lexicon:
    """Word sets, compiled patterns, and which stems are contraries or of one sense."""

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
    generic: frozenset[str]
    broad: frozenset[str]
    connectives: frozenset[tuple[str, ...]]
    stances: re.Pattern[str]
    surrenders: re.Pattern[str]
    concessions: re.Pattern[str]
    list_marks: tuple[re.Pattern[str], ...]
    additions: re.Pattern[str]
    paddings: re.Pattern[str]
    vague: re.Pattern[str]
    senses: dict[str, str]
    contraries: frozenset[tuple[str, str]]

    def sense(self, stemmed: str) -> str:
        """The stem that stands for all of its sense."""
        return self.senses.get(stemmed, stemmed)

    def contrary(self, one: str, other: str) -> bool:
        """Whether two stems say the contrary of each other."""
        return (one, other) in self.contraries or _differ_by_prefix(one, other)

    def counts(self, word: str) -> bool:
        """Whether a word is a quantity."""
        return word in self.numbers or word[0].isdigit()


def root(sense: str) -> str:
    """What a boxer and boxing share: the sense without the ending of who or what does it."""
    return sense[:-2] if sense.endswith(("er", "or")) and len(sense) >= 5 else sense


_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "mis", "de", "anti")


def _differ_by_prefix(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) < 4 or short == long:
        return False
    return any(long == prefix + short for prefix in _PREFIXES) or (
        long.endswith("less") and long.removesuffix("less") == short.removesuffix("ful")
    )


@cache
def lexicon() -> Lexicon:
    """The lists as shipped."""
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
        **{name: words(name) for name in _WORD_LISTS},
        generic=stems("generic") | stems("adverbial"),
        broad=stems("broad"),
        connectives=frozenset(tuple(phrase.split()) for phrase in read["connectives"]),
        stances=pattern("stances"),
        surrenders=pattern("surrenders"),
        concessions=pattern("concessions", r"\b(?:{})\b"),
        list_marks=tuple(re.compile(part) for part in read["list_marks"]),
        additions=pattern("additions"),
        paddings=pattern("paddings", r"\b(?:{})\b"),
        vague=pattern("vague", r"\b(?:{})\b"),
        senses=senses,
        contraries=_contraries(read["antonyms"]),
    )


_WORD_LISTS = (
    "negators", "not_negated", "exaggerators", "mild", "hedges", "numbers", "witnesses",
    "conditions", "attitudes", "harmless", "light", "reversals",
)  # fmt: skip


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
