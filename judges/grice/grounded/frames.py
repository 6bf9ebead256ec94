"""What may stand in front of a quotation without claiming anything."""

from __future__ import annotations

from collections.abc import Sequence

from judges.grice.grounded.lexicon import lexicon
from judges.grice.grounded.tokens import Token, joined

MAX_FRAMES = 12
_LONGEST_CONNECTIVE = 5
_LONGEST_STANCE = 18
_ASKS = frozenset("who what when where why how which whose whom".split())
_ASKS_BEFORE_SUBJECT = frozenset(
    "is are was were do does did can could will would should shall may might must have has had"
    " am".split()
)


def starts(tokens: Sequence[Token]) -> list[int]:
    """Where the sentence's matter may start: at 0, and behind each frame in front of it.

    The last one is `len(tokens)` where the sentence is nothing but frames.
    """
    found = [0]
    while found[-1] < len(tokens) and len(found) <= MAX_FRAMES:
        behind = _behind_frame(tokens, found[-1])
        if behind is None:
            break
        found.append(behind)
    return found


def unpadded(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """The tokens without phrases that say nothing, such as `generally speaking`."""
    text = joined([token.word for token in tokens])
    dropped: set[int] = set()
    for match in lexicon().paddings.finditer(text):
        first = text.count(" ", 0, match.start()) - 1
        dropped.update(range(first, first + match.group().count(" ") + 1))
    return tuple(token for at, token in enumerate(tokens) if at not in dropped)


def claims_nothing(tokens: Sequence[Token], text: str) -> bool:
    """Whether a sentence is only a stance or a pure question."""
    at = starts(tokens)
    return at[-1] == len(tokens) or _asks(tokens[at[-1] :], text)


def _asks(tokens: Sequence[Token], text: str) -> bool:
    if not text.rstrip("\"'”’)] ").endswith("?"):
        return False
    return tokens[0].word in _ASKS or tokens[0].word in _ASKS_BEFORE_SUBJECT


def _behind_frame(tokens: Sequence[Token], at: int) -> int | None:
    end = at + 1
    while end < len(tokens) and not tokens[end].before and end - at <= _LONGEST_STANCE:
        end += 1
    segment = " ".join(token.word for token in tokens[at:end])
    if end - at <= _LONGEST_STANCE and lexicon().stances.fullmatch(segment):
        return end
    for length in range(min(_LONGEST_CONNECTIVE, end - at), 0, -1):
        phrase = tuple(token.word for token in tokens[at : at + length])
        if phrase in lexicon().connectives:
            return at + length
    return None
