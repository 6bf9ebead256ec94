"""The judge `grounded`: four short rules, without a model. docs/methods.md describes them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import ClassVar, Final, NamedTuple

from touche_rad import plugins
from touche_rad.debate import Argument, Debate, Response, Verdict, Verdicts
from touche_rad.evidence.support import (
    ECHO,
    NEAR,
    Finding,
    read_sentences,
    repeated_share,
)
from touche_rad.evidence.words import (
    NO_WORDS,
    Words,
    common_topic,
    lexicon,
    read_words,
    topical_words,
)
from touche_rad.frozen import frozen
from touche_rad.plugins import ArgumentIndex, Services, arguments_by
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
LEAST_CLOSENESS: Final = 0.09
"""Least closeness of a response to the user's topic."""
OFF_TOPIC: Final = "the response has too few words of the topic (compared by words, not by meaning)"
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

    size: float
    reason: str


def quote(finding: Finding) -> str:
    """Quote a sentence on one line, shortened."""
    # shorten() reads the whole text, and a sentence may be as long as the response.
    return f"“{shorten(finding.text[: 5 * QUOTE_LETTERS], QUOTE_LETTERS, placeholder=' …')}”"


def content_senses(words: Words) -> set[str]:
    """Return the senses of the content words."""
    return {words.senses[at] for at in words.content}


@frozen
class ResponseFeatures:
    """What the rules see of a response in its debate."""

    length: int
    text: str
    """Its words."""
    sentences: Sequence[Finding]
    claims: Sequence[Finding]
    """The sentences that claim something."""
    admits: bool
    """Whether it only says that it has found no argument."""
    looked_up: bool
    """Whether an index was given to look up the citations."""
    topic: Sequence[str]
    """Topic words that the claims, or an argument they use, share with the message and the thesis;
    none if they may be common by chance."""
    closeness: float
    """Their number, divided by the root of the numbers of topic words on both sides."""
    new: int
    """Content words of the claims that the user has not used."""
    repeated: float
    """Share of the response that the system said before."""
    for_the_user: Sequence[RuleFault]
    """What makes the response speak for the user, as far as words show it."""


def read_citations(response: Response, index: ArgumentIndex | None) -> Sequence[Argument]:
    """Return the first cited arguments; with an index only those that it has, as it has them."""
    cited = response.arguments[:SHOWN_ARGUMENTS]
    if index is None:
        return cited
    stored = arguments_by(index, [argument.id for argument in cited])
    texts = {clean(argument.text) for argument in cited}
    return [argument for argument in stored if argument and clean(argument.text) in texts]


def read_response(debate: Debate, index: ArgumentIndex | None) -> ResponseFeatures | None:
    """Read a debate that ends with the response; None if there is no response.

    With an index, a cited argument that it does not have supports nothing.
    """
    response = debate.last.response if debate.turns else None
    if not response:
        return None
    content = _LABEL.sub("", clean(response.content))
    cited = read_citations(response, index)
    sources = [read_words(clean(argument.text)) for argument in cited]
    turns = debate.turns[-EARLIER_TURNS - 1 :]
    users = [read_words(turn.utterance) for turn in turns]
    spoken = [debate.thesis, *(turn.utterance for turn in turns)]
    sentences = read_sentences(content, sources, spoken)
    claims = [sentence for sentence in sentences if sentence.claims]
    systems = [read_words(turn.response.content) for turn in turns[:-1] if turn.response]

    # The topic is what the claims, and the arguments that they use, share with the user and the
    # thesis. A question claims nothing, so its words are no topic. The arguments of the index say
    # what their topic is called; without them, each word of the user may name it.
    asked_words = topical_words(users[-1]) | topical_words(read_words(debate.thesis))
    user_words = asked_words.keys() | set().union(*map(topical_words, users))
    claimed_words: dict[str, str] = {}
    # A bare denial claims nothing new, and may still be on the topic.
    for claim in claims or [part for part in sentences if not part.text.endswith("?")]:
        claimed_words |= topical_words(claim.words)
    used_words = dict(claimed_words)
    names = user_words if index is None else NO_WORDS
    for number in sorted({claim.source for claim in claims if claim.source is not None}):
        used_words |= topical_words(sources[number])
        if index is not None:
            argument = cited[number]
            claimed = f"{argument.topic} {argument.attacks} {argument.supports}"
            used_words |= topical_words(read_words(clean(claimed)))
    shared = common_topic(user_words, used_words.keys(), names=names)
    topic = [word for stem, word in (used_words | claimed_words).items() if stem in shared]
    by_user = set().union(*(message.senses for message in users))
    asked = content_senses(users[-1]) | content_senses(read_words(debate.thesis))

    # Other talk does not make a repetition new: sentences off the topic count only alone.
    related = asked.union(*map(content_senses, (*users, *sources))) - lexicon().generic
    parts = [sentence.words for sentence in claims or sentences]
    parts = [words for words in parts if not related.isdisjoint(content_senses(words))] or parts
    new = {words.senses[at] for words in parts for at in words.matter} - by_user
    return ResponseFeatures(
        length=len(content.split()),
        text=read_words(content).joined,
        sentences=sentences,
        claims=claims,
        admits=not claims and any(sentence.admits for sentence in sentences),
        looked_up=index is not None,
        topic=topic,
        closeness=len(topic) / math.sqrt(max(1, len(claimed_words)) * max(1, len(asked_words))),
        new=len(new),
        repeated=repeated_share(parts, systems),
        for_the_user=list(speaks_for_the_user(sentences, repeated_share(parts, users))),
    )


def speaks_for_the_user(sentences: Sequence[Finding], echo: float) -> Iterator[RuleFault]:
    """Yield an echo, an agreement and a contrary of an argument; `echo` is the user's share."""
    known = lexicon()
    if echo >= ECHO:
        yield RuleFault(DECISIVE, "the response says what the user said")
    for sentence in sentences:
        support = sentence.support
        if support.denies and support.share >= NEAR:
            yield RuleFault(DECISIVE, f"{quote(sentence)} {support.why}")
            return
        # What is quoted of an argument agrees with nobody.
        text = sentence.opening
        if not support.quoted:
            text = f"{text} {sentence.words.joined}".strip()
        agrees = known.surrenders.match(text) or known.concessions.search(text)
        # "You are right, but ..." takes the agreement back.
        if agrees and known.reversals.isdisjoint(text[agrees.end() :].split()):
            yield RuleFault(DECISIVE, f"{quote(sentence)} agrees with the user")
            return


def quantity(response: ResponseFeatures) -> Iterator[RuleFault]:
    """One thesis or attack: not a list, not a bare denial, not a repetition."""
    first = quote((response.claims or response.sentences)[0])
    yield RuleFault(0.0, f"one point: {first}")
    if not response.claims or response.new < LEAST_NEW_WORDS:
        yield RuleFault(DECISIVE, f"{first} gives no reason")
    marks = [match.group() for match in _LIST_MARK.finditer(response.text)]
    if len(marks) > 1:
        yield RuleFault(DECISIVE, f"“{marks[0]}” and “{marks[1]}” mark a list")
    if len({claim.source for claim in response.claims if claim.source is not None}) > 1:
        yield RuleFault(DECISIVE, "the response uses two arguments")
    earlier: list[Words] = []
    for sentence in response.sentences:
        words = sentence.words
        if len(words.words) >= FEWEST_WORDS and repeated_share([words], earlier) >= SAME_SENTENCE:
            yield RuleFault(DECISIVE, f"{quote(sentence)} repeats a sentence before it")
            break
        earlier.append(words)
    if not response.topic:
        yield RuleFault(DECISIVE, OFF_TOPIC)
    yield from response.for_the_user


def quality(response: ResponseFeatures) -> Sequence[RuleFault]:
    """Each sentence that claims something is found in one of the first two cited arguments.

    A response without a claim is a no, also if it only says that no argument was found.
    """
    if not response.claims:
        return [RuleFault(DECISIVE, "makes no claim, so it follows from no argument")]
    faults = []
    for claim in response.claims:
        support = claim.support
        size = MOST_DOUBT * (1 - support.content_share) if support.supported else DECISIVE
        reason = f"{quote(claim)} {support.why}"
        if support.quoted and claim.opening:
            reason += f" after “{claim.opening.capitalize()}”"
        if support.supported and not response.looked_up:
            reason += ". Without an index (-i), the judge cannot check that the argument exists."
        faults.append(RuleFault(size, reason))
    return sorted(faults, key=lambda fault: -fault.size)


def relation(response: ResponseFeatures) -> Iterator[RuleFault]:
    """It shares words of the topic with the user; it is no echo, agreement or repetition."""
    if response.admits:
        yield RuleFault(DECISIVE, "the response has no argument against the user")
    elif response.closeness < LEAST_CLOSENESS:
        yield RuleFault(DECISIVE, OFF_TOPIC)
    else:
        size = MOST_DOUBT * max(0.0, 1 - response.closeness)
        # Words of the answer are named, if it shares some itself.
        said = [word for word in response.topic if word in response.text.split()]
        shares = "shares" if said else "its argument, or what that is about, shares"
        words = "”, “".join((said or response.topic)[:4])
        yield RuleFault(
            size,
            f"{shares} “{words}” (in any form) with the claim or the user's messages. "
            "The judge cannot see the side of an argument.",
        )
    if response.repeated >= ECHO:
        yield RuleFault(DECISIVE, "the response says what the system said before")
    yield from response.for_the_user


def manner(response: ResponseFeatures) -> Iterator[RuleFault]:
    """Readable: not too long or short, with few fillers, repeated words and abstract nouns."""
    known = lexicon()
    length = response.length
    longest = max(response.sentences, key=lambda sentence: len(sentence.words.words))
    fillers = len(known.paddings.findall(response.text))
    vague = len(known.vague.findall(response.text))
    nouns = len(_ABSTRACT_NOUN.findall(response.text)) / max(12, length)
    # A word may stand twice; each further time counts, by the share of all content words.
    counts: Counter[str] = Counter()
    for sentence in response.sentences:
        counts.update(sentence.words.senses[at] for at in sentence.words.matter)
    again = sum(count - 2 for count in counts.values() if count > 2) / max(8, counts.total())
    yield RuleFault(0.0, "clear and short")
    yield RuleFault(
        max(0, length - MOST_WORDS) / 30, f"it has {length} words, more than {MOST_WORDS}"
    )
    yield RuleFault(DECISIVE if length < FEWEST_WORDS else 0.0, f"it has only {length} words")
    yield RuleFault(
        max(0, len(longest.words.words) - LONG_SENTENCE) / 20, f"{quote(longest)} is long"
    )
    yield RuleFault(0.2 * fillers, f"it has {fillers} filler phrases")
    yield RuleFault(0.2 * vague if vague > 1 else 0.0, f"it has {vague} vague words")
    yield RuleFault(4 * again, "it repeats its words")
    yield RuleFault(2 * max(0.0, nouns - ABSTRACT_NOUNS), "it is a chain of abstract nouns")


RULES: Final[Mapping[str, Callable[[ResponseFeatures], Iterable[RuleFault]]]] = {
    "quantity": quantity,
    "quality": quality,
    "relation": relation,
    "manner": manner,
}


@frozen
class GroundedJudge:
    """Four short rules: finds each sentence in the first two cited arguments, and counts words.

    It sees what the official annotators saw: the conversation up to the response, and the texts of
    the first two arguments.
    """

    uses: ClassVar = ("index",)

    class Options(plugins.Options):
        """There are no options."""

    options: Options
    services: Services

    def judge(self, debate: Debate) -> Verdicts:
        """Judge the last response."""
        response = read_response(debate, self.services.index)
        if not response:
            return dict.fromkeys(RULES, Verdict(rationale="the last turn has no response"))
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
