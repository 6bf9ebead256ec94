"""Relation: does the response answer this user, and argue against the last message?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import mul

from judges.grice.grounded.scene import EMPTY, Feature, Scene, quote_short, weighted_verdict
from touche_rad.debate import Verdict
from touche_rad.evidence.alignment import align
from touche_rad.evidence.findings import Finding
from touche_rad.evidence.repetition import (
    ECHO,
    Quotation,
    content_starts,
    echo_share,
    echoed,
    find_quotation,
    quotation_start,
    without_padding,
)
from touche_rad.evidence.support import SupportKind
from touche_rad.evidence.words import Passage, Token, coverage, join_words, lexicon, root

GENERIC = 0.2
"""Weight of a shared word that is in every debate."""
BROAD = 0.4
"""Weight of a shared word that is in many debates."""


def content_senses(passage: Passage) -> frozenset[str]:
    """Return the senses of the content words; boxer and boxing have the same sense."""
    known = lexicon()
    return frozenset(root(known.sense(token.stem)) for token in passage.tokens if token.matters)


def all_senses(passages: Iterable[Passage]) -> frozenset[str]:
    """Return the senses of all passages."""
    return frozenset().union(*map(content_senses, passages))


def total_weight(senses: Iterable[str]) -> float:
    """Return the weight of a set of shared senses."""
    return sum(map(sense_weight, senses))


def sense_weight(sense: str) -> float:
    """Return the weight of one shared sense."""
    known = lexicon()
    if sense in known.generic:
        return GENERIC
    return BROAD if sense in known.broad else 1.0


def link_strength(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the strength of shared words from 0 to 1; two rare words give about .63."""
    return 1 - math.exp(-total_weight(one & other) / 2)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how much two passages share relative to their lengths, from 0 to 1.

    Long passages share words by chance, so the weight is divided by the lengths.
    """
    sizes = max(1.0, total_weight(one)) * max(1.0, total_weight(other))
    return min(1.0, math.sqrt(total_weight(one & other) / math.sqrt(sizes)))


LOOKED_BACK = 12
"""Earlier responses of the system that are compared."""
_ASKS_AGAIN = re.compile(
    r"\b(?:(?:say|tell|explain|repeat|put|state) (?:\w+ ){0,3}(?:again|once more|differently)"
    r"|(?:please|could you|can you|would you) (?:repeat|explain|clarify|sum)|remind me"
    r"|what (?:did|do|were) you (?:say|saying|mean)|run (?:that|it) by me|i (?:have )?forg[oe]t\w*"
    r"|what (?:was|is) (?:that|your (?:point|argument|reason))"
    r"|i (?:did|could|do) not (?:catch|hear|follow|get|understand) (?:that|you|it|what)"
    r"|sorry i was|i was (?:distracted|not listening)|come again|pardon"
    r"|in (?:one|a|a single|plain) (?:sentence|word|words|nutshell)|in short|once more please)\b"
)


def asks_to_repeat(user: Passage) -> bool:
    """Whether the user asks to hear something again."""
    return bool(_ASKS_AGAIN.search(user.joined))


def repeated_share(sentences: Sequence[Passage], earlier: Sequence[Passage]) -> float:
    """Return the share of the sentences that one earlier response said with the same meaning."""
    return max((_said(sentences, answer) for answer in earlier[-LOOKED_BACK:]), default=0.0)


def known_share(
    sentences: Sequence[Passage], own: Sequence[Passage], users: Sequence[Passage]
) -> float:
    """Return the share that the system said, or the user with the same meaning."""
    ours = _words(own)
    return _shared(
        sentences,
        [
            max(coverage(one.tokens, ours), *(echoed(one, user) for user in users))
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
    matter = [without_padding(one.tokens[content_starts(one.tokens)[-1] :]) for one in sentences]
    lengths = [sum(token.matters for token in tokens) for tokens in matter]
    total = sum(lengths)
    covered = (
        length * coverage(tokens, answer.tokens)
        for tokens, length in zip(matter, lengths, strict=True)
        if not align(tokens, answer.tokens).turned()
    )
    return sum(covered) / total if total else 0.0


HALF = 0.5
HEARD = 0.65
"""Share of earlier content from which a response counts as repetition."""
_STEP = 0.2
MIRRORED = 0.45
"""Excess of the user's words over the sources' words in a mere echo."""
BRIEF = 12
"""Responses of at most this many content words must share one with a source."""
MAX_SENTENCES = 20
_OPENING = 14
"""Words at the beginning of a sentence in which a concession is searched."""
_LONGEST = 60


def judge_relation(scene: Scene, found: Sequence[Finding], weights: Mapping[str, float]) -> Verdict:
    """Score whether the response answers the user; it cannot see on which side it argues."""
    if not scene.response.tokens:
        return EMPTY
    features = relation_features(scene, found)
    verdict = weighted_verdict(
        features, weights, "it has little to do with the user's last message"
    )
    if not verdict.yes:
        return verdict
    return verdict.model_copy(update={"rationale": f"{verdict.rationale}; the side is not checked"})


def relation_features(scene: Scene, found: Sequence[Finding]) -> list[Feature]:
    """Return the features, each from 0 to 1."""
    said, users = _brought(scene, found), all_senses((scene.claim, scene.user, *scene.users_before))
    given_in = conceding_sentence(scene, found)
    shared = ", ".join(_shared_words(scene, users)[:4])
    opening = quote_short(scene.sentences[0].text)
    on_topic = f"on the user's topic: {shared}" if shared else "on the user's topic"
    return [
        Feature(
            "topic",
            max(overlap(said, users), answers_repeat_request(scene)),
            f"{opening} is {on_topic}",
        ),
        Feature(
            "adrift",
            ignores_new_topic(scene, said),
            f"{opening} does not follow the user to the new topic",
        ),
        Feature("echo", echo_score(scene), f"{opening} repeats the user's words"),
        Feature(
            "unsourced", lacks_sources(scene), f"{opening} shares no words with the cited arguments"
        ),
        Feature("again", repeats_earlier(scene), f"{opening} repeats an earlier response"),
        Feature(
            "turned",
            min(1.0, contrary_share(found) / HALF),
            f"{opening} says the opposite of a cited argument",
        ),
        Feature(
            "surrender",
            float(given_in is not None),
            f"{quote_short(given_in or '')} agrees with the user",
        ),
    ]


def _shared_words(scene: Scene, users: frozenset[str]) -> list[str]:
    """Return words of the response that have a sense in common with the user's words."""
    known = lexicon()
    shared: dict[str, str] = {}
    for token in scene.response.tokens:
        sense = root(known.sense(token.stem)) if token.matters else ""
        if sense in users and sense not in known.generic:
            shared.setdefault(sense, token.word)
    return sorted(shared.values())


def _brought(scene: Scene, found: Sequence[Finding]) -> frozenset[str]:
    """Return the senses of the response and of its sources."""
    return all_senses((scene.response, *_rested_on(scene, found)))


def ignores_new_topic(scene: Scene, said: frozenset[str]) -> float:
    """Whether the user changed the topic and the response does not follow."""
    last = content_senses(scene.user)
    before = all_senses((scene.claim, *scene.users_before, *scene.systems_before))
    turned_away = bool(scene.users_before) and total_weight(last) >= 1 > total_weight(last & before)
    turned_away = turned_away and not asks_to_repeat(scene.user)
    return float(turned_away and total_weight(last & said) < 1)


def topic_strength(scene: Scene, found: Sequence[Finding]) -> float:
    """Return how strongly the response and its sources relate to the user's messages."""
    return link_strength(
        _brought(scene, found), all_senses((scene.claim, scene.user, *scene.users_before))
    )


def _rested_on(scene: Scene, found: Sequence[Finding]) -> Iterator[Passage]:
    """Yield the sources that support at least half of a sentence."""
    for at in {one.source for one in found if one.support.covered >= HALF}:
        if at is not None:
            yield scene.sources[at]


def repeats_earlier(scene: Scene) -> float:
    """Return how far the response repeats earlier messages; 0 if the user asks for it.

    A response with nothing new says nothing against the user's last message.
    """
    if asks_to_repeat(scene.user):
        return 0.0
    said = on_topic_sentences(scene)
    own = (*scene.systems_before[-LOOKED_BACK:], *scene.cited_before[-LOOKED_BACK:])
    users = (scene.user, *scene.users_before[-LOOKED_BACK:])
    share = max(repeated_share(said, scene.systems_before), known_share(said, own, users))
    return min(1.0, max(0.0, share - HEARD) / _STEP)


def on_topic_sentences(scene: Scene) -> list[Passage]:
    """Return the sentences that share a specific word with the user, the claim or a source.

    If there are none, return all sentences. Other talk does not make a repetition new.
    """
    said = [one.passage for one in scene.sentences[:MAX_SENTENCES]]
    spoken = all_senses((scene.claim, scene.user, *scene.users_before, *scene.sources))
    return [one for one in said if total_weight(content_senses(one) & spoken) >= 1] or said


def answers_repeat_request(scene: Scene) -> float:
    """Return how far the response repeats what the user asks to hear again."""
    said = [one.passage for one in scene.sentences[:MAX_SENTENCES]]
    return repeated_share(said, scene.systems_before) if asks_to_repeat(scene.user) else 0.0


def contrary_share(found: Sequence[Finding]) -> float:
    """Return the share of the claims that are the contrary of the cited argument.

    The argument was cited against the user, so its contrary is on the user's side.
    """
    total = sum(len(one.sentence.passage.tokens) for one in found)
    contrary = sum(len(one.sentence.passage.tokens) for one in found if one.support.contrary)
    return contrary / total if total else 0.0


def echo_score(scene: Scene) -> float:
    """Return how far the response repeats the user: 0 below `ECHO`, else 0.5 to 1."""
    echo = echo_share(on_topic_sentences(scene), (scene.user, *scene.users_before))
    return 0.0 if echo < ECHO else 0.5 + 0.5 * (echo - ECHO) / (1 - ECHO)


def lacks_sources(scene: Scene) -> float:
    """Whether the response consists of the user's words, or of nothing that it cites.

    Examples are concessions in the user's words, wordplay and small talk.
    """
    said, sources = all_senses(on_topic_sentences(scene)), all_senses(scene.sources)
    users = all_senses((scene.claim, scene.user, *scene.users_before))
    theirs, cited = total_weight(said & users - sources), total_weight(said & sources)
    mirrored = theirs - cited > MIRRORED * total_weight(said)
    return float(bool(scene.sources) and (mirrored or (not cited and len(said) <= BRIEF)))


def conceding_sentence(scene: Scene, found: Sequence[Finding]) -> str | None:
    """Return the first sentence that concedes the user's point, or None."""
    quoted = {
        id(finding.sentence): finding.source
        for finding in found
        if finding.support.kind is SupportKind.QUOTED and finding.source is not None
    }
    for at, sentence in enumerate(scene.sentences):
        own, following = sentence.passage.tokens, scene.sentences[at + 1 : at + 2]
        behind = [token.word for one in following for token in one.passage.tokens[:2]]
        if id(sentence) in quoted:  # only the words in front of the quotation are its own
            start = quotation_start(sentence.passage, scene.sources[quoted[id(sentence)]])
            own, behind = own[:start], [token.word for token in own[start : start + 2]]
        end = _concession_end([token.word for token in own])
        rest = own[end:]
        taken_back = lexicon().reversals.intersection([*(one.word for one in rest), *behind])
        if end and (not taken_back or _quotes(rest, scene.sources)):
            return sentence.text
    return None


def _quotes(tokens: Sequence[Token], sources: Sequence[Passage]) -> bool:
    """Whether the words behind a concession are a cited text: its "but" takes nothing back."""
    said = tokens[1:] if tokens and tokens[0].word == "that" else tokens
    read = Passage(tuple(said), join_words([token.word for token in said]))
    return bool(said) and any(find_quotation(read, one) is Quotation.KEPT for one in sources)


def _concession_end(words: Sequence[str]) -> int:
    """Return the number of words up to the end of a concession; 0 if there is none."""
    known = lexicon()
    given = known.surrenders.match(" ".join(words[:_OPENING]))
    given = given or known.concessions.search(" ".join(words[:_LONGEST]))
    return len(given.string[: given.end()].split()) if given else 0
