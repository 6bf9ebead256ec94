"""Speeches made ready for a judge: markup out, points of information kept as quotes, in pieces."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from touche_rad.text import clean

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
