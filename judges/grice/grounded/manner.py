"""Manner: is the response clear and precise, neither ambiguous nor verbose?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from judges.grice.grounded.links import matter
from judges.grice.grounded.scene import Scene, Sentence, nothing_said
from judges.grice.grounded.scoring import Cue, short, weighed
from touche_rad.debate import Verdict
from touche_rad.evidence.support import coverage
from touche_rad.evidence.words import Token, lexicon

LONGEST = 60
SHORTEST = 5
_EASY_SENTENCE = 24
_HEAVY_ENDINGS = (
    "tion", "tions", "ment", "ments", "ity", "ities", "ness", "ism", "ance", "ence", "ization",
    "isation", "ology", "ship", "archy",
)  # fmt: skip


def verdict(scene: Scene, weights: Mapping[str, float]) -> Verdict:
    """Weigh what makes it hard to read, and what makes it say too little."""
    if not scene.response.tokens:
        return Verdict(score=0.02, rationale=nothing_said(scene))
    return weighed(cues(scene), weights, "clear and short")


def cues(scene: Scene) -> list[Cue]:
    """What was seen; 0 of everything is a clear and precise response."""
    longest = max(scene.sentences, key=lambda one: len(one.read.tokens))
    opening, heavy = short(scene.sentences[0].text), short(longest.text)
    text = scene.response.joined[:4000]
    aside = short(scene.addressed[0].text) if scene.addressed else ""
    return [
        Cue("aside", float(bool(aside)), f"{aside} speaks to whoever judges it"),
        Cue("long", max(0, scene.words - LONGEST) / 20, f"{scene.words} words from {opening} on"),
        Cue("short", float(scene.words < SHORTEST), f"{opening} is too short to be precise"),
        Cue("sentence", _overlong(longest), f"{heavy} has {len(longest.read.tokens)} words"),
        Cue("dense", dense(scene.response.tokens), f"{heavy} strings heavy nouns together"),
        Cue("clauses", _clauses(longest), f"{heavy} has many clauses"),
        Cue("padding", min(3, len(lexicon().paddings.findall(text))), f"{opening} is padded"),
        Cue("repetition", repetition(scene), f"{short(scene.sentences[-1].text)} says it again"),
        Cue("vague", vague(scene), f"{opening} hints and does not say"),
        Cue("restated", restated(scene), f"{opening} restates the user"),
    ]


def dense(tokens: Sequence[Token]) -> float:
    """The share of long abstract nouns, beyond one in eight, up to 1 at one in three."""
    heavy = sum(len(t.word) > 7 and t.word.endswith(_HEAVY_ENDINGS) for t in tokens)
    share = heavy / max(12, len(tokens))
    return min(1.0, max(0.0, (share - 1 / 8) / (1 / 3 - 1 / 8)))


def repetition(scene: Scene) -> float:
    """How much is said again: words of matter beyond their second time, and whole sentences."""
    counted = Counter(token.stem for token in scene.response.tokens if token.matters)
    total = max(8, sum(counted.values()))
    again = sum(count - 2 for count in counted.values() if count > 2) / total
    whole = max(
        (
            coverage(later.read.tokens, earlier.read.tokens)
            for earlier, later in zip(scene.sentences, scene.sentences[1:20], strict=False)
        ),
        default=0.0,
    )
    return min(1.0, 3 * again + max(0.0, 2 * whole - 1))


def vague(scene: Scene) -> float:
    """Words that point and do not say, against words that say."""
    pointing = len(lexicon().vague.findall(scene.response.joined[:4000]))
    saying = len(matter(scene.response) - lexicon().generic)
    return min(1.0, pointing / max(1, saying) * 1.5) if pointing > 1 or saying < 4 else 0.0


def restated(scene: Scene) -> float:
    """How far the first sentence is what the user said last."""
    heard = coverage(scene.sentences[0].read.tokens, scene.user.tokens)
    return max(0.0, heard - 0.6) / 0.4


def _overlong(sentence: Sentence) -> float:
    return min(2.0, max(0, len(sentence.read.tokens) - _EASY_SENTENCE) / 12)


def _clauses(sentence: Sentence) -> float:
    marks = sum(token.before in (",", ";") for token in sentence.read.tokens)
    return min(1.0, max(0, marks - 2) / 4)
