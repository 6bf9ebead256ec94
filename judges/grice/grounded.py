"""The judge `grounded`: four short rules, without a model. docs/methods.md describes them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Final, NamedTuple

from touche_rad import plugins
from touche_rad.debate import Debate, Verdict, Verdicts
from touche_rad.evidence.support import ECHO, NEAR, Finding, read_sentences, repeated_share
from touche_rad.evidence.words import Words, lexicon, read_words
from touche_rad.plugins import ExplainedVerdict, Feature, Services
from touche_rad.text import clean

SHOWN_ARGUMENTS: Final = 2
"""Cited arguments whose texts the official annotators saw."""
EARLIER_TURNS: Final = 6
"""Earlier turns that are read."""
BEST_SCORE: Final = 0.95
"""Score of a response without faults."""
WORST_SCORE: Final = 0.05
"""Score of a response with too many faults."""
LEAST_YES: Final = 0.5
"""Least score that means yes."""
DECISIVE: Final = 0.9
"""Size of a fault that makes the verdict no."""
MOST_DOUBT: Final = 0.4
"""Most that a support in other words costs."""
LEAST_CLOSENESS: Final = 0.1
"""Least closeness of a response to the user's topic."""
OFF_TOPIC: Final = "the response has too few words of the topic"
SIDE_UNSEEN: Final = "The judge cannot see the side of an argument."
LEAST_NEW_WORDS: Final = 2
"""New content words without which a response is a bare denial."""
SAME_SENTENCE: Final = 0.8
"""Share of a sentence's words from which it repeats another."""
MOST_WORDS: Final = 60
"""Words of a response that is not too long."""
LONG_SENTENCE: Final = 40
"""Words of a sentence that is not too long."""
FEWEST_WORDS: Final = 5
"""Words of a response, or of a repeating sentence, that is not too short."""
ABSTRACT_NOUNS: Final = 0.2
"""Share of abstract nouns from which a response is hard to read."""
QUOTE_LETTERS: Final = 70
"""Maximum letters of a sentence in a rationale."""

_LABEL: Final = re.compile(
    r"\A[\s*_#]*(?:(?:final |my )?(?:answer|reply|response)|assistant|system|debater)"
    r"[\s*_]*:[\s*_]*",
    re.IGNORECASE,
)
"""A speaker's label before a response: "Answer: q" is judged as q."""
_LIST_MARK: Final = re.compile(
    r"\b(?:(first|second|third|fourth)(?:ly)?|finally|lastly|moreover|furthermore|additionally"
    r"|in addition|another (?:point|reason))\b"
)
_ABSTRACT_NOUN: Final = re.compile(
    r"\b\w{4,}(?:tion|ment|ity|ness|ism|ance|ence|ology|ship)s?\b|\b\w{5,}ities\b"
)


class RuleFault(NamedTuple):
    """What speaks against a yes: how much, and why. A fault of size 0 says why it is a yes."""

    name: str
    size: float
    reason: str


def quote(finding: Finding) -> str:
    """Quote a sentence on one line, shortened."""
    # shorten() reads the whole text, and a sentence may be as long as the response.
    return f"“{shorten(finding.text[: 5 * QUOTE_LETTERS], QUOTE_LETTERS, placeholder=' …')}”"


def content_senses(words: Words) -> set[str]:
    """Return the senses of the content words."""
    return {words.senses[at] for at in words.content}


@dataclass(frozen=True)
class ResponseFeatures:
    """What the rules see of a response in its debate."""

    length: int
    text: str
    """Its words."""
    sentences: Sequence[Finding]
    claims: Sequence[Finding]
    """The sentences that claim something."""
    topic: Sequence[str]
    """Words that the response, or an argument it uses, shares with the user and the thesis."""
    closeness: float
    """Their number, divided by the root of the numbers of content words on both sides."""
    new: int
    """Content words of the claims that the user has not used."""
    repeated: float
    """Share of the response that the system said before."""
    for_the_user: Sequence[RuleFault]
    """What makes the response speak for the user, as far as words show it."""


def read_response(debate: Debate) -> ResponseFeatures | None:
    """Read a debate that ends with the response; None if there is no response."""
    response = debate.last.response if debate.turns else None
    if response is None:
        return None
    content = _LABEL.sub("", clean(response.content))
    sources = [
        read_words(clean(argument.text)) for argument in response.arguments[:SHOWN_ARGUMENTS]
    ]
    sentences = read_sentences(content, sources)
    claims = [sentence for sentence in sentences if sentence.claims]
    turns = debate.turns[-EARLIER_TURNS - 1 :]
    users = [read_words(turn.utterance) for turn in turns]
    systems = [read_words(turn.response.content) for turn in turns[:-1] if turn.response]
    generic = lexicon().generic

    # The topic is what the response, and the arguments it uses, share with the user and the thesis.
    used_words = [sentence.words for sentence in sentences]
    used_sources = {claim.source for claim in claims if claim.source is not None}
    used_words += [sources[number] for number in sorted(used_sources)]
    word_of_sense: dict[str, str] = {}
    for words in used_words:
        word_of_sense |= {words.senses[at]: words.words[at] for at in words.content}
    by_user = set().union(*(message.senses for message in users))
    asked = content_senses(users[-1]) | content_senses(read_words(debate.thesis))
    on_topic = (by_user | asked) - generic
    topic = [word for sense, word in word_of_sense.items() if sense in on_topic]
    in_response = set().union(*(content_senses(sentence.words) for sentence in sentences))

    # Other talk does not make a repetition new: sentences off the topic count only alone.
    related = asked.union(*map(content_senses, (*users, *sources))) - generic
    parts = [sentence.words for sentence in claims or sentences]
    parts = [words for words in parts if not related.isdisjoint(content_senses(words))] or parts
    new = {words.senses[at] for words in parts for at in words.matter} - by_user
    return ResponseFeatures(
        length=len(content.split()),
        text=read_words(content).joined,
        sentences=sentences,
        claims=claims,
        topic=topic,
        closeness=len(topic) / math.sqrt(max(1, len(in_response)) * max(1, len(asked))),
        new=len(new),
        repeated=repeated_share(parts, systems),
        for_the_user=list(speaks_for_the_user(sentences, repeated_share(parts, users))),
    )


def speaks_for_the_user(sentences: Sequence[Finding], echo: float) -> Iterator[RuleFault]:
    """Yield an echo, an agreement and a contrary of an argument; `echo` is the user's share."""
    known = lexicon()
    if echo >= ECHO:
        yield RuleFault("echo", DECISIVE, "the response says what the user said")
    for sentence in sentences:
        support = sentence.support
        text = sentence.words.joined
        if support.quoted:
            continue
        if support.denies and support.share >= NEAR:
            yield RuleFault("contrary", DECISIVE, f"{quote(sentence)} {support.why}")
            return
        agrees = known.surrenders.match(text) or known.concessions.search(text)
        # "You are right, but ..." takes the agreement back.
        if agrees and known.reversals.isdisjoint(text[agrees.end() :].split()):
            yield RuleFault("agreement", DECISIVE, f"{quote(sentence)} agrees with the user")
            return


def quantity(response: ResponseFeatures) -> Iterator[RuleFault]:
    """One thesis or attack: not a list, not a bare denial, not a repetition."""
    first = quote((response.claims or response.sentences)[0])
    yield RuleFault("point", 0.0, f"one point: {first}")
    if not response.claims or response.new < LEAST_NEW_WORDS:
        yield RuleFault("denial", DECISIVE, f"{first} gives no reason")
    marks = [match.group() for match in _LIST_MARK.finditer(response.text)]
    if len(marks) > 1:
        yield RuleFault("list", DECISIVE, f"“{marks[0]}” and “{marks[1]}” mark a list")
    if len({claim.source for claim in response.claims if claim.source is not None}) > 1:
        yield RuleFault("arguments", DECISIVE, "the response uses two arguments")
    earlier: list[Words] = []
    for sentence in response.sentences:
        words = sentence.words
        if len(words.words) >= FEWEST_WORDS and repeated_share([words], earlier) >= SAME_SENTENCE:
            reason = f"{quote(sentence)} repeats a sentence before it"
            yield RuleFault("repetition", DECISIVE, reason)
            break
        earlier.append(words)
    if not response.topic:
        yield RuleFault("topic", DECISIVE, OFF_TOPIC)
    yield from response.for_the_user


def quality(response: ResponseFeatures) -> Sequence[RuleFault]:
    """Each sentence that claims something is found in one of the first two cited arguments."""
    if not response.claims:
        reason = "the response claims nothing that an argument could support"
        return [RuleFault("claims", DECISIVE, reason)]
    faults = [
        RuleFault(
            f"sentence {number}",
            MOST_DOUBT * (1 - claim.support.content_share) if claim.support.supported else DECISIVE,
            f"{quote(claim)} {claim.support.why}",
        )
        for number, claim in enumerate(response.claims, 1)
    ]
    return sorted(faults, key=lambda fault: -fault.size)


def relation(response: ResponseFeatures) -> Iterator[RuleFault]:
    """It shares words of the topic with the user; it is no echo, agreement or repetition."""
    if response.closeness < LEAST_CLOSENESS:
        yield RuleFault("topic", DECISIVE, OFF_TOPIC)
    else:
        size = MOST_DOUBT * max(0.0, 1 - response.closeness)
        words = "”, “".join(response.topic[:4])
        yield RuleFault("topic", size, f"shares “{words}” with the user. {SIDE_UNSEEN}")
    if response.repeated >= ECHO:
        yield RuleFault("repetition", DECISIVE, "the response says what the system said before")
    yield from response.for_the_user


def manner(response: ResponseFeatures) -> Iterator[RuleFault]:
    """Readable: not too long or short, with few fillers, repeated words and abstract nouns."""
    known = lexicon()
    length = response.length
    longest = max(response.sentences, key=lambda sentence: len(sentence.words.words))
    excess = len(longest.words.words) - LONG_SENTENCE
    fillers = len(known.paddings.findall(response.text))
    vague = len(known.vague.findall(response.text))
    nouns = len(_ABSTRACT_NOUN.findall(response.text)) / max(12, length)
    # A word may stand twice; each further time counts, by the share of all content words.
    counts: Counter[str] = Counter()
    for sentence in response.sentences:
        counts.update(sentence.words.senses[at] for at in sentence.words.matter)
    again = sum(count - 2 for count in counts.values() if count > 2) / max(8, counts.total())
    too_short = DECISIVE if length < FEWEST_WORDS else 0.0
    yield RuleFault("clear", 0.0, "clear and short")
    yield RuleFault("long", max(0, length - MOST_WORDS) / 30, f"it has {length} words")
    yield RuleFault("short", too_short, f"it has only {length} words")
    yield RuleFault("sentence", max(0, excess) / 20, f"{quote(longest)} is long")
    yield RuleFault("filler", 0.2 * fillers, f"it has {fillers} filler phrases")
    yield RuleFault("vague", 0.2 * vague if vague > 1 else 0.0, f"it has {vague} vague words")
    yield RuleFault("repetition", 4 * again, "it repeats its words")
    yield RuleFault(
        "nouns", 2 * max(0.0, nouns - ABSTRACT_NOUNS), "it is a chain of abstract nouns"
    )


RULES: Final[Mapping[str, Callable[[ResponseFeatures], Iterable[RuleFault]]]] = {
    "quantity": quantity,
    "quality": quality,
    "relation": relation,
    "manner": manner,
}
_SUM_FORMULA: Final = (
    f"{BEST_SCORE} minus all faults, at least {WORST_SCORE}; 0.5 and more means yes"
)
_WEAKEST_FORMULA: Final = (
    f"{BEST_SCORE} minus the fault of the weakest sentence; 0.5 and more means yes"
)


class GroundedJudge:
    """Four short rules: finds each sentence in the first two cited arguments, and counts words.

    It sees what the official annotators saw: the conversation up to the response, and the texts of
    the first two arguments.
    """

    class Options(plugins.Options):
        """There are no options."""

    def __init__(self, options: Options, services: Services) -> None:
        """Make the judge; it needs no service."""

    def judge(self, debate: Debate) -> Verdicts:
        """Judge the last response."""
        response = read_response(debate)
        if response is None:
            unanswered = Verdict(score=None, rationale="the last turn has no response")
            return dict.fromkeys(RULES, unanswered)
        if not response.sentences:
            return dict.fromkeys(
                RULES, Verdict(score=WORST_SCORE, rationale="the response is empty")
            )
        verdicts = {}
        for key, rule in RULES.items():
            faults = list(rule(response))
            sizes = [fault.size for fault in faults]
            score = BEST_SCORE - (max(sizes) if rule is quality else sum(sizes))
            worst = faults[0] if score >= LEAST_YES else max(faults, key=lambda fault: fault.size)
            score = round(max(WORST_SCORE, score), 4)
            verdicts[key] = Verdict(score=score, rationale=worst.reason)
        return verdicts

    def explain(self, debate: Debate) -> dict[str, ExplainedVerdict]:
        """Return the faults that decide each verdict on the last response."""
        response = read_response(debate)
        if response is None or not response.sentences:
            return {}
        explained = {}
        for key, rule in RULES.items():
            features = {
                fault.name: Feature(-round(fault.size, 4), phrase=fault.reason)
                for fault in rule(response)
            }
            formula = _WEAKEST_FORMULA if rule is quality else _SUM_FORMULA
            explained[key] = ExplainedVerdict(formula, features)
        return explained
