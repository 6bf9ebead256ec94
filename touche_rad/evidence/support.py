"""Which sentences of a response the cited arguments support, by their words.

An argument supports a sentence that it has word for word, or of which it has at least half of the
content words, mostly in this order, with the same negations and all numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, islice, pairwise
from typing import Final

from touche_rad.evidence.words import Words, lexicon, read_words
from touche_rad.text import sentences

NEAR: Final = 0.75
"""Share of a sentence's words in order from which it is a changed quotation."""
ECHO: Final = 0.7
"""Share of a text's words in repeating sentences from which it is an echo."""
TOLD: Final = 0.5
"""Share of a sentence's content words that an argument must have."""
ORDERED: Final = 1 / 3
"""The same in the argument's order."""
MAX_SENTENCES: Final = 20
"""Sentences that are compared; the next one counts as unsupported, and ends the text."""
LONGEST: Final = 80
"""Words of a sentence that is compared in other ways than word for word."""
_LONGEST_TEXT: Final = 600
_SHORT: Final = 6
"""Words of a sentence such as "I disagree." that may be in an argument by chance."""
_TRIES: Final = 100
"""Occurrences of a quotation that are read."""
_COMMAS: Final = ",()[]"
_CONNECTIVE: Final = 5
_OPENINGS: Final = 12
_STANCE: Final = 20
"""Words of the longest opening such as "I do not agree with your view"."""
_QUOTED: Final = 4
"""Words in a row that are a quotation inside a sentence."""
_HEADING: Final = 5


@dataclass(frozen=True)
class Support:
    """How a text supports a sentence, and why, as the rest of a sentence that begins with "It"."""

    supported: bool
    why: str
    share: float = 1.0
    """Share of the sentence's words that the text has in this order."""
    told: float = 1.0
    """Share of its content words that the text has in any order."""
    quoted: bool = False
    """Whether the text has it word for word."""
    distorted: bool = False
    """Whether it changes the meaning of the text."""
    denies: bool = False
    """Whether it denies what the text says, or says what the text denies."""


QUOTED: Final = Support(True, "is quoted", quoted=True)
NO_CLAIM: Final = Support(False, "claims nothing", 0.0, 0.0)
UNCITED: Final = Support(False, "rests on no cited argument", 0.0, 0.0)
RETRACTED: Final = Support(False, "takes back what was quoted", distorted=True)
TOO_LONG: Final = Support(False, f"is no quotation and has more than {LONGEST} words", 0.0, 0.0)
TOO_MANY: Final = Support(False, f"comes after {MAX_SENTENCES} other sentences", 0.0, 0.0)
ASKED: Final = Support(False, "asks what the argument states", distorted=True)


@dataclass(frozen=True)
class Finding:
    """A sentence with its support by the best argument, and the argument's number from 0."""

    text: str
    words: Words
    """Its words without an opening that claims nothing, if it has others."""
    support: Support
    source: int | None = None
    claims: bool = True
    """Whether the sentence claims something; a question or "I disagree" does not."""


def findings_in(content: str, texts: Iterable[str]) -> list[Finding]:
    """Return the support of each sentence of a response that claims something."""
    findings = read_sentences(content, [read_words(text) for text in texts])
    return [one for one in findings if one.claims]


def read_sentences(content: str, sources: Sequence[Words]) -> list[Finding]:
    """Return the support of each sentence that has a word."""
    results: list[Finding] = []
    for text in sentences(content):
        whole = read_words(text)
        if not whole.words:
            continue
        core = without_opening(whole)
        words = core if core.words else whole
        asks = text.rstrip("\"'”’)] ").endswith("?")
        claims = bool(core.content) and not asks
        if len(results) >= MAX_SENTENCES:
            results.append(Finding(text, words, TOO_MANY))
            break
        supports = [find_support(whole, source, asks=asks) for source in sources]
        if words is not whole and not any(one.quoted for one in supports):
            supports = [find_support(words, source, asks=asks) for source in sources]
        best = max(supports, key=lambda one: (one.supported, one.share), default=UNCITED)
        number = supports.index(best) if best.supported else None
        if best.quoted:
            claims = True
        elif (
            results
            and results[-1].support.supported
            and not asks
            and lexicon().retractions.fullmatch(whole.joined)
        ):
            best, claims = RETRACTED, True
        if not claims and not best.quoted and best.share >= NEAR:
            # It repeats words of the argument, unless it is as short as "I disagree."
            claims = bool(core.words) or len(whole.words) >= _SHORT
        results.append(Finding(text, words, best if claims else NO_CLAIM, number, claims))
    return results


def without_opening(sentence: Words) -> Words:
    """Return a sentence without what claims nothing before it: `But`, `I disagree:`, `Not so,`."""
    known = lexicon()
    start = 0
    for _ in range(_OPENINGS):
        if start == len(sentence.words):
            break
        end = start + 1
        while end < len(sentence.words) and not sentence.marks[end] and end - start < _STANCE:
            end += 1
        part = sentence.words[start:end]
        # A heading such as `To this, reply:`; `You said:` attributes what follows to the user.
        places = range(start + 1, min(start + _HEADING, len(sentence.words)) + 1)
        colon = next((at for at in places if ":" in sentence.marks[at]), start)
        heading = sentence.words[start:colon]
        if known.denials.fullmatch(" ".join(heading)):
            break
        behind_you = heading[heading.index("you") :] if "you" in heading else ()
        if (
            colon > start
            and sum(start <= at < colon for at in sentence.content) <= 1
            and known.negators.intersection(heading) <= {"not", "no"}
            and ("i" in heading or known.attitudes.isdisjoint(behind_you))
        ):
            start = colon
            continue
        if known.stances.fullmatch(" ".join(part)):
            start = end
            continue
        lengths = range(min(_CONNECTIVE, len(part)), 0, -1)
        length = next((n for n in lengths if " ".join(part[:n]) in known.connectives), 0)
        if not length:
            break
        start += length
    return sentence.behind(start) if start else sentence


def find_support(sentence: Words, text: Words, *, asks: bool = False) -> Support:
    """Return how a text supports a sentence; `asks` says that it is a question."""
    known, fault = lexicon(), None
    quotations = re.finditer(f"(?= {re.escape(sentence.joined)} )", f" {text.joined} ")
    for quotation in islice(quotations, _TRIES):
        start = text.joined.count(" ", 0, quotation.start())
        end = start + len(sentence.words)
        first = text.clause_start(start, weak=_COMMAS) if start else 0
        before = text.words[first:start]
        turning = known.conditions
        if not text.marks[start]:
            turning = turning | known.negators | known.attitudes
        if asks and "?" not in text.marks[end]:
            fault = ASKED
        elif not turning.isdisjoint(before) and " ".join(before) not in known.connectives:
            fault = _distorted(f"leaves out “{' '.join(before[-6:])}” before it")
        elif end == len(text.words) or "…" in sentence.marks[-1]:
            return QUOTED
        elif not text.marks[end]:
            after = text.words[end]
            why = f"stops before “{after}”, in the middle of a sentence of the argument"
            fault = _distorted(why)
        elif text.marks[end] == "," and text.words[end] in known.conditions:
            fault = _distorted(f"leaves out “{' '.join(text.words[end : end + 4])}” behind it")
        else:
            return QUOTED
    if fault is not None:
        return fault
    if len(sentence.words) > LONGEST:
        return TOO_LONG
    stems = set(text.stems)
    told = sum(sentence.stems[at] in stems for at in sentence.content)
    share = told / max(1, len(sentence.content))
    if share < TOLD:
        why = f"has only {share:.0%} of its content words in the argument"
        return Support(False, why, 0.0, share)
    return _compare(sentence, text, share, asks=asks)


def _compare(sentence: Words, text: Words, told: float, *, asks: bool) -> Support:
    """Return how a text supports a sentence that is no quotation."""
    known, ours, theirs = lexicon(), sentence.words, text.words
    matcher = SequenceMatcher(None, sentence.stems, text.stems[:_LONGEST_TEXT], autojunk=False)
    blocks = [one for one in matcher.get_matching_blocks() if one.size]
    pairs = {one.a + at: one.b + at for one in blocks for at in range(one.size)}
    if not pairs:
        return Support(False, "has its words in another order than the argument", 0.0, told)
    share = len(pairs) / len(ours)
    new = sentence.missing_in(text)
    added = [ours[at] for at in new]
    if number := next((word for word in added if known.counts(word)), ""):
        return _distorted(
            f"gives a number, “{number}”, that the argument does not have", share, told
        )
    if witness := next((word for word in added if word in known.witnesses), ""):
        return _distorted(
            f"names evidence, “{witness}”, that the argument does not have", share, told
        )
    longest = max(blocks, key=lambda one: one.size)
    first, last = min(pairs.values()), max(pairs.values())
    turned = sum((a in sentence.negated) != (b in text.negated) for a, b in pairs.items())
    places = [text.clause_start(first) - 1, *pairs.values()]
    gaps = [range(one + 1, other) for one, other in pairwise(places)]
    # A negation that was left out with other words of its own denies nothing that was taken.
    bare = [gap for gap in gaps if not set(text.matter).intersection(gap)]
    kept = {*pairs.values(), *chain.from_iterable(bare)}
    odd = (len(sentence.negations) + len(kept.intersection(text.negations))) % 2
    before = any(0 < longest.a - at <= _QUOTED for at in sentence.negations)
    denied = odd and (share >= NEAR or (before and longest.size >= _QUOTED))
    if turned > 1 - odd or denied:
        why = "denies what the argument says, or says what the argument denies"
        return _distorted(why, share, told, denies=True)
    head = [at for at in new if at < longest.a] if longest.size >= _QUOTED else []
    for at in head:
        near = at >= longest.a - 2 and ours[at] in known.attitudes | known.negators
        if near or ours[at] in known.conditions:
            return _distorted(f"puts “{ours[at]}” before words of the argument", share, told)
    moved = [at for at in sentence.content if at not in pairs]
    if told == 1 and len(moved) == 2:
        return _distorted(f"exchanges “{ours[moved[0]]}” and “{ours[moved[1]]}”", share, told)
    if share >= NEAR:
        if asks:
            return ASKED
        if strange := [word for word in added if word not in known.harmless]:
            return Support(False, f"adds “{strange[0]}” to the argument", share, told)
        gone = [theirs[at] for at in range(first, last) if at not in pairs.values()]
        if hedge := next((word for word in gone if word in known.hedges), ""):
            return _distorted(f"leaves out “{hedge}”", share, told)
    ordered = 1 - len(moved) / max(1, len(sentence.content))
    if ordered < ORDERED or 2 * sum(one.size for one in blocks if one.size > 1) < len(pairs):
        why = "has its words in another order than the argument"
        return Support(False, why, share, told)
    why = f"has {told:.0%} of its content words in the argument"
    return Support(True, why, share, told)


def _distorted(why: str, share: float = 1.0, told: float = 1.0, *, denies: bool = False) -> Support:
    return Support(False, why, share, told, distorted=True, denies=denies)


def repeated_share(parts: Sequence[Words], earlier: Sequence[Words]) -> float:
    """Return the share of the content words of some sentences that earlier texts say.

    Each sentence is compared with the text that it repeats most; a text that it denies is none.
    """
    total = said = 0
    texts = [(text, frozenset(text.senses)) for text in earlier]
    for part in parts:
        own = [part.senses[at] for at in part.matter]
        most = 0
        for text, senses in texts:
            shared = sum(one in senses for one in own)
            close = 2 * shared >= len(own)
            if shared > most and not (close and find_support(part, text).denies):
                most = shared
        total += len(own)
        said += most
    return said / total if total else 0.0


class Earlier:
    """The messages of a debate so far, to find texts that only repeat them."""

    def __init__(self, messages: Iterable[str]) -> None:
        self._messages = [read_words(message) for message in messages]

    def has(self, text: str) -> bool:
        """Whether the messages say a text already, whole or nearly so."""
        parts = [without_opening(read_words(sentence)) for sentence in sentences(text)]
        return repeated_share(parts, self._messages) >= ECHO


def supporting_spans(sentence: str, text: str) -> list[tuple[int, int]]:
    """Return the parts of an argument's text, as positions, that have the sentence's words."""
    stems: list[str] = []
    spans: list[tuple[int, int]] = []
    for chunk in islice(re.finditer(r"\S+", text), _LONGEST_TEXT):
        for stem in read_words(chunk.group()).stems:
            stems.append(stem)
            spans.append(chunk.span())
    ours = without_opening(read_words(sentence)).stems[:LONGEST]
    matcher = SequenceMatcher(None, ours, stems, autojunk=False)
    return [
        (spans[one.b][0], spans[one.b + one.size - 1][1])
        for one in matcher.get_matching_blocks()
        if one.size
    ]
