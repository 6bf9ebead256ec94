"""Which sentences of a response the cited arguments support, by their words.

An argument supports a sentence that it has word for word, or of which it has at least half of the
content words, mostly in this order, with the same negations and all numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import islice, pairwise
from typing import Final

from touche_rad.evidence.words import Words, lexicon, read_words
from touche_rad.frozen import frozen
from touche_rad.text import clean, content_words, sentences

NEAR: Final = 0.75
"""Share of a sentence's words in order from which it is a changed quotation."""
ECHO: Final = 0.7
"""Share of a text's words in repeating sentences from which it is an echo."""
LEAST_CONTENT: Final = 0.5
"""Share of a sentence's content words that an argument must have."""
LEAST_ORDERED: Final = 1 / 3
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
_LONGEST_CONNECTIVE: Final = 5
_MAX_OPENINGS: Final = 12
_LONGEST_STANCE: Final = 20
"""Words of the longest opening such as "I do not agree with your view"."""
QUOTED_INSIDE: Final = 4
"""Words in a row that are a quotation inside a sentence."""
_LONGEST_HEADING: Final = 5
_NAMED: Final = re.compile(r'^(?:You say "[^"]+"\.|On "[^"]+":)')
_LONGEST_ATTRIBUTION: Final = 40
"""Words in which clauses are searched that name what the user said."""
_MOST_NEW_WORDS: Final = 1
"""Content words of such clauses that the user need not have said: a verb, such as "praise"."""
_OF_CONTRADICTION: Final = frozenset(
    "contradict contradicts contradicting contradiction thesis".split()
)


@frozen
class Support:
    """How a text supports a sentence, and why, as the rest of a sentence that begins with "It"."""

    supported: bool
    why: str
    share: float = 1.0
    """Share of the sentence's words that the text has in this order."""
    content_share: float = 1.0
    """Share of its content words that the text has in any order."""
    quoted: bool = False
    """Whether the text has it word for word."""
    denies: bool = False
    """Whether it denies what the text says, or says what the text denies."""


QUOTED: Final = Support(True, "is quoted", quoted=True)
NO_CLAIM: Final = Support(False, "claims nothing", 0.0, 0.0)
UNCITED: Final = Support(False, "rests on no cited argument", 0.0, 0.0)
RETRACTED: Final = Support(False, "takes back what was quoted")
TOO_LONG: Final = Support(False, f"is no quotation and has more than {LONGEST} words", 0.0, 0.0)
TOO_MANY: Final = Support(False, f"comes after {MAX_SENTENCES} other sentences", 0.0, 0.0)
ASKED: Final = Support(False, "asks what the argument states")


@frozen
class Finding:
    """A sentence with its support by the best argument, and the argument's number from 0."""

    text: str
    words: Words
    """Its words without an opening that claims nothing, if it has others."""
    support: Support
    source: int | None = None
    claims: bool = True
    """Whether the sentence claims something; a question or "I disagree" does not."""
    admits: bool = False
    """Whether the sentence only says that no argument was found."""
    opening: str = ""
    """The words before `words`, unless the argument has them, too."""


def findings_in(content: str, texts: Iterable[str], user: Iterable[str] = ()) -> list[Finding]:
    """Return the support of each sentence of a response that claims something."""
    findings = read_sentences(content, [read_words(clean(text)) for text in texts], user)
    return [finding for finding in findings if finding.claims]


def read_sentences(
    content: str, sources: Sequence[Words], user: Iterable[str] = ()
) -> list[Finding]:
    """Return the support of each sentence that has a word.

    First clauses that only name what the user said claim nothing, if `user` has the user's texts.
    """
    results: list[Finding] = []
    spoken = read_words(clean(" ".join(user)))
    for text in sentences(content):
        # What only names words of the user says nothing of its own.
        sentence = read_words(_NAMED.sub("", text))
        if not sentence.words:
            continue
        core = without_opening(sentence)
        if spoken.words:
            core = without_opening(without_attribution(core, spoken, sources))
        words = core if core.words else sentence
        if len(results) >= MAX_SENTENCES:
            results.append(Finding(text, words, TOO_MANY))
            break

        # An argument may have the sentence with its opening word for word.
        asks = text.rstrip("\"'”’)] ").endswith("?")
        supports = [find_support(sentence, source, asks=asks) for source in sources]
        opening = ""
        if words is not sentence and not any(support.quoted for support in supports):
            supports = [find_support(words, source, asks=asks) for source in sources]
            opening = " ".join(sentence.words[: len(sentence.words) - len(core.words)])
        best = max(
            supports, key=lambda support: (support.supported, support.share), default=UNCITED
        )
        number = supports.index(best) if best.supported else None

        admits = not best.quoted and bool(lexicon().admissions.fullmatch(words.joined))
        if admits:
            claims = False
        elif best.quoted:
            claims = True
        elif (
            results
            and results[-1].support.supported
            and not asks
            and lexicon().retractions.fullmatch(sentence.joined)
        ):
            best = RETRACTED
            claims = True
        elif core.content and not asks:
            claims = True
        else:
            # It repeats words of the argument, unless it is as short as "I disagree."
            repeats = bool(core.words) or len(sentence.words) >= _SHORT
            claims = repeats and best.share >= NEAR
        support = best if claims else NO_CLAIM
        results.append(Finding(text, words, support, number, claims, admits, opening))
    return results


def without_attribution(sentence: Words, user: Words, sources: Sequence[Words]) -> Words:
    """Return a sentence without first clauses that only name what the user said.

    "You now praise zoos, which contradicts your thesis: cages harm animals." becomes "cages harm
    animals." if the user praised zoos. "You said: cages harm animals." names nothing, and "You
    argue that cages harm animals, ..." has words of the argument in it.
    """
    end = 0
    new = 0
    names_user = False
    names_claim = False
    for at, word in enumerate(sentence.words[:_LONGEST_ATTRIBUTION]):
        names_user = names_user or word in ("you", "your")
        if at in sentence.content and word not in _OF_CONTRADICTION:
            is_known = sentence.senses[at] in user.senses
            names_claim = names_claim or is_known
            new += not is_known
        phrase = f" {' '.join(sentence.words[max(0, at - 2) : at + 1])} "
        is_quoted = at > 1 and any(phrase in f" {source.joined} " for source in sources)
        if new > _MOST_NEW_WORDS or is_quoted or ":" in sentence.marks[at]:
            break
        if names_user and names_claim and sentence.marks[at + 1]:
            end = at + 1
    return sentence.behind(end) if end else sentence


def without_opening(sentence: Words) -> Words:
    """Return a sentence without what claims nothing before it: `But`, `I disagree:`, `Not so,`."""
    known = lexicon()
    start = 0
    for _ in range(_MAX_OPENINGS):
        if start == len(sentence.words):
            break
        end = start + 1
        last = min(len(sentence.words), start + _LONGEST_STANCE)
        while end < last and not sentence.marks[end]:
            end += 1
        part = sentence.words[start:end]
        # A heading such as `To this, reply:`; `You said:` attributes what follows to the user.
        places = range(start + 1, min(start + _LONGEST_HEADING, len(sentence.words)) + 1)
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
        lengths = range(min(_LONGEST_CONNECTIVE, len(part)), 0, -1)
        length = next((n for n in lengths if " ".join(part[:n]) in known.connectives), 0)
        if not length:
            break
        start += length
    return sentence.behind(start) if start else sentence


def find_support(sentence: Words, text: Words, *, asks: bool = False) -> Support:
    """Return how a text supports a sentence; `asks` says that it is a question."""
    known = lexicon()
    fault = None
    # The places where the text has the sentence word for word: one faithful place suffices.
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
            left_out = " ".join(before[-6:])
            fault = Support(False, f"leaves out “{left_out}” before it")
        elif end == len(text.words) or "…" in sentence.marks[-1]:
            return QUOTED
        elif not text.marks[end]:
            fault = Support(
                False,
                f"stops before “{text.words[end]}”, in the middle of a sentence of the argument",
            )
        elif text.marks[end] == "," and text.words[end] in known.conditions:
            left_out = " ".join(text.words[end : end + 4])
            fault = Support(False, f"leaves out “{left_out}” behind it")
        else:
            return QUOTED
    if fault:
        return fault
    if len(sentence.words) > LONGEST:
        return TOO_LONG
    stems = set(text.stems)
    shared = sum(sentence.stems[at] in stems for at in sentence.content)
    content_share = shared / max(1, len(sentence.content))
    if content_share < LEAST_CONTENT:
        return Support(
            False,
            f"has only {content_share:.0%} of its content words in the argument",
            0.0,
            content_share,
        )
    return _compare(sentence, text, content_share, asks=asks)


_OTHER_ORDER: Final = "has its words in another order than the argument"


def _compare(sentence: Words, text: Words, content_share: float, *, asks: bool) -> Support:
    """Return how a text supports a sentence that is no quotation."""
    known = lexicon()
    words = sentence.words
    # The places of the sentence's words that the text has in this order, each with its place there.
    matcher = SequenceMatcher(None, sentence.stems, text.stems[:_LONGEST_TEXT], autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    pairs: dict[int, int] = {}
    for block in blocks:
        for at in range(block.size):
            pairs[block.a + at] = block.b + at
    if not pairs:
        return Support(False, _OTHER_ORDER, 0.0, content_share)
    share = len(pairs) / len(words)

    def unsupported(why: str, *, denies: bool = False) -> Support:
        return Support(False, why, share, content_share, denies=denies)

    stems = set(text.stems)
    new = [at for at, stem in enumerate(sentence.stems) if stem not in stems]
    added = [words[at] for at in new]
    for word in added:
        if known.counts(word):
            return unsupported(f"gives a number, “{word}”, that the argument does not have")
    for word in added:
        if word in known.witnesses:
            return unsupported(f"names evidence, “{word}”, that the argument does not have")

    # The sentence denies the text if one of them negates a word that both have, or if the number of
    # negations in all that was taken is odd. A negation that was left out with other words of its
    # own denies nothing that was taken.
    longest = max(blocks, key=lambda block: block.size)
    first = min(pairs.values())
    last = max(pairs.values())
    turned = sum(
        (here in sentence.negated) != (there in text.negated) for here, there in pairs.items()
    )
    taken = set(pairs.values())
    for before, after in pairwise([text.clause_start(first) - 1, *pairs.values()]):
        gap = range(before + 1, after)
        if not set(text.matter).intersection(gap):
            taken.update(gap)
    odd = (len(sentence.negations) + len(taken.intersection(text.negations))) % 2
    quotes = longest.size >= QUOTED_INSIDE
    negates = any(0 < longest.a - at <= QUOTED_INSIDE for at in sentence.negations)
    if turned > 1 - odd or (odd and (share >= NEAR or (negates and quotes))):
        return unsupported(
            "denies what the argument says, or says what the argument denies", denies=True
        )

    for at in new:
        if not quotes or at >= longest.a:
            break
        near = at >= longest.a - 2 and words[at] in known.attitudes | known.negators
        if near or words[at] in known.conditions:
            return unsupported(f"puts “{words[at]}” before words of the argument")
    moved = [at for at in sentence.content if at not in pairs]
    if content_share == 1 and len(moved) == 2:
        return unsupported(
            f"swaps “{words[moved[0]]}” and “{words[moved[1]]}”, which changes the meaning"
        )
    # Who says it in another order needs other small words; words of the argument alone are mixed.
    if moved and not added:
        return unsupported(
            f"has “{words[moved[0]]}” in another place, which can change the meaning"
        )

    # A changed quotation.
    if share >= NEAR:
        if asks:
            return ASKED
        for word in added:
            if word not in known.harmless:
                return unsupported(f"adds “{word}” to the argument")
        for at in range(first, last):
            if text.words[at] in known.hedges and at not in pairs.values():
                return unsupported(f"leaves out “{text.words[at]}”")

    ordered = 1 - len(moved) / max(1, len(sentence.content))
    in_a_row = sum(block.size for block in blocks if block.size > 1)
    if ordered < LEAST_ORDERED or 2 * in_a_row < len(pairs):
        return unsupported(_OTHER_ORDER)
    return Support(
        True,
        f"has {content_share:.0%} of its content words in the argument",
        share,
        content_share,
    )


def repeated_share(parts: Sequence[Words], earlier: Sequence[Words]) -> float:
    """Return the share of the content words of some sentences that earlier texts say.

    Each sentence is compared with the text that it repeats most; a text that it denies is none.
    """
    total = 0
    repeated = 0
    texts = [(text, frozenset(text.senses)) for text in earlier]
    for part in parts:
        content = [part.senses[at] for at in part.matter]
        most = 0
        for text, senses in texts:
            shared = sum(sense in senses for sense in content)
            close = 2 * shared >= len(content)
            if shared > most and not (close and find_support(part, text).denies):
                most = shared
        total += len(content)
        repeated += most
    return repeated / total if total else 0.0


class Earlier:
    """The messages of a debate so far, to find texts that only repeat them."""

    def __init__(self, messages: Iterable[str]) -> None:
        self._messages = [read_words(message) for message in messages]

    def has(self, text: str) -> bool:
        """Whether the messages say a text already, whole or nearly so."""
        parts = [without_opening(read_words(sentence)) for sentence in sentences(text)]
        return repeated_share(parts, self._messages) >= ECHO


def supporting_spans(sentence: str, text: str, least: int = 1) -> list[tuple[int, int]]:
    """Return the parts of an argument's text, as positions, that have the sentence's words.

    Each has at least so many words. A part of stop words only says nothing.
    """
    # Whole words are compared, so that "can't" is not marked for a "can" of the sentence.
    chunks = list(islice(re.finditer(r"\S+", text), _LONGEST_TEXT))
    ours = [read_words(word).joined for word in sentence.split()[:LONGEST]]
    theirs = [read_words(chunk.group()).joined for chunk in chunks]
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    shared = [
        (chunks[block.b].start(), chunks[block.b + block.size - 1].end())
        for block in matcher.get_matching_blocks()
        if block.size >= least
    ]
    return [(start, end) for start, end in shared if content_words(text[start:end])]
