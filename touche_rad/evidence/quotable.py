"""What can be quoted of an argument: whole sentences that are clear without their context.

Arguments of a collection often answer another text: "Both of these practices ...", "Singers do just
this.", "The parent claim ...". A reader of a response does not see that text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from touche_rad.debate import Argument
from touche_rad.text import clean, content_words, count_words, cut_to_words, sentences

_MARKUP = re.compile(
    r"https?:|www\.|\w\.(?:com|org|net|gov|edu)\b|\[\w[^\]]*\]|\bp+\. ?\d", re.IGNORECASE
)
"""Addresses, links and page numbers."""
_BEST_LENGTH: Final = 45
"""Words of the best quotation."""
_ENDED = re.compile(r"[.!?…][\"'”’)\]]*$")

_SHRED = re.compile(
    r"(?<=[.!?\"”])(?>\s*(?:www\.)?[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|gov|edu|uk)"
    r"|\s+[a-z]+(?:-[a-z]+)+)+$"
)
"""The name or address of a link after the last full stop."""
_LONGEST_SHRED: Final = 400


def clear(quoted: str) -> bool:
    """Whether a quotation can be understood without its context, and is free of links."""
    return not missing_context(quoted) and not _MARKUP.search(quoted)


def quotation(text: str, limit: int, short: int) -> str:
    """Return the quotation of a text: one or two sentences that stand alone; a short text whole.

    `limit` is the most words of a quotation, `short` the most words of a short text.
    """
    # The sentences without fragments at the end, such as a link.
    line = clean(text)
    shred = _SHRED.search(line, max(0, len(line) - _LONGEST_SHRED))
    parts = sentences(line[: shred.start()] if shred else line)
    while len(parts) > 1 and not _ENDED.search(parts[-1]):
        parts.pop()
    joined = " ".join(parts)
    if count_words(joined) <= min(short, limit):
        return joined
    passages: list[str] = []
    for start, sentence in enumerate(parts):
        if start == 0 or not missing_context(sentence):
            passages += (sentence, " ".join(parts[start : start + 2]))
    fitting = [passage for passage in passages if count_words(passage) <= limit]

    def rank(passage: str) -> tuple[bool, int]:
        return clear(passage), -abs(count_words(passage) - _BEST_LENGTH)

    return max(fitting, key=rank, default="") or cut_to_words(line, limit)


_TEXTS: Final = (
    "claim|premise|thesis|argument|statement|assertion|proposition|source|article|study|report|link|"
    "post|reply|comment|quote|document"
)
_OTHER_TEXT: Final = re.compile(
    rf"\b(?:(?:(?:grand)?parent|previous|preceding|above|linked|your (?:own )?other(?: core)?)"
    rf" (?:{_TEXTS})s?"
    r"|(?:this|the) (?:debate|discussion|thread)(?! (?:about|on|over|of|around|between|in))"
    rf"|the (?:{_TEXTS})(?= (?:is|was|does|did|has|fails?|assumes?|ignores?|makes?|says|states|"
    r"claims|only|above|here|itself|also|seems?|relies|implies|suggests|given|found|finds|shows?|"
    r"showed|concludes?|concluded|cited|\w+n['’]t)\b)"
    r"|(?:mentioned|listed|stated|described|discussed|noted|linked|quoted|implied|cited|made)"
    r" (?:above|earlier|before)"
    r"|(?:issue|point|question|problem|topic) here|the (?:aforementioned|listed|above)|as above"
    r"|see (?:above|here|below)|kialo)\b",
    re.IGNORECASE,
)
"""Names of another text, anywhere in the text."""
_PARENT: Final = re.compile(
    r"\bthe (?:grand)?parent\b(?!-| (?:company|relationship))", re.IGNORECASE
)
"""The claim that an argument answers, in a text that speaks of no family."""
_FAMILY: Final = re.compile(
    r"\b(?:child|kid|son|daughter|famil|bab|school|student|teen|mother|father|parents|pregnan)",
    re.IGNORECASE,
)

_LEAD: Final = (
    r"(?:(?:and|but|or|if|when|while|as|because|since|although|though|even|only|just|unless|until|"
    r"once|by|with|without|in|of|for|from|to|on|at|under|through|despite|due|like|after|before|"
    r"most|many|some|all|one|none|neither|any|each|both|much|several|few|that|is|are|does|do|"
    r"\w+ing)\s+){0,3}"
)
_VERB: Final = (
    r"it(?=(?:['’]s| (?:\S+ )?(?:is|was|isn't|wasn't|would|will|may|might|can|could|should|seems?"
    r"|becomes?|became|has been|makes?|takes?|costs?|took|follows|helps?|hurts?))\b[^,.;:!?]*"
)
_IMPERSONAL: Final = rf"{_VERB}\b(?:to|that|whether|how|why|who|what)\b)"
_IMPERSONAL_FIRST: Final = rf"{_VERB}\b(?:if|when)\b)"
_OTHERS: Final = r"its|they|their|them|themselves|he|him|his|she|her|this|these(?! days)"
_PRONOUN: Final = rf"(?:(?!{_IMPERSONAL})it|{_OTHERS})"
_START: Final = re.compile(
    rf"(?:(?!{_IMPERSONAL_FIRST}){_LEAD}{_PRONOUN}\b"
    r"|(?:that(?:'s|(?= (?:happens|means|makes|leads|requires|depends|all depends|in no way|also"
    r"|only|alone|simply|just|still|is|was|would|does|did|may|might|can|cannot|could|will|should|must"
    r"|has|\w+n't)))"
    r"|that (?:amount|kind|sort|type|way|said|being said|argument|claim|logic|study|idea)"
    r"|those(?! (?:who|whom|whose|which|that|with|without|in|of|from|at|on|under|for|against|"
    r"already|not|most|\w+ing|\w+ed)\b)"
    r"|both(?= (?:are|is|were|have|can|could|do|would|will|may|might|should|sides)\b)"
    r"|neither(?= (?:is|are|was|were|would|can)\b)"
    r"|others(?= \w)|another(?= \w)|the (?:former|latter|same|other|opposite|reverse|converse)"
    r"|such(?! (?:\w+ )?as)|(?:by )?doing so|if (?:so|not)\b|even so"
    r"|so(?! (?:long|far|many|much|called))"
    r"|there(?:['’]s| (?:is|are|was|were)) also"
    r"|and|but|or|nor|yet|however|also|additionally|furthermore|moreover|similarly|otherwise"
    r"|therefore|thus|hence|again|likewise|conversely|consequently|instead(?! of)|besides,"
    r"|here|then,|alternatively|in (?:the|your|their) example|not only"
    r"|as a (?:direct )?(?:result|consequence)(?! of (?!this|these))"
    r"|for (?:example|instance)|in (?:addition|contrast|other words|either case|both cases)(?! to)"
    r"|on the (?:contrary|other hand)|indeed|exactly|yes|no(?=,)|true(?=[,.])|agreed"
    r"|correct(?=[,.]))\b)",
    re.IGNORECASE,
)
"""Beginnings of a sentence that refer to something before it."""

_EARLY: Final = re.compile(
    r"\b(?:this(?! (?:day|world|country|planet|century|decade|life|earth)\b)"
    r"|these(?! days\b)"
    r"|such(?! (?:as|that|thing|\w+ as)\b)"
    r"|those(?! (?:who|whom|whose|which|that)\b)(?= (?:\w+ ){0,2}(?:is|are|was|were|do|does|would"
    r"|will|can|could|should|may|might|need|have|has)\b)"
    r"|(?:do(?:es|ing)?|did|done) (?:just |exactly )?(?:so|that)(?= *[,.;]|$)"
    r"|the (?:former|latter))\b",
    re.IGNORECASE,
)
"""References that need something before them in their own sentence."""
_BEFORE: Final = re.compile(
    r"[,;:()]|[-–—]{2}|\s[-–—]\s|\b(?:and|but|so|or|because|which|who|while|when|where"
    r"|since|as|though|although|than|if)\b",
    re.IGNORECASE,
)
"""Marks and words that separate a reference from what it may refer to."""
_ENOUGH: Final = 2
"""Content words before such a mark that can be referred to."""
_PLURAL: Final = re.compile(r"\w{3}s\b|\b(?:people|men|women|children|and|or)\b", re.IGNORECASE)
"""What "these" may refer to."""
_NOUN: Final = 3
"""Words after "these" or "such" that contain its noun."""
_ROOT: Final = 5
"""Letters that are compared of two words."""
_LONGEST_CLAIM: Final = 30
"""Words of a claim beside a text."""


@lru_cache(maxsize=2_048)
def missing_context(text: str) -> str:
    """Return the first words that refer to something outside a text; "" if it stands alone.

    The words of a first sentence are read, and names of other texts ("the parent claim") in all.
    This is a rule of thumb for English.
    """
    line = clean(text)
    parts = sentences(line)
    if not parts:
        return ""
    begins = _START.match(parts[0].lstrip("\"'“”‘’([ "))
    if begins:
        return begins.group().strip()
    for early in _EARLY.finditer(parts[0]):
        before = parts[0][: early.start()]
        several = early.group().lower() != "these" or _PLURAL.search(before)
        if not several or not _explained(before, parts[0][early.end() :]):
            return early.group().strip()
    return other_text(line)


def text_with_claim(argument: Argument) -> str:
    """Return a text for a prompt; if it may point to the claim that it answers, with this claim."""
    text = clean(argument.text)
    claim = argument.attacks if argument.original == "attacks" else argument.supports
    if claim and _EARLY.search(text):
        text += f' ({argument.original}: "{cut_to_words(claim, _LONGEST_CLAIM)}")'
    return text


def other_text(text: str) -> str:
    """Return the first words that name another text, such as "the parent claim"; "" without any."""
    named = _OTHER_TEXT.search(text) or (not _FAMILY.search(text) and _PARENT.search(text))
    return named.group().strip() if named else ""


def _explained(before: str, after: str) -> bool:
    """Whether the words before a reference contain what it may refer to: a clause or its noun."""
    marks = _BEFORE.finditer(before)
    if any(len(content_words(before[: mark.start()])) >= _ENOUGH for mark in marks):
        return True
    return not _roots(" ".join(after.split()[:_NOUN])).isdisjoint(_roots(before))


def _roots(text: str) -> set[str]:
    return {word.rstrip("s")[:_ROOT] for word in content_words(text)}
