"""Prepare the speeches of a debate for the prompts: split them, and label them by debater."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from judges.debatrix.dimensions import DebateDimension
from touche_rad.contest import Contest
from touche_rad.frozen import frozen
from touche_rad.lists import in_parts
from touche_rad.models import Prompt
from touche_rad.text import clean, count_words

_SENTENCE: Final = re.compile(r".+?(?:(?<![.!?])[.!?]++[\"')\]]*+\s+|\n+|$)", re.DOTALL)
_LONGEST_NAME: Final = 60
_LONGEST_MOTION: Final = 1_000
_DUTIES: Final = {
    ("pro", 0): "Opens the case: defines the motion, argues for it, answers the opening opposition",
    ("con", 0): "Opens the opposition: answers the opening case and argues against the motion",
    ("pro", 1): "Closes the case: must add points that the opening team of its side did not make",
    ("con", 1): "Closes the opposition: must add points that the opening team of its side did not "
    "make",
}


def fence(text: str) -> str:
    """Return a text by the model that closes no element of a prompt."""
    return text.replace("</", "< /")


def pieces(text: str, words: int) -> Iterator[str]:
    """Cut a speech at ends of sentences into pieces of at most `words` words; 0: do not cut."""
    if not words or count_words(text) <= words:
        yield text
        return
    piece = ""
    for sentence in _sentences(text, words):
        if piece and count_words(piece + sentence) > words:
            yield piece.strip()
            piece = ""
        piece += sentence
    if piece:
        yield piece.strip()


def _sentences(text: str, words: int) -> Iterator[str]:
    """Yield sentences with the space after them; a sentence that is too long is cut."""
    for sentence in _SENTENCE.findall(text):
        parts = sentence.split()
        if len(parts) <= words:
            yield sentence
        else:
            for part in in_parts(parts, words):
                yield " ".join(part) + " "


@frozen
class SpeechEntry:
    """A speech or a part of one, or its analysis."""

    number: int
    code: str
    text: str
    part: int
    parts: int
    """Number of parts of a long speech; most speeches have one."""

    @property
    def title(self) -> str:
        """The number, the part of a long speech, and the debater, for a sentence."""
        part = f", part {self.part} of {self.parts}" if self.parts > 1 else ""
        return f"number {self.number}{part}, by {self.code}"

    @property
    def element(self) -> str:
        """The name of an element for the text of a speech, which the text does not close."""
        name = "speech"
        number = 1
        while f"</{name}" in self.text.lower():
            number += 1
            name = f"speech{number}"
        return name

    @property
    def attributes(self) -> str:
        """The same as attributes of an element."""
        part = f' part="{self.part} of {self.parts}"' if self.parts > 1 else ""
        return f'number="{self.number}"{part} by="{self.code}"'


@frozen
class PreparedDebate:
    """What the prompts show of a debate."""

    contest: Contest
    chunk_words: int
    max_info: int
    """Maximum characters of the background; 0: all of it."""

    @property
    def teams(self) -> bool:
        """Whether there are more than two debaters, as in the British Parliamentary format."""
        return len(self.contest.sides) > 2

    @cached_property
    def speaker_of(self) -> Mapping[str, str]:
        """The speaker of each code; the model answers with codes, so that no name misleads it."""
        return {f"debater_{number}": name for number, name in enumerate(self.contest.sides, 1)}

    @cached_property
    def speeches(self) -> list[SpeechEntry]:
        """The speeches that are not empty, long ones in parts; numbers start at 1."""
        code_of = {speaker: code for code, speaker in self.speaker_of.items()}
        entries = []
        for number, speech in enumerate(self.contest.speeches, 1):
            text = "\n".join(filter(None, map(clean, speech.text.splitlines())))
            parts = list(filter(None, pieces(text, self.chunk_words)))
            for part, piece in enumerate(parts, 1):
                code = code_of[speech.speaker]
                entries.append(SpeechEntry(number, code, piece, part, len(parts)))
        return entries

    def header(self, dimension: DebateDimension | None) -> str:
        """Return the beginning of every prompt of a dimension, or of the panel's chair."""
        debaters = []
        count = {"pro": 0, "con": 0}
        for code, name in self.speaker_of.items():
            side = self.contest.sides[name]
            debaters.append(
                {
                    "code": code,
                    "name": clean(name)[:_LONGEST_NAME] or code.replace("_", " "),
                    "side": side,
                    "duty": _DUTIES.get((side, count[side]), "") if self.teams else "",
                }
            )
            count[side] += 1
        (message,) = Prompt.load(__package__, "header").messages(
            motion=clean(self.contest.motion)[:_LONGEST_MOTION],
            info=clean(self.contest.info)[: self.max_info or None],
            debaters=debaters,
            teams=self.teams,
            quotes=any(re.search("^>", speech.text, re.MULTILINE) for speech in self.speeches),
            dimension=dimension,
        )
        return message.content
