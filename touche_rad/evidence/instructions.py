"""Flags sentences that look like instructions to a model or a judge.

A flag is a warning for people: no text, prompt, verdict or official file changes because of one.
The patterns in instructions.toml find plain wordings only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from touche_rad.debate import Turn
from touche_rad.events import EventKind
from touche_rad.text import packaged_table, split_sentences

_LONGEST: Final = 160
"""Letters of a sentence that are shown."""
_SHOWN: Final = 3
"""Places in a warning."""


_TABLE: Final = packaged_table(__package__, "instructions.toml")
_pattern = "|".join(f"(?:{pattern})" for pattern in _TABLE["patterns"])
for _name, _part in reversed(_TABLE["parts"].items()):  # a part may have earlier ones
    _pattern = _pattern.replace(f"<{_name}>", _part)
_ANY: Final = re.compile(_pattern, re.IGNORECASE)


@lru_cache(4_096)
def flagged_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text that look like instructions, shortened."""
    if not _ANY.search(text):
        return ()
    hits = [sentence for sentence in split_sentences(text) if _ANY.search(sentence)]
    # No sentence matches if what matches spans two: then the text is flagged.
    return tuple(passage[:_LONGEST] for passage in hits or [text])


def flags(turns: Sequence[Turn]) -> Iterator[tuple[int, str]]:
    """Yield the turn from 0, and where and what is flagged, of responses and cited arguments."""
    for number, turn in enumerate(turns):
        if not turn.response:
            continue
        for sentence in flagged_sentences(turn.response.content):
            yield number, f"response: {sentence}"
        for argument in turn.response.arguments:
            for sentence in flagged_sentences(argument.text):
                yield number, f"argument {argument.id}: {sentence}"


def warning(debates: Iterable[tuple[str, Sequence[Turn]]]) -> str:
    """Return one line with the count and the first places of all flags; "" without a flag."""
    hits = [
        f"debate {name}, turn {number + 1}, {what}"
        for name, turns in debates
        for number, what in flags(turns)
    ]
    return (
        f"{EventKind.INSTRUCTION}s: {len(hits)}, such as: {'; '.join(hits[:_SHOWN])}"
        if hits
        else ""
    )
