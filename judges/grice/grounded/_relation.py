"""Relation: does the response answer this user, and argue against the last message?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from judges.grice.grounded._scene import Scene, quote_short
from touche_rad.evidence.alignment import align
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
from touche_rad.evidence.words import Passage, Token, coverage, lexicon, root, share_of_content

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


def total_weight(senses: frozenset[str]) -> float:
    """Return the weight of a set of shared senses."""
    known = lexicon()
    return sum(
        GENERIC if one in known.generic else BROAD if one in known.broad else 1.0 for one in senses
    )


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
    parts = [without_padding(one.tokens[content_starts(one.tokens)[-1] :]) for one in sentences]

    def said_in(answer: Passage) -> float:
        def share(tokens: Sequence[Token]) -> float:
            turned = align(tokens, answer.tokens).turned()
            return 0.0 if turned else coverage(tokens, answer.tokens)

        return share_of_content(parts, share)

    return max(map(said_in, earlier[-LOOKED_BACK:]), default=0.0)


def known_share(
    sentences: Sequence[Passage], own: Sequence[Passage], users: Sequence[Passage]
) -> float:
    """Return the share that the system said, or the user with the same meaning."""
    ours = [token for passage in own for token in passage.tokens]
    return share_of_content(
        [one.tokens for one in sentences],
        lambda tokens: max(coverage(tokens, ours), *(echoed(tokens, user) for user in users)),
    )


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


def relation_features(scene: Scene) -> dict[str, tuple[float, str]]:
    """Return the features, each from 0 to 1; on which side it argues cannot be seen."""
    senses, users = _brought(scene), all_senses((scene.claim, *scene.users))
    concession = conceding_sentence(scene)
    shared = ", ".join(_shared_words(scene, users)[:4])
    opening = quote_short(scene.sentences[0].text)
    return {
        "topic": (
            max(overlap(senses, users), answers_repeat_request(scene)),
            f"{opening} is on the user's topic{shared and f': {shared}'}",
        ),
        "adrift": (
            ignores_new_topic(scene, senses),
            f"{opening} does not follow the user to the new topic",
        ),
        "echo": (echo_score(scene), f"{opening} repeats the user's words"),
        "unsourced": (
            lacks_sources(scene),
            f"{opening} shares no words with the cited arguments",
        ),
        "again": (repeats_earlier(scene), f"{opening} repeats an earlier response"),
        "turned": (
            min(1.0, contrary_share(scene) / HALF),
            f"{opening} says the opposite of a cited argument",
        ),
        "surrender": (
            float(concession is not None),
            f"{quote_short(concession or '')} agrees with the user",
        ),
    }


def _shared_words(scene: Scene, users: frozenset[str]) -> list[str]:
    """Return words of the response that have a sense in common with the user's words."""
    known = lexicon()
    shared: dict[str, str] = {}
    for token in scene.response.tokens:
        sense = root(known.sense(token.stem)) if token.matters else ""
        if sense in users and sense not in known.generic:
            shared.setdefault(sense, token.word)
    return sorted(shared.values())


def _brought(scene: Scene) -> frozenset[str]:
    """Return the senses of the response, and of the sources that support half of a sentence."""
    numbers = {one.source for one in scene.findings if one.support.covered >= HALF}
    return all_senses([scene.response, *(scene.sources[at] for at in numbers if at is not None)])


def ignores_new_topic(scene: Scene, senses: frozenset[str]) -> float:
    """Whether the user changed the topic and the response does not follow."""
    last = content_senses(scene.user)
    before = all_senses((scene.claim, *scene.users_before, *scene.systems_before))
    leaves = bool(scene.users_before) and total_weight(last) >= 1 > total_weight(last & before)
    leaves = leaves and not asks_to_repeat(scene.user)
    return float(leaves and total_weight(last & senses) < 1)


def topic_strength(scene: Scene) -> float:
    """Return how strongly the response and its sources relate to the user's messages."""
    return link_strength(_brought(scene), all_senses((scene.claim, *scene.users)))


def repeats_earlier(scene: Scene) -> float:
    """Return how far the response repeats earlier messages; 0 if the user asks for it.

    A response with nothing new says nothing against the user's last message.
    """
    if asks_to_repeat(scene.user):
        return 0.0
    sentences = on_topic_sentences(scene)
    own = (*scene.systems_before[-LOOKED_BACK:], *scene.cited_before[-LOOKED_BACK:])
    users = (scene.user, *scene.users_before[-LOOKED_BACK:])
    share = max(repeated_share(sentences, scene.systems_before), known_share(sentences, own, users))
    return min(1.0, max(0.0, share - HEARD) / _STEP)


def on_topic_sentences(scene: Scene) -> list[Passage]:
    """Return the sentences that share a specific word with the user, the claim or a source.

    If there are none, return all sentences. Other talk does not make a repetition new.
    """
    sentences = [one.passage for one in scene.sentences[:MAX_SENTENCES]]
    topic = all_senses((scene.claim, *scene.users, *scene.sources))
    return [one for one in sentences if total_weight(content_senses(one) & topic) >= 1] or sentences


def answers_repeat_request(scene: Scene) -> float:
    """Return how far the response repeats what the user asks to hear again."""
    sentences = [one.passage for one in scene.sentences[:MAX_SENTENCES]]
    return repeated_share(sentences, scene.systems_before) if asks_to_repeat(scene.user) else 0.0


def contrary_share(scene: Scene) -> float:
    """Return the share of the claims that are the contrary of the cited argument.

    The argument was cited against the user, so its contrary is on the user's side.
    """
    lengths = [(len(one.sentence.passage.tokens), one.support.contrary) for one in scene.findings]
    total = sum(length for length, _ in lengths)
    return sum(length for length, contrary in lengths if contrary) / total if total else 0.0


def echo_score(scene: Scene) -> float:
    """Return how far the response repeats the user: 0 below `ECHO`, else 0.5 to 1."""
    echo = echo_share(on_topic_sentences(scene), scene.users)
    return 0.0 if echo < ECHO else 0.5 + 0.5 * (echo - ECHO) / (1 - ECHO)


def lacks_sources(scene: Scene) -> float:
    """Whether the response consists of the user's words, or of nothing that it cites.

    Examples are concessions in the user's words, wordplay and small talk.
    """
    own, sources = all_senses(on_topic_sentences(scene)), all_senses(scene.sources)
    users = all_senses((scene.claim, *scene.users))
    theirs, cited = total_weight(own & users - sources), total_weight(own & sources)
    mirrored = theirs - cited > MIRRORED * total_weight(own)
    return float(bool(scene.sources) and (mirrored or (not cited and len(own) <= BRIEF)))


def conceding_sentence(scene: Scene) -> str | None:
    """Return the first sentence that concedes the user's point, or None."""
    quoted = {
        id(finding.sentence): scene.sources[finding.source]
        for finding in scene.findings
        if finding.support.kind is SupportKind.QUOTED and finding.source is not None
    }
    for at, sentence in enumerate(scene.sentences):
        own, following = sentence.passage.tokens, scene.sentences[at + 1 : at + 2]
        behind = [token.word for one in following for token in one.passage.tokens[:2]]
        if source := quoted.get(id(sentence)):  # only the words before the quotation are its own
            start = quotation_start(sentence.passage, source)
            own, behind = own[:start], [token.word for token in own[start : start + 2]]
        end = _concession_end([token.word for token in own])
        rest = own[end:]
        taken_back = lexicon().reversals.intersection([*(one.word for one in rest), *behind])
        if end and (not taken_back or _quotes(rest, scene.sources)):
            return sentence.text
    return None


def _quotes(tokens: Sequence[Token], sources: Sequence[Passage]) -> bool:
    """Whether the words behind a concession are a cited text: its "but" takes nothing back."""
    quotation = Passage(tuple(tokens[1:] if tokens and tokens[0].word == "that" else tokens))
    return bool(quotation.tokens) and any(
        find_quotation(quotation, one) is Quotation.KEPT for one in sources
    )


def _concession_end(words: Sequence[str]) -> int:
    """Return the number of words up to the end of a concession; 0 if there is none."""
    known = lexicon()
    concession = known.surrenders.match(" ".join(words[:_OPENING]))
    concession = concession or known.concessions.search(" ".join(words[:_LONGEST]))
    return len(concession.string[: concession.end()].split()) if concession else 0
