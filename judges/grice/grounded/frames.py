"""What may stand in front of a quotation without claiming anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judges.grice.grounded.lexicon import lexicon
from judges.grice.grounded.tokens import Token, joined

MAX_FRAMES = 12
_LONGEST_CONNECTIVE = 5
_LONGEST_STANCE = 18
_LONGEST_HEADING = 5
_TELLING = 3
"""Fewer words than these said twice are a matter of grammar."""
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
    kept = [token for at, token in enumerate(tokens) if at not in dropped]
    return tuple(token for segment in _said_once(kept) for token in segment)


def _said_once(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The stretches between commas, but those whose words a stretch before them has in a row."""
    breaks = [at for at, token in enumerate(tokens) if at and token.before]
    heard = ""
    for start, end in zip([0, *breaks], [*breaks, len(tokens)], strict=True):
        said = joined([token.word for token in tokens[start:end]])
        if said not in heard or end - start < _TELLING:
            yield tokens[start:end]
        heard += said


def claims_nothing(tokens: Sequence[Token], text: str) -> bool:
    """Whether a sentence is only a stance, a pure question, or says that a thing is itself."""
    at = starts(tokens)
    if at[-1] == len(tokens):
        return True
    rest = tokens[at[-1] :]
    return _asks(rest, text) or _is_itself(rest)


def _is_itself(tokens: Sequence[Token]) -> bool:
    """Whether `rules are rules` is all that is said."""
    matter = [token.stem for token in unpadded(tokens) if token.matters]
    return len(matter) > 1 and len(set(matter)) == 1


def _asks(tokens: Sequence[Token], text: str) -> bool:
    if not text.rstrip("\"'”’)] ").endswith("?"):
        return False
    return tokens[0].word in _ASKS or tokens[0].word in _ASKS_BEFORE_SUBJECT


def _behind_heading(tokens: Sequence[Token], at: int) -> int | None:
    """Behind a few words and a colon that announce and claim nothing: `not everyone:`."""
    known = lexicon()
    for end in range(at + 1, min(at + _LONGEST_HEADING + 1, len(tokens))):
        if tokens[end].before == ";":
            words = tokens[at:end]
            telling = [
                one for one in words if one.matters and known.sense(one.stem) not in known.generic
            ]
            called = any(known.counts(one.word) or one.word in known.witnesses for one in words)
            negates = [one for one in telling if one.word in known.negators]
            return end if len(telling) - len(negates) <= 1 and not called else None
    return None


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
    return _behind_heading(tokens, at) if at == 0 else None
