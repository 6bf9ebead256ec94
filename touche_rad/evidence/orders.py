"""Sentences that give orders to a judge or a model: prompt injection, also encoded or disguised.

Marks are patterns with points. Those of addressed.toml are about judging, which may be the topic of
a debate; those of directives.toml are about the exchange itself. One mark is learned
(learned_orders.py): it finds wordings that no pattern foresees.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from touche_rad.evidence import learned_orders
from touche_rad.evidence.disguises import hides_english, readings
from touche_rad.evidence.literals import needed
from touche_rad.evidence.words import Passage, stem
from touche_rad.text import split_sentences

ENOUGH = 3
"""Points from which a sentence addresses a judge; one mark with so many is enough anywhere."""
PLENTY = 6
"""Points from which it does so in any debate, also in one on exams or courts."""
DIRECT = 4
"""Points of directives.toml alone from which it does so in any debate."""
_LONGEST = 2_000
"""Letters that are searched at once."""
_OVERLAP = 200
_DECISIVE = 5
"""Words of the learned mark of which one must be new in the debate."""
_KEPT, _SHORT, _KEPT_LONG = 16_384, 400, 256
"""Sentences of at most `_SHORT` letters whose marks are remembered, and longer ones. Most are those
of arguments that are quoted again and again."""
_KEPT_MESSAGES, _MESSAGE = 1_024, 4_000
"""Messages of at most `_MESSAGE` letters whose clean form is remembered."""


def sentences_to_judge(texts: Sequence[str], known: Sequence[Passage]) -> frozenset[int]:
    """Return the positions of the sentences that address a judge or a model instead of the user.

    A pattern counts once, and only if one of its words is new: in a debate on juries or grades,
    these words are the topic itself.

    Args:
        texts: The sentences as written.
        known: The user's messages and the cited texts.
    """
    known_stems = {token.stem for passage in known for token in passage.tokens}
    points = [_points(text, known_stems) for text in texts]
    found = frozenset(
        at
        for at, one in enumerate(points)
        if max(one.direct, one.total - one.direct) >= ENOUGH or one.total >= DIRECT
    )
    return _with_neighbours(points, found)


def orders_in(texts: Sequence[str], *, alert: bool = False) -> frozenset[int]:
    """Return the positions of the sentences that give orders to a judge or a model in any debate.

    A single sure mark, such as `ignore all instructions`, is enough; others need `PLENTY` points,
    or `DIRECT` of directives. `alert`: an order was found beside these texts, so that `ENOUGH`
    points are enough.
    """
    points = [_points(text, frozenset()) for text in texts]
    found = frozenset(
        at
        for at, one in enumerate(points)
        if one.best >= ENOUGH
        or one.total >= (ENOUGH if alert else PLENTY)
        or one.direct >= (ENOUGH if alert else DIRECT)
    )
    return _with_neighbours(points, found)


def without_orders(text: str, instead: str = "", *, alert: bool = False) -> str:
    """Return a text with something else instead of the sentences that `orders_in` finds."""
    if len(text) > _MESSAGE:
        return _without_orders(text, instead, alert)
    return _clean_messages(text, instead, alert)


def _without_orders(text: str, instead: str, alert: bool) -> str:
    said = split_sentences(text)
    found = orders_in(said, alert=alert)
    kept = [instead if at in found else one for at, one in enumerate(said)]
    return " ".join(one for one in kept if one) if found else text


_clean_messages = lru_cache(_KEPT_MESSAGES)(_without_orders)
"""Each message of a debate is shown again with every later turn."""


_HINT = re.compile(
    r"instruct|prompt|system|judge|jury|evaluat|assess|review|examin|annotat|grad|rat[ei]|scor|marks"
    r"|model|assistant|llm|chatbot|verdict|maxim|quality|relation|manner|criteri|rubric|guideline"
    r"|output|print|ignor|disregard|forget|obey|pretend|task|above|role|[<\[#]|[-=*\"']{3}|display:"
    r"|your|repl|respon|answer|messag|entire|mode|rule|order|command|text|turn|say|write|[01{}:]",
    re.IGNORECASE,
)


def may_order(word: str) -> bool:
    """Whether a word could be a part of an order."""
    return bool(_HINT.search(word))


@dataclass(frozen=True)
class _Points:
    total: int = 0
    direct: int = 0
    best: int = 0
    """Points of the best single mark."""


_Marked = tuple[int, bool, tuple[str, ...]]
"""Points of a mark, whether it is a directive, and what it matches."""


def _with_neighbours(points: Sequence[_Points], found: frozenset[int]) -> frozenset[int]:
    grown = set(found)
    for step in (1, -1):
        for at in range(len(points))[::step]:
            if points[at].total and at - step in grown:
                grown.add(at)
    return frozenset(grown)


def _points(text: str, known_stems: Set[str]) -> _Points:
    """Return the points of the reading of a sentence that has most."""
    marked = _remembered(text) if len(text) <= _SHORT else _matches(text)
    rated = [_rated(line, known_stems) for line in marked]
    return max(rated, key=lambda one: (one.total, one.direct), default=_Points())


def _rated(marks: Sequence[_Marked], known_stems: Set[str]) -> _Points:
    new = [
        (points, direct)
        for points, direct, matches in marks
        if any(_is_new(one, known_stems) for one in matches)
    ]
    return _Points(
        sum(points for points, _ in new),
        sum(points for points, direct in new if direct),
        max((points for points, _ in new), default=0),
    )


def _is_new(written: str, known_stems: Set[str]) -> bool:
    if not known_stems:
        return True
    said = re.findall(r"[a-z]+", written)
    return not said or any(stem(word) not in known_stems for word in said)


def forget() -> None:
    """Forget all marks, because the weights have changed."""
    for remembered in (_remembered, _matches, _clean_messages):
        remembered.cache_clear()


@lru_cache(_KEPT)
def _remembered(text: str) -> tuple[tuple[_Marked, ...], ...]:
    return _matches(text)


@lru_cache(_KEPT_LONG)
def _matches(text: str) -> tuple[tuple[_Marked, ...], ...]:
    """Return the marks of each reading of a sentence; of a long one, of its overlapping parts."""
    parts = [text]
    if len(text) > _LONGEST:
        step = _LONGEST - _OVERLAP
        parts = [text[at : at + _LONGEST] for at in range(0, len(text) - _OVERLAP, step)]
    found = [marks for part in parts for marks in _marks_of_readings(readings(part))]
    if any(map(hides_english, parts)):
        found.append(((DIRECT, True, ("",)),))
    return tuple(found)


def _marks_of_readings(lines: Sequence[str]) -> list[tuple[_Marked, ...]]:
    """Return the marks of each reading; words read backwards are no words of another language."""
    written, *others = lines
    backwards = {line[::-1] for line in lines[:2]}
    found = [_marks_of(written, any_language=True)]
    return found + [_marks_of(line, any_language=line not in backwards) for line in others]


def _marks_of(line: str, any_language: bool) -> tuple[_Marked, ...]:
    found = [
        (mark.points, mark.direct, tuple(dict.fromkeys(match.group() for match in matches)))
        for mark in _possible(line)
        if (matches := list(mark.pattern.finditer(line)))
    ]
    score, words = learned_orders.score(line, any_language)
    if score >= learned_orders.LIKELY:
        points = DIRECT if score >= learned_orders.SURE else ENOUGH - 1
        found.append((points, True, words[:_DECISIVE]))
    return tuple(found)


@dataclass(frozen=True)
class Mark:
    """A pattern: its points, whether it is a directive, and strings of which a match has one."""

    points: int
    direct: bool
    pattern: re.Pattern[str]
    needed: frozenset[str]


_BEGINNING = 3
"""Letters by which strings are looked up."""


def _possible(line: str) -> list[Mark]:
    """Return the marks of which the line has a needed string, in their order."""
    marked = _by_literal()
    starts = _by_beginning()
    letters = {line[at : at + _BEGINNING] for at in range(len(line) - _BEGINNING + 1)}
    places: set[int] = set()
    for start in (*(starts.keys() & letters), ""):
        for one in starts[start]:
            if one in line:
                places.update(marked[one])
    known = marks()
    return [known[place] for place in sorted(places)]


@cache
def _by_literal() -> dict[str, list[int]]:
    """Return the places of the marks that need each string."""
    found: dict[str, list[int]] = {}
    for place, mark in enumerate(marks()):
        for one in mark.needed:
            found.setdefault(one, []).append(place)
    return found


@cache
def _by_beginning() -> dict[str, list[str]]:
    """Return the strings by their first letters; short ones under the empty text."""
    found: dict[str, list[str]] = {"": []}
    for one in _by_literal():
        start = one[:_BEGINNING] if len(one) >= _BEGINNING else ""
        found.setdefault(start, []).append(one)
    return found


@cache
def marks() -> tuple[Mark, ...]:
    """Load the marks; a name in angle brackets stands for the words of its class."""
    found = []
    for name, direct in (("addressed.toml", False), ("directives.toml", True)):
        read = tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))
        classes = read.get("class", {})
        for mark in read["mark"]:
            pattern = str(mark["pattern"])
            for word, of in classes.items():
                pattern = pattern.replace(f"<{word}>", of)
            found.append(Mark(mark["points"], direct, re.compile(pattern), needed(pattern)))
    return tuple(found)
