"""Speeches prepared for the prompts: cleaned, split, labelled by debater; and their memory."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from judges.debatrix.dimensions import Dimension
from touche_rad.contest import Contest, Side
from touche_rad.models import Message, Prompt
from touche_rad.text import clean


@dataclass(frozen=True)
class Entry:
    """A speech, or the analysis of one."""

    number: int
    code: str
    text: str


@dataclass
class Memory:
    """Entries in the order in which they were added; nothing is ever changed."""

    _entries: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """Remember one more."""
        self._entries.append(entry)

    def fetch(self) -> tuple[Entry, ...]:
        """Return all there is: the paper names no query that would leave any out."""
        return tuple(self._entries)


_TAG: Final = re.compile(r"<(?:/?[a-zA-Z][^<>]*|!--.*?--)>", re.DOTALL)
_IMAGE: Final = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK: Final = re.compile(r"\[([^\]]+)\]\((\S+?)(?:\s+\"[^\"]*\")?\)")
_MARKS: Final = re.compile(r"^\s{0,3}(?:#{1,6}\s+|[-*_]{3,}\s*$)")
_STRONG: Final = re.compile(r"(\*\*|__|\*|`)(?=\S)(.+?)(?<=\S)\1")


def prepared(text: str) -> str:
    """Return a speech as a judge reads it.

    Markup goes, the address of a linked source stays, a quoted line keeps its mark, and nothing in
    a speech can close the fence that the prompts put around it.
    """
    bare = html.unescape(_TAG.sub(" ", _IMAGE.sub(r"\1", text)))
    lines = (_line(_LINK.sub(r"\1 (\2)", line)) for line in bare.splitlines())
    return fenced("\n".join(line for line in lines if line))


def fenced(text: str) -> str:
    """Return a text that closes no element of a prompt; judges' words are shown in prompts too."""
    return text.replace("</", "< /")


def _line(line: str) -> str:
    quoted = line.lstrip().startswith(">")
    plain = clean(_STRONG.sub(r"\2", _MARKS.sub("", line.lstrip("> \t") if quoted else line)))
    return f"> {plain}" if quoted and plain else plain


def quotes(text: str) -> bool:
    """Whether a prepared speech holds a point of information."""
    return any(line.startswith(">") for line in text.splitlines())


def pieces(text: str, words: int) -> Iterator[str]:
    """Cut a prepared speech into pieces of at most so many words, at ends of lines or sentences.

    0 leaves it whole.
    """
    if not words or len(text.split()) <= words:
        yield text
        return
    held: list[str] = []
    count = 0
    for part in _parts(text, words):
        size = len(part.split())
        if held and count + size > words:
            yield "".join(held).strip()
            held, count = [], 0
        held.append(part)
        count += size
    if held:
        yield "".join(held).strip()


def _parts(text: str, words: int) -> Iterator[str]:
    """Yield sentences with what parts them; one that is too long is cut where it must be."""
    for part in re.findall(r".+?(?:[.!?]+[\"')\]]*\s+|\n+|$)", text, re.DOTALL):
        said = part.split()
        if len(said) <= words:
            yield part
        else:
            for start in range(0, len(said), words):
                yield " ".join(said[start : start + words]) + " "


_LONGEST_NAME, _LONGEST_MOTION, _LONGEST_INFO = 60, 1_000, 4_000
_DUTIES = {
    ("pro", 0): "Opens the case: defines the motion, argues for it, answers the opening opposition",
    ("con", 0): "Opens the opposition: answers the opening case and argues against the motion",
    ("pro", 1): "Closes the case: must add to its side what the opening team did not bring",
    ("con", 1): "Closes the opposition: must add to its side what the opening team did not bring",
}


@dataclass(frozen=True)
class Debater:
    """One of the debaters: the model answers with the code, so that no name can mislead it."""

    code: str
    name: str
    side: Side
    duty: str = ""


@dataclass(frozen=True)
class Case:
    """What all columns are told."""

    contest: Contest
    chunk: int = 0

    @cached_property
    def debaters(self) -> tuple[Debater, ...]:
        """The debaters in their order."""
        found: list[Debater] = []
        seen = {"pro": 0, "con": 0}
        for number, (name, side) in enumerate(self.contest.sides.items(), 1):
            duty = _DUTIES.get((side, seen[side]), "") if self.teams else ""
            seen[side] += 1
            shown = clean(name)[:_LONGEST_NAME] or f"debater {number}"
            found.append(Debater(f"debater_{number}", shown, side, duty))
        return tuple(found)

    @property
    def teams(self) -> bool:
        """Whether more than two debate, as in the British Parliamentary format."""
        return len(self.contest.sides) > 2

    @cached_property
    def code_of(self) -> Mapping[str, str]:
        """Each speaker's code."""
        pairs = zip(self.contest.sides, self.debaters, strict=True)
        return {name: debater.code for name, debater in pairs}

    @cached_property
    def speaker_of(self) -> Mapping[str, str]:
        """Each code's speaker."""
        return {code: name for name, code in self.code_of.items()}

    @cached_property
    def speeches(self) -> tuple[Entry, ...]:
        """The speeches that say anything, in pieces where they are long; numbers start at 1."""
        said = []
        for number, speech in enumerate(self.contest.speeches, 1):
            for piece in pieces(prepared(speech.text), self.chunk):
                if piece:
                    said.append(Entry(number, self.code_of[speech.speaker], piece))
        return tuple(said)

    def header(self, dimension: Dimension | None) -> str:
        """Return what every prompt of a column begins with; the panel's chair has no dimension."""
        message: Message = Prompt.load(__package__, "header").messages(
            motion=clean(self.contest.motion)[:_LONGEST_MOTION],
            info=clean(self.contest.info)[:_LONGEST_INFO],
            debaters=self.debaters, teams=self.teams,
            quotes=any(quotes(entry.text) for entry in self.speeches),
            name=dimension.name if dimension else "",
            looks_at=dimension.looks_at if dimension else "",
        )[0]  # fmt: skip
        return message.content
