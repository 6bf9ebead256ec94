"""Relation: does the response answer this user, and argue against the last message?"""

from __future__ import annotations

import math
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from operator import mul

from judges.grice.grounded.links import echoes, link, matter, merged, tie, weight, worth
from judges.grice.grounded.quality import Finding
from judges.grice.grounded.scene import Scene, Sentence, nothing_said
from judges.grice.grounded.scoring import Cue, short, weighed
from touche_rad.debate import Verdict
from touche_rad.evidence.alignment import align
from touche_rad.evidence.quotation import starts, unpadded
from touche_rad.evidence.support import Manner, coverage
from touche_rad.evidence.words import Passage, Token, lexicon, root, stem


def kinship(one: frozenset[str], other: frozenset[str]) -> float:
    """How alike the fields of two sets of senses are, in 0..1; 0 where either has none."""
    ours, theirs = _fields(one), _fields(other)
    shared = sum(much * theirs.get(field, 0.0) for field, much in ours.items())
    return shared / max(1e-9, _length(ours) * _length(theirs))


def _fields(senses: frozenset[str]) -> Mapping[str, float]:
    """How much of each field there is: a word of many fields says less of each."""
    known, found = _by_sense(), defaultdict[str, float](float)
    for sense in senses:
        fields = known.get(sense, frozenset())
        for field in fields:
            found[field] += worth(sense) / len(fields)
    return found


def _length(fields: Mapping[str, float]) -> float:
    return math.sqrt(sum(much * much for much in fields.values()))


@cache
def _by_sense() -> Mapping[str, frozenset[str]]:
    read = tomllib.loads(files(__package__).joinpath("fields.toml").read_text("utf-8"))
    found = defaultdict[str, set[str]](set)
    for field, words in read.items():
        for word in words.split():
            found[root(lexicon().sense(stem(word)))].add(field)
    return {sense: frozenset(fields) for sense, fields in found.items()}


LOOKED_BACK = 12
"""How many of the system's earlier answers are looked at."""
_ASKS_AGAIN = re.compile(
    r"\b(?:(?:say|tell|explain|repeat|put|state) (?:\w+ ){0,3}(?:again|once more|differently)"
    r"|(?:please|could you|can you|would you) (?:repeat|explain|clarify|sum)|remind me"
    r"|what (?:did|do|were) you (?:say|saying|mean)|run (?:that|it) by me|i (?:have )?forg[oe]t\w*"
    r"|what (?:was|is) (?:that|your (?:point|argument|reason))"
    r"|i (?:did|could|do) not (?:catch|hear|follow|get|understand) (?:that|you|it|what)"
    r"|sorry i was|i was (?:distracted|not listening)|come again|pardon"
    r"|in (?:one|a|a single|plain) (?:sentence|word|words|nutshell)|in short|once more please)\b"
)


def asked_again(user: Passage) -> bool:
    """Whether the user wants to hear again what was said."""
    return bool(_ASKS_AGAIN.search(user.joined))


def said_again(sentences: Sequence[Passage], earlier: Sequence[Passage]) -> float:
    """How much of what is said one earlier answer has said already, in the same sense: 0..1."""
    return max((_said(sentences, answer) for answer in earlier[-LOOKED_BACK:]), default=0.0)


def heard(sentences: Sequence[Passage], own: Sequence[Passage], users: Sequence[Passage]) -> float:
    """How much of what is said the system has said, or the user in the same sense: 0..1."""
    ours = _words(own)
    return _shared(
        sentences,
        [
            max(coverage(one.tokens, ours), *(echoes([one], user) for user in users))
            for one in sentences
        ],
    )


def _words(passages: Sequence[Passage]) -> tuple[Token, ...]:
    return tuple(token for passage in passages for token in passage.tokens)


def _shared(sentences: Sequence[Passage], shares: Sequence[float]) -> float:
    lengths = [sum(token.matters for token in one.tokens) for one in sentences]
    total = sum(lengths)
    return sum(map(mul, lengths, shares)) / total if total else 0.0


def _said(sentences: Sequence[Passage], answer: Passage) -> float:
    matter = [unpadded(one.tokens[starts(one.tokens)[-1] :]) for one in sentences]
    lengths = [sum(token.matters for token in tokens) for tokens in matter]
    total = sum(lengths)
    covered = (
        length * coverage(tokens, answer.tokens)
        for tokens, length in zip(matter, lengths, strict=True)
        if not align(tokens, answer.tokens).turned()
    )
    return sum(covered) / total if total else 0.0


ECHO = 0.7
"""From this share of the user's own words on, a response says what the user said."""
HALF = 0.5
HEARD = 0.65
"""From this share of what was said before on, a response begins to be nothing else."""
_STEP = 0.2
KIN = 0.03
"""From this likeness of fields on, a matter without a common word is still the same."""
MIRRORED = 0.45
"""By so much the share of the user's words must exceed that of the sources' in a mere mirror."""
BRIEF = 12
"""A response of at most so many words of matter must share one with what it cites."""
MAX_SENTENCES = 20
_OPENING = 14
"""How many words of a sentence may hold the giving in with which it opens."""
_LONGEST = 60


def verdict(scene: Scene, found: Sequence[Finding], weights: Mapping[str, float]) -> Verdict:
    """Weigh what ties the response to the user's last message, and what gives in to it."""
    if not scene.response.tokens:
        return Verdict(score=0.02, rationale=nothing_said(scene))
    return weighed(cues(scene, found), weights, "little links it to what the user said last")


def cues(scene: Scene, found: Sequence[Finding]) -> list[Cue]:
    """What was seen, each in 0..1."""
    said, users = _brought(scene, found), merged((scene.claim, scene.user, *scene.users_before))
    target, given_in = tie(merged(scene.targets), users), surrender(scene, found)
    shared = ", ".join(sorted(matter(scene.response) & users - lexicon().generic)[:4])
    opening = short(scene.sentences[0].text)
    on_it = f"on the matter: {shared}" if shared else "on the matter"
    return [
        Cue("topic", max(tie(said, users), asked_for(scene)), f"{opening} is {on_it}"),
        Cue("fields", kinship(said, users), f"{opening} is of the matter's fields"),
        Cue("target", target, "what it cites attacks what the user says"),
        Cue("untold", float(not scene.targets), "nothing is told of what it attacks"),
        Cue("adrift", adrift(scene, said), f"{opening} stays with what the user has left"),
        Cue("echo", echo(scene), f"{opening} repeats the user's words"),
        Cue("unsourced", unsourced(scene), f"{opening} has its words from no source"),
        Cue("again", again(scene), f"{opening} was said before"),
        Cue("turned", min(1.0, turned(found) / HALF), f"{opening} turns what it cites around"),
        Cue("surrender", float(given_in is not None), f"{short(given_in or '')} gives in"),
    ]


def _brought(scene: Scene, found: Sequence[Finding]) -> frozenset[str]:
    """The matter of what is said, of what it rests on, and of what that attacks."""
    return merged((scene.response, *scene.targets, *_rested_on(scene, found)))


def adrift(scene: Scene, said: frozenset[str]) -> float:
    """Whether the user has turned to a matter of which nothing was said, and is not followed."""
    last = matter(scene.user)
    before = merged((scene.claim, *scene.users_before, *scene.systems_before))
    turned_away = bool(scene.users_before) and weight(last) >= 1 > weight(last & before)
    turned_away = turned_away and not asked_again(scene.user)
    return float(turned_away and weight(last & said) < 1 and kinship(last, said) < KIN)


def on_topic(scene: Scene, found: Sequence[Finding]) -> float:
    """How firmly what is said and what it rests on are tied to what the user has said at all."""
    return link(_brought(scene, found), merged((scene.claim, scene.user, *scene.users_before)))


def _rested_on(scene: Scene, found: Sequence[Finding]) -> Iterator[Passage]:
    """The sources that carry at least half of a sentence: they say more of what it is about."""
    for at in {one.source for one in found if one.support.covered >= HALF}:
        if at is not None:
            yield scene.sources[at]


def again(scene: Scene) -> float:
    """How far it was said before, by the system or between them; 0 where the user asks for it.

    An answer that brings nothing but what was said says nothing against the user's last message.
    """
    if asked_again(scene.user):
        return 0.0
    said = of_matter(scene)
    own = (*scene.systems_before[-LOOKED_BACK:], *scene.cited_before[-LOOKED_BACK:])
    users = (scene.user, *scene.users_before[-LOOKED_BACK:])
    share = max(said_again(said, scene.systems_before), heard(said, own, users))
    return min(1.0, max(0.0, share - HEARD) / _STEP)


def of_matter(scene: Scene) -> list[Passage]:
    """The sentences that share a telling word with the user, the claim or a source, if any do.

    Talk beside them makes nothing new of what was said before.
    """
    said = [one.read for one in scene.sentences[:MAX_SENTENCES]]
    spoken = merged((scene.claim, scene.user, *scene.users_before, *scene.sources))
    return [one for one in said if weight(matter(one) & spoken) >= 1] or said


def asked_for(scene: Scene) -> float:
    """How far it says again what the user asks to hear again: that is an answer to the user."""
    said = [one.read for one in scene.sentences[:MAX_SENTENCES]]
    return said_again(said, scene.systems_before) if asked_again(scene.user) else 0.0


def turned(found: Sequence[Finding]) -> float:
    """How much of what is claimed is the contrary of the argument it is taken from.

    The argument was cited against the user, so its contrary speaks for the user.
    """
    total = sum(len(one.sentence.read.tokens) for one in found)
    contrary = sum(len(one.sentence.read.tokens) for one in found if one.support.contrary)
    return contrary / total if total else 0.0


def echo(scene: Scene) -> float:
    """How far the response is the user's own words: 0 below `ECHO`, from there on 0.5 to 1."""
    said = of_matter(scene)
    heard = max(echoes(said, user) for user in (scene.user, *scene.users_before))
    return 0.0 if heard < ECHO else 0.5 + 0.5 * (heard - ECHO) / (1 - ECHO)


def unsourced(scene: Scene) -> float:
    """Whether the response is made of what the user said, or of nothing that it cites.

    So are answers that grant the user's point in the user's words, plays on those words, and talk.
    """
    said, sources = merged(of_matter(scene)), merged(scene.sources)
    users = merged((scene.claim, scene.user, *scene.users_before))
    theirs, cited = weight(said & users - sources), weight(said & sources)
    mirrored = theirs - cited > MIRRORED * weight(said)
    return float(bool(scene.sources) and (mirrored or (not cited and len(said) <= BRIEF)))


def surrender(scene: Scene, found: Sequence[Finding]) -> str | None:
    """The sentence that gives in to the user and takes nothing back, if there is one."""
    quoted = {id(finding.sentence) for finding in found if finding.support.manner is Manner.QUOTED}
    for at, sentence in enumerate(scene.sentences):
        if id(sentence) not in quoted and _gives_in(sentence, scene.sentences[at + 1 : at + 2]):
            return sentence.text
    return None


def _gives_in(sentence: Sentence, following: Sequence[Sentence]) -> bool:
    words = [token.word for token in sentence.read.tokens]
    known = lexicon()
    given = known.surrenders.match(" ".join(words[:_OPENING]))
    given = given or known.concessions.search(" ".join(words[:_LONGEST]))
    if not given:
        return False
    rest = words[len(given.string[: given.end()].split()) :]
    next_words = [token.word for one in following for token in one.read.tokens[:2]]
    return not known.reversals.intersection((*rest, *next_words))
