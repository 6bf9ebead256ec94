"""Rephrase claims by rules: common words are replaced, always in the same way."""

from __future__ import annotations

import re
from typing import Final

_PHRASES: Final = {
    "should not": "ought not to", "should": "ought to", "must not": "may never", "must": "has to",
    "cannot": "is unable to", "can not": "is unable to", "do not": "fail to",
    "does not": "fails to",
    "is not": "is by no means", "are not": "are by no means", "because of": "owing to",
    "because": "since", "in order to": "so as to", "a lot of": "plenty of", "lots of": "plenty of",
    "more likely": "likelier", "less likely": "unlikelier", "due to": "owing to",
    "as well as": "and also", "such as": "for instance", "no longer": "not any more",
}  # fmt: skip
_WORDS: Final = {
    "people": "persons", "person": "individual", "children": "kids", "child": "kid",
    "government": "state", "governments": "states", "country": "nation", "countries": "nations",
    "help": "aid", "helps": "aids", "harm": "damage", "harms": "damages", "harmful": "damaging",
    "good": "beneficial", "bad": "detrimental", "important": "significant", "big": "large",
    "need": "require", "needs": "requires", "use": "employ", "uses": "employs", "used": "employed",
    "money": "funds", "job": "occupation", "jobs": "occupations", "buy": "purchase",
    "allow": "permit", "allows": "permits", "allowed": "permitted", "ban": "prohibit",
    "banned": "prohibited", "reduce": "lessen", "reduces": "lessens", "increase": "raise",
    "increases": "raises", "cause": "bring about", "causes": "brings about", "show": "demonstrate",
    "shows": "demonstrates", "think": "believe", "thinks": "believes", "wrong": "mistaken",
    "often": "frequently", "many": "numerous", "most": "the majority of", "only": "merely",
    "better": "superior", "worse": "inferior", "easy": "simple", "hard": "difficult",
    "difficult": "hard", "dangerous": "hazardous", "safe": "secure", "law": "statute",
    "laws": "statutes", "rights": "entitlements", "make": "render", "makes": "renders",
    "get": "obtain", "gets": "obtains", "keep": "retain", "keeps": "retains", "stop": "halt",
    "stops": "halts", "end": "conclude", "begin": "start", "kill": "slay", "kills": "slays",
    "world": "globe", "society": "community", "school": "academy", "schools": "academies",
    "however": "yet", "also": "too", "very": "highly", "likely": "probable", "true": "correct",
    "false": "incorrect", "prevent": "avert", "prevents": "averts", "problem": "issue",
    "problems": "issues", "enough": "sufficient", "free": "unrestricted", "fair": "just",
}  # fmt: skip
_ANY: Final = re.compile(
    r"\b(" + "|".join(sorted((*_PHRASES, *_WORDS), key=len, reverse=True)) + r")\b", re.IGNORECASE
)


def paraphrase(claim: str) -> str:
    """Return the claim in other words; without known words it is unchanged."""
    return _ANY.sub(_other, claim)


def _other(found: re.Match[str]) -> str:
    word = found.group()
    other = _PHRASES.get(word.lower()) or _WORDS[word.lower()]
    return other[0].upper() + other[1:] if word[0].isupper() else other
