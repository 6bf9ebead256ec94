"""From debates to utterances: what one side says at one point, without what is no argument.

The rules are plain: moderators, the free debate and what only greets, thanks or counts the time
are left out. An utterance becomes an argument of a collection, for its side and against the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from touche_rad import files
from touche_rad.contest import Contest, Side, Speech
from touche_rad.debate import Argument
from touche_rad.errors import InputError
from touche_rad.files.records import read_whole
from touche_rad.text import clean, content_words, count_words, sentences

TRANSCRIPT: Final = ".txt"
_SIDES: Final[dict[str, Side]] = {
    "pro": "pro",
    "affirmative": "pro",
    "proposition": "pro",
    "government": "pro",
    "con": "con",
    "negative": "con",
    "opposition": "con",
}
_MOTION: Final = re.compile(r"^(?:motion|topic)[ \t]*:[ \t]*(.+)$", re.IGNORECASE | re.MULTILINE)
_STAGE: Final = re.compile(r"^(?:stage|session)\s*:\s*(.+)$", re.IGNORECASE)
_SPEAKER: Final = re.compile(
    rf"^(?P<who>(?P<side>{'|'.join(_SIDES)}|moderator|chair(?:man|woman|person)?|host|judge|"
    r"time ?keeper|audience)(?:[ -]?\d+)?)\s*(?:\((?P<stage>[^)]*)\))?\s*:\s*(?P<text>.*)$",
    re.IGNORECASE,
)
_INFORMAL: Final = re.compile(r"\b(?:free|open|informal)\b", re.IGNORECASE)
_NOTE: Final = re.compile(
    r"[\[(](?:applause|laughter|inaudible|crosstalk|pause|bell|music)[\])]", re.IGNORECASE
)
_META: Final = re.compile(
    r"^(?:and |so |well |now |okay |ok )*(?:"
    r"thank(?:s| you)\b|good (?:morning|afternoon|evening|day)\b|hello\b|hi\b|welcome\b|"
    r"(?:dear |honou?rable |ladies )(?:chair|judges|and gentlemen|members|opponents)|"
    r"(?:my|the|our|your) time (?:is|has)\b|time(?:'s| is) up\b|that(?:'s| is) (?:all|it)\b|"
    r"i (?:yield|rest my case|give the floor)\b|please (?:go ahead|continue|begin)\b|next speaker\b"
    r")",
    re.IGNORECASE,
)
_LONGEST_META: Final = 15
"""Words of a sentence that can be nothing but a courtesy."""


def argumentative(text: str) -> str:
    """Return what is left of an utterance without notes of the scene and mere courtesies."""
    return " ".join(
        sentence
        for sentence in sentences(clean(_NOTE.sub(" ", text)))
        if count_words(sentence) > _LONGEST_META or not _META.match(sentence.lstrip("“\"'"))
    )


def utterances(contest: Contest, name: str) -> Iterator[Argument]:
    """Yield a debate's utterances as arguments, numbered as they were spoken."""
    motion = clean(contest.motion)
    for number, speech in enumerate(contest.speeches, 1):
        text = argumentative(speech.text)
        if content_words(text):
            side = contest.sides[speech.speaker]
            yield Argument(
                id=f"{name}.{number}",
                text=text,
                topic=motion,
                **{"supports" if side == "pro" else "attacks": motion},
                speaker=speech.speaker,
                side=side,
            )


def read_utterances(path: Path, bad: files.BadLines | None = None) -> Iterator[Argument]:
    """Yield the utterances of a file of debates or contests, or of a transcript (.txt)."""
    names = {""}
    is_transcript = path.suffix.lower() == TRANSCRIPT
    contests = read_transcript(path) if is_transcript else files.read_contests(path, bad)
    for number, contest in enumerate(contests, 1):
        name = contest.id if contest.id not in names else f"{path.stem}-{number}"
        names.add(name)
        yield from utterances(contest, name)


def read_transcript(path: Path) -> Iterator[Contest]:
    """Yield the debates of a transcript.

    `Motion: ...` begins a debate, `Stage: ...` a part of it; `Pro-1 (rebuttal): ...` and the like
    begin an utterance, which goes on until the next. Moderators and free debates are left out.
    """
    _, *parts = _MOTION.split(read_whole(path))
    if not parts:
        raise InputError(path, "expected a transcript that begins with a line 'Motion: ...'")
    for motion, body in zip(parts[::2], parts[1::2], strict=True):
        speeches = tuple(_speeches(body))
        if speeches:
            sides: dict[str, Side] = {}
            for speech in speeches:
                side = re.split(r"[ -]?\d", speech.speaker.lower())[0].strip()
                sides[speech.speaker] = _SIDES[side]
            yield Contest(motion=motion.strip(), sides=sides, speeches=speeches)


def _speeches(body: str) -> Iterator[Speech]:
    """Yield the speeches of both sides, each with the lines that follow its beginning."""
    formal = True
    speaker = ""
    lines: list[str] = []
    for line in (*body.splitlines(), "stage: end"):
        stage = _STAGE.match(line)
        spoken = _SPEAKER.match(line)
        if not stage and not spoken:
            lines.append(line)
            continue
        if speaker:
            yield Speech(speaker=speaker, text="\n".join(lines))
        speaker = ""
        if stage:
            formal = not _INFORMAL.search(stage[1])
        elif spoken and formal and not _INFORMAL.search(spoken["stage"] or ""):
            speaker = spoken["who"] if spoken["side"].lower() in _SIDES else ""
            lines = [spoken["text"]]
