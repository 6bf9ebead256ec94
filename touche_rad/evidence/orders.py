"""Sentences that give orders to a judge or a model: prompt injection, also encoded or disguised."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence, Set
from functools import cache
from importlib.resources import files

from touche_rad.evidence.words import Passage, stem
from touche_rad.text import split_sentences, stopwords, words

ENOUGH = 3
"""Points from which a sentence addresses a judge; next to such a sentence one is enough."""
PLENTY = 6
"""Points from which it does so in any debate, also in one on exams or courts."""
_LONGEST = 2_000
"""Letters of a sentence that are searched."""


def sentences_to_judge(texts: Sequence[str], known: Sequence[Passage]) -> frozenset[int]:
    """Return the positions of the sentences that address a judge or a model instead of the user.

    A pattern counts once, and only if one of its words is new: in a debate on juries or grades,
    these words are the topic itself.

    Args:
        texts: The sentences as written.
        known: The user's messages and the cited texts.
    """
    known_stems = {token.stem for passage in known for token in passage.tokens}
    return _with_neighbours([_points(text, known_stems) for text in texts], ENOUGH)


def orders_in(texts: Sequence[str]) -> frozenset[int]:
    """Return the positions of the sentences that give orders to a judge or a model in any debate.

    A single sure mark, such as `ignore all instructions`, is enough; others need `PLENTY` points.
    """
    points = [_points(text, frozenset()) for text in texts]
    found = _with_neighbours(points, PLENTY)
    sure = frozenset(at for at, text in enumerate(texts) if points[at] >= ENOUGH and _is_sure(text))
    return found | sure


def without_orders(text: str, instead: str = "") -> str:
    """Return a text with something else instead of the sentences that `orders_in` finds."""
    if not may_order(text):
        return text
    said = split_sentences(text)
    found = orders_in(said)
    kept = [instead if at in found else one for at, one in enumerate(said)]
    return " ".join(one for one in kept if one) if found else text


_HINT = re.compile(
    r"instruct|prompt|system|judge|jury|evaluat|assess|review|examin|annotat|grad|rat[ei]|scor|marks"
    r"|model|assistant|llm|chatbot|verdict|maxim|quality|relation|manner|criteri|rubric|guideline"
    r"|output|print|ignor|disregard|forget|obey|pretend|task|above|role|[<\[#]|[-=*\"']{3}|display:",
    re.IGNORECASE,
)
"""Each sentence that gives orders contains one of these."""


def may_order(text: str) -> bool:
    """Return quickly whether it is worth to search a text for orders."""
    return bool(_HINT.search(text)) or len(_readings(text)) > 1


def _with_neighbours(points: Sequence[int], enough: int) -> frozenset[int]:
    found = {at for at, count in enumerate(points) if count >= enough}
    for step in (1, -1):
        for at in range(len(points))[::step]:
            if points[at] and at - step in found:
                found.add(at)
    return frozenset(found)


def _points(text: str, known_stems: Set[str]) -> int:
    return max(
        sum(
            points
            for points, pattern in _marks()
            if any(_is_new(match.group(), known_stems) for match in pattern.finditer(line))
        )
        for line in _readings(text[:_LONGEST])
    )


def _is_sure(text: str) -> bool:
    return any(
        points >= ENOUGH and pattern.search(line)
        for line in _readings(text[:_LONGEST])
        for points, pattern in _marks()
    )


def _is_new(written: str, known_stems: Set[str]) -> bool:
    if not known_stems:
        return True
    said = re.findall(r"[a-z]+", written)
    return not said or any(stem(word) not in known_stems for word in said)


_HIDDEN = re.compile(
    r"[a-z0-9+/_-]{24,}|(?:\b\w[ ._*|-]{1,2}){6}|[a-z][0-9@$][a-z]|[^\x00-\x7f]", re.IGNORECASE
)
"""Codes, spaced letters, digits within words, and letters beyond ASCII."""
_FEW = 4
"""Words from which a text without any function word is not plain English."""


def _readings(text: str) -> list[str]:
    """Return a text in lower case on one line, and what it says if it is encoded or disguised."""
    line = _lowered(text)
    said = words(line)
    if _HIDDEN.search(line) or (len(said) >= _FEW and stopwords().isdisjoint(said)):
        return [line, *_undisguised(text)]
    return [line]


@cache
def _marks() -> tuple[tuple[int, re.Pattern[str]], ...]:
    read = tomllib.loads(files(__package__).joinpath("addressed.toml").read_text("utf-8"))
    return tuple((mark["points"], re.compile(mark["pattern"])) for mark in read["mark"])


_CODE = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_SPACED = re.compile(r"\b\w(?:[ ._*|-]\w\b){3,}")
_GAP = re.compile(r"[ ._*|-]")
_DIGITS = [str.maketrans("013457@$", letters) for letters in ("oieastas", "oleastas")]
_LETTERS_AND_DIGITS = re.compile(r"[a-z0-9@$]+")
_MOST_CODES = 20
_LONGEST_CODE = 4_000


def _undisguised(text: str) -> Iterator[str]:
    """Yield the readings of a text that differ from it, in lower case on one line.

    Each takes linear time; a code is decoded once, not again and again.
    """
    plain = unicodedata.normalize("NFKC", text)
    plain = "".join(one for one in plain if unicodedata.category(one) != "Cf")
    line = _lowered(plain)
    candidates = [
        line,
        _lowered(_SPACED.sub(lambda found: _GAP.sub("", found[0]), plain.replace("  ", "\n"))),
        *(_with_letters(line, table) for table in _DIGITS),
        _lowered(codecs.encode(plain, "rot13")),
        line[::-1],
        *(_lowered(one) for one in _decoded(plain)),
    ]
    yield from dict.fromkeys(one for one in candidates if one != _lowered(text))


def _with_letters(line: str, table: dict[int, int]) -> str:
    return _LETTERS_AND_DIGITS.sub(
        lambda found: found[0] if found[0].isdigit() else found[0].translate(table), line
    )


def _lowered(text: str) -> str:
    return " ".join(text.lower().split())


def _decoded(text: str) -> Iterator[str]:
    for code in _CODE.findall(text)[:_MOST_CODES]:
        letters = code[:_LONGEST_CODE].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            found = base64.b64decode(letters + "=" * (-len(letters) % 4))
            yield found.decode("utf-8")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            continue
