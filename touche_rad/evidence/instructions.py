"""Flags sentences that look like instructions to a model or a judge.

A flag is a warning for people: no text, prompt, verdict or official file changes because of one.
The patterns find plain wordings only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from touche_rad.debate import Turn
from touche_rad.events import EventKind
from touche_rad.text import split_sentences

_LONGEST: Final = 160
"""Letters of a sentence that are shown."""
_SHOWN: Final = 3
"""Places in a warning."""

_BOT: Final = r"(?:(?:language|ai|chat) models?|llms?|chatbots?|ai (?:judge|system|assistant)s?)"
_GRADER: Final = (
    rf"(?:{_BOT}|(?:assistant|judge|grader|evaluator|assessor|annotator|rater|reviewer)s?)"
)
_TEXT: Final = (
    r"(?:responses?|answers?|repl(?:y|ies)|messages?|turns?|submissions?|outputs?|texts?)"
)
_GUIDE: Final = (
    r"(?:instructions?|prompts?|guidelines?|rubrics?|criteria|directions|system messages?)"
)
_MAXIM: Final = r"(?:quantity|quality|relation|manner)"
_YES: Final = r"[\"'“`*]{0,2}(?:yes|no|true|false|1|0|1\.0)\b"
_GAP: Final = r"(?:\W+\w+){0,4}?\W+"

_PATTERNS: Final = (
    # Ignoring or revealing the instructions of the prompt.
    rf"\b(?:ignore|disregard|forget|override|bypass){_GAP}(?:previous|prior|above|earlier|preceding"
    rf"|original|your|all|system)(?:\W+\w+){{0,2}}?\W+(?:{_GUIDE}|rules|told)\b",
    r"\b(?:ignore|disregard|forget) (?:everything|all) (?:above|before|you were told)",
    rf"\b(?:reveal|print|output|repeat|show|disclose){_GAP}(?:system|hidden|your|initial) "
    rf"(?:{_GUIDE}|configuration)\b",
    rf"\b(?:new|updated|revised|real|actual) {_GUIDE} ?:",
    r"\b(?:end|start|beginning) of (?:the )?(?:system|data|input|transcript|prompt|conversation)\b",
    # Addressing a model or a judge.
    rf"(?:^|[\n.!?:,;\"“(] ?)(?:dear|attention|hey|hello|hi|note (?:to|for)|message (?:to|for)|to)"
    rf",? (?:the |all |any |whoever )?(?:\w+ )?{_GRADER}\b(?: ?[:,!]|$| reading| who)",
    rf"\b(?:as|you are|you're|if you are) (?:an? |the )?(?:\w+ )?{_BOT}\b",
    r"\b(?:as|you are|you're) (?:the |an? )(?:\w+ )?(?:grader|evaluator|annotator|rater)\b",
    r"\b(?:as|you are) (?:the|this debate's) judge\b.{0,40}\b(?:you|must|should|score|mark|rate)\b",
    rf"\b{_GRADER} (?:must|should|shall|has to|have to|is required to|are required to|will)"
    rf"{_GAP}(?:this|my|the|our|every) (?:\w+ ){{0,2}}?{_TEXT}\b",
    # Demands about verdicts, scores and formats.
    rf"\b(?:rate|score|grade|mark|label|judge|classify|evaluate) (?:this|my|the|our|every|all)"
    rf" (?:\w+ ){{0,3}}?{_TEXT}\b(?: \w+){{0,3}}? (?:as|with|at|highly|{_YES}|full|top)",
    rf"\b(?:give|award|assign|grant)\b{_GAP}{_TEXT}{_GAP}(?:scores?|ratings?|marks|points|verdict)\b",
    rf"\b(?:give|award|assign|grant)\b{_GAP}(?:scores?|ratings?|marks|points|verdict){_GAP}"
    rf"(?:this|my|our) {_TEXT}\b",
    rf"\b{_MAXIM}[\"'*]{{0,2}} ?[:=] ?{_YES}",
    rf"\b(?:verdict|score|rating|label)s?[\"'*]{{0,2}}(?: (?:for|of|on|to) \w+(?: \w+)?)?"
    rf" ?(?:[:=]|must be|should be|is|are) ?{_YES}",
    rf"\b(?:answer|respond|reply)(?: only)?(?: with)? {_YES}[\"'”`*]{{0,2}} (?:to|for|on) "
    r"(?:all|every|each|everything|the four)\b",
    rf"\b(?:output|return|respond|reply)(?: only)? (?:with )?(?:only )?(?:the word |exactly )?"
    rf"(?:{_YES}(?![\"'”`*]{{0,2}}(?: or |/))|(?:valid )?json\b)",
    r"\ball (?:four |of the )?(?:maxims|criteria) (?:are|were|have been)\b.{0,20}\b(?:met|satisfied"
    r"|fulfilled)\b",
    # Another role.
    r"\b(?:from now on|henceforth),? you (?:are|will|must|only|shall)\b",
    rf"\b(?:pretend|act|behave) (?:to be|that you are|as|like) (?:an? |the )?(?:\w+ )?{_GRADER}\b",
    r"\b(?:developer|maintenance|debug|god|jailbreak) mode\b",
    # Marks of chat formats, and comments.
    r"<\|\w+\|>|\[/?inst\]|<</?sys>>|</?(?:system|instructions?)>|#{2,} ?(?:system|instructions?)\b"
    r"|=== (?:system|user|assistant)|\"role\" ?: ?\"|<!--",
    # The same in other languages.
    r"\b(?:ignorier\w*|missacht\w*|vergiss)\b.{0,40}\b(?:anweisung|instruktion|vorgabe)",
    r"\bbewerte\w* (?:diese|die|meine) (?:antwort|nachricht)",
    r"\b(?:ignor\w*|oubli\w*|olvid\w*|dimentic\w*|negeer|esque\w*)\b.{0,40}\b(?:instructions|consignes"
    r"|instrucciones|istruzioni|instruções|instructies)",
    r"忽略.{0,12}(?:指令|指示|说明|提示)|無視.{0,12}|игнорируй\w*.{0,40}(?:инструкц|указани)",
)
_ANY: Final = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE)


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
        if turn.response is None:
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
