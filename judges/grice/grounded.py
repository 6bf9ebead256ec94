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
from touche_rad.evidence.words import lexicon, read_words
from touche_rad.plugins import ExplainedVerdict, Feature, Services
from touche_rad.text import clean

SEEN: Final = 2
"""Cited arguments whose texts the official annotators saw."""
LOOKED_BACK: Final = 6
"""Earlier turns that are read."""
BEST, WORST, YES = 0.95, 0.05, 0.5
"""Scores of a response without faults and with too many, and the least that means yes."""
NO: Final = 0.9
"""Size of a fault that makes the verdict no."""
DOUBT: Final = 0.4
"""Most that a support in other words costs."""
CLOSE: Final = 0.1
"""Least closeness of a response to the user's topic."""
OFF_TOPIC: Final = "the response has too few words of the topic"
SIDE: Final = "The judge cannot see the side of an argument."
FEW_NEW: Final = 2
"""New content words without which a response is a bare denial."""
SAME: Final = 0.8
"""Share of a sentence's words from which it repeats another."""
MOST_WORDS, LONG_SENTENCE, SHORTEST = 60, 40, 5
"""Words of a response and of a sentence."""
NOUNS: Final = 0.2
"""Share of abstract nouns from which a response is hard to read."""
QUOTE: Final = 70
"""Maximum letters of a sentence in a rationale."""

_LABEL: Final = re.compile(
    r"[\s*_#]*(?:(?:final |my )?(?:answer|reply|response)|assistant|system|debater)[\s*_]*:[\s*_]*",
    re.IGNORECASE,
)
"""A speaker's label before a response: "Answer: q" is judged as q."""
_LIST: Final = re.compile(
    r"\b(?:(first|second|third|fourth)(?:ly)?|finally|lastly|moreover|furthermore|additionally"
    r"|in addition|another (?:point|reason))\b"
)
_NOUN: Final = re.compile(
    r"\b\w{4,}(?:tion|ment|ity|ness|ism|ance|ence|ology|ship)s?\b|\b\w{5,}ities\b"
)


class Fault(NamedTuple):
    """What speaks against a yes: how much, and why. A part of size 0 only says why it is a yes."""

    name: str
    size: float
    reason: str


def quote(finding: Finding) -> str:
    """Quote a sentence on one line, shortened."""
    return f"“{shorten(finding.text[: 5 * QUOTE], QUOTE, placeholder=' …')}”"


@dataclass(frozen=True)
class Scene:
    """A response in its debate."""

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
    for_the_user: Sequence[Fault]
    """What makes the response speak for the user, as far as words show it."""


def read_scene(debate: Debate) -> Scene | None:
    """Read a debate that ends with the response; None if there is no response."""
    response = debate.last.response if debate.turns else None
    if response is None:
        return None
    content = clean(response.content)
    label = _LABEL.match(content)
    content = content[label.end() if label else 0 :]
    sources = [read_words(clean(argument.text)) for argument in response.arguments[:SEEN]]
    sentences = read_sentences(content, sources)
    claims = [one for one in sentences if one.claims]
    turns = debate.turns[-LOOKED_BACK - 1 :]
    users = [read_words(turn.utterance) for turn in turns]
    systems = [read_words(turn.response.content) for turn in turns[:-1] if turn.response]
    by_user = {sense for one in users for sense in one.senses}
    theirs = {one.senses[at] for one in (users[-1], read_words(debate.claim)) for at in one.content}
    used = [one.words for one in sentences]
    used += [sources[at] for at in sorted({one.source for one in claims if one.source is not None})]
    words = {one.senses[at]: one.words[at] for one in used for at in one.content}
    topic = [
        word for sense, word in words.items() if sense in by_user.union(theirs) - lexicon().generic
    ]
    own = {one.words.senses[at] for one in sentences for at in one.words.content}
    parts = [one.words for one in claims or sentences]
    special = [{one.senses[at] for at in one.content} for one in (*users, *sources)]
    related = theirs.union(*special) - lexicon().generic
    # Other talk does not make a repetition new.
    parts = [one for one in parts if any(one.senses[at] in related for at in one.content)] or parts
    return Scene(
        length=len(content.split()),
        text=read_words(content).joined,
        sentences=sentences,
        claims=claims,
        topic=topic,
        closeness=len(topic) / math.sqrt(max(1, len(own)) * max(1, len(theirs))),
        new=len({one.senses[at] for one in parts for at in one.matter} - by_user),
        repeated=repeated_share(parts, systems),
        for_the_user=list(speaks_for_the_user(sentences, repeated_share(parts, users))),
    )


def speaks_for_the_user(sentences: Sequence[Finding], echo: float) -> Iterator[Fault]:
    """Yield an echo, an agreement and a contrary of an argument; `echo` is the user's share."""
    known = lexicon()
    if echo >= ECHO:
        yield Fault("echo", NO, "the response says what the user said")
    for one in sentences:
        support, text = one.support, one.words.joined
        if support.quoted:
            continue
        if support.denies and support.share >= NEAR:
            yield Fault("contrary", NO, f"{quote(one)} {support.why}")
            return
        agrees = known.surrenders.match(text) or known.concessions.search(text)
        if agrees and known.reversals.isdisjoint(text[agrees.end() :].split()):
            yield Fault("agreement", NO, f"{quote(one)} agrees with the user")
            return


def quantity(scene: Scene) -> Iterator[Fault]:
    """One thesis or attack: not a list, not a bare denial, not a repetition."""
    first = quote((scene.claims or scene.sentences)[0])
    yield Fault("point", 0.0, f"one point: {first}")
    if not scene.claims or scene.new < FEW_NEW:
        yield Fault("denial", NO, f"{first} gives no reason")
    marks = [match.group() for match in _LIST.finditer(scene.text)]
    if len(marks) > 1:
        yield Fault("list", NO, f"“{marks[0]}” and “{marks[1]}” mark a list")
    if len({one.source for one in scene.claims if one.source is not None}) > 1:
        yield Fault("arguments", NO, "the response uses two arguments")
    for at, one in enumerate(scene.sentences):
        before = [other.words for other in scene.sentences[:at]]
        if len(one.words.words) >= SHORTEST and repeated_share([one.words], before) >= SAME:
            yield Fault("repetition", NO, f"{quote(one)} repeats a sentence before it")
            break
    if not scene.topic:
        yield Fault("topic", NO, OFF_TOPIC)
    yield from scene.for_the_user


def quality(scene: Scene) -> Sequence[Fault]:
    """Each sentence that claims something is found in one of the first two cited arguments."""
    if not scene.claims:
        return [Fault("claims", NO, "the response claims nothing that an argument could support")]
    faults = [
        Fault(
            f"sentence {number}",
            DOUBT * (1 - one.support.told) if one.support.supported else NO,
            f"{quote(one)} {one.support.why}",
        )
        for number, one in enumerate(scene.claims, 1)
    ]
    return sorted(faults, key=lambda fault: -fault.size)


def relation(scene: Scene) -> Iterator[Fault]:
    """It shares words of the topic with the user; it is no echo, agreement or repetition."""
    words = "”, “".join(scene.topic[:4])
    if scene.closeness < CLOSE:
        yield Fault("topic", NO, OFF_TOPIC)
    else:
        size = DOUBT * max(0.0, 1 - scene.closeness)
        yield Fault("topic", size, f"shares “{words}” with the user. {SIDE}")
    if scene.repeated >= ECHO:
        yield Fault("repetition", NO, "the response says what the system said before")
    yield from scene.for_the_user


def manner(scene: Scene) -> Iterator[Fault]:
    """Readable: not too long or short, with few fillers, repeated words and abstract nouns."""
    known, text = lexicon(), scene.text
    longest = max(scene.sentences, key=lambda one: len(one.words.words))
    size = len(longest.words.words)
    fillers, vague = len(known.paddings.findall(text)), len(known.vague.findall(text))
    nouns = len(_NOUN.findall(text)) / max(12, scene.length)
    counts = Counter(one.words.senses[at] for one in scene.sentences for at in one.words.matter)
    again = sum(count - 2 for count in counts.values() if count > 2) / max(8, counts.total())
    yield Fault("clear", 0.0, "clear and short")
    yield Fault("long", max(0, scene.length - MOST_WORDS) / 30, f"it has {scene.length} words")
    yield Fault("short", NO * (scene.length < SHORTEST), f"it has only {scene.length} words")
    yield Fault("sentence", max(0, size - LONG_SENTENCE) / 20, f"{quote(longest)} is long")
    yield Fault("filler", 0.2 * fillers, f"it has {fillers} filler phrases")
    yield Fault("vague", 0.2 * vague * (vague > 1), f"it has {vague} vague words")
    yield Fault("repetition", 4 * again, "it repeats its words")
    yield Fault("nouns", 2 * max(0.0, nouns - NOUNS), "it is a chain of abstract nouns")


RULES: Final[Mapping[str, Callable[[Scene], Iterable[Fault]]]] = {
    "quantity": quantity,
    "quality": quality,
    "relation": relation,
    "manner": manner,
}
_SUM = f"{BEST} minus all faults, at least {WORST}; 0.5 and more means yes"
_WEAKEST = f"{BEST} minus the fault of the weakest sentence; 0.5 and more means yes"


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
        scene = read_scene(debate)
        if scene is None:
            unanswered = Verdict(score=None, rationale="the last turn has no response")
            return dict.fromkeys(RULES, unanswered)
        if not scene.sentences:
            return dict.fromkeys(RULES, Verdict(score=WORST, rationale="the response is empty"))
        verdicts = {}
        for key, rule in RULES.items():
            faults = list(rule(scene))
            sizes = [fault.size for fault in faults]
            score = BEST - (max(sizes) if rule is quality else sum(sizes))
            worst = faults[0] if score >= YES else max(faults, key=lambda fault: fault.size)
            score = round(max(WORST, score), 4)
            verdicts[key] = Verdict(score=score, rationale=worst.reason)
        return verdicts

    def explain(self, debate: Debate) -> dict[str, ExplainedVerdict]:
        """Return the faults that decide each verdict on the last response."""
        scene = read_scene(debate)
        if scene is None or not scene.sentences:
            return {}
        explained = {}
        for key, rule in RULES.items():
            features = {
                fault.name: Feature(-round(fault.size, 4), phrase=fault.reason)
                for fault in rule(scene)
            }
            text = _WEAKEST if rule is quality else _SUM
            explained[key] = ExplainedVerdict(text, features)
        return explained
