"""The judge `grounded`: Quality, Manner and Quantity; Relation is in its own module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from judges.grice.grounded._relation import (
    all_senses,
    conceding_sentence,
    content_senses,
    contrary_share,
    echo_score,
    link_strength,
    relation_features,
    topic_strength,
    total_weight,
)
from judges.grice.grounded._scene import Scene, quote_short, read_scene, weigh, weighted_verdict
from touche_rad import plugins
from touche_rad.debate import Debate, Maxim, Verdict
from touche_rad.evidence.findings import UNCITED, Finding
from touche_rad.evidence.support import SupportKind
from touche_rad.evidence.words import Token, coverage, lexicon
from touche_rad.plugins import Services
from touche_rad.text import stopwords

NOTHING_SUPPORTED = UNCITED.score
EMPTY = Verdict(score=0.02, rationale="the response is empty")


def judge_quality(scene: Scene) -> Verdict:
    """Score the weakest sentence."""
    if not scene.findings:
        return Verdict(score=NOTHING_SUPPORTED, rationale="the response claims nothing")
    if not scene.sources:
        first = quote_short(scene.findings[0].sentence.text)
        rationale = f"no argument is cited for {first}"
        return Verdict(score=NOTHING_SUPPORTED, rationale=rationale)
    weakest = min(scene.findings, key=lambda finding: finding.support.score)
    return Verdict(score=round(weakest.support.score, 4), rationale=describe(weakest))


def describe(finding: Finding) -> str:
    """Return a sentence with how it is supported."""
    return f"{quote_short(finding.sentence.text)}: {finding.support.why}"


LONGEST = 60
SHORTEST = 5
_EASY_SENTENCE = 24
_HEAVY_ENDINGS = (
    "tion",
    "tions",
    "ment",
    "ments",
    "ity",
    "ities",
    "ness",
    "ism",
    "ance",
    "ence",
    "ization",
    "isation",
    "ology",
    "ship",
    "archy",
)


def manner_features(scene: Scene) -> dict[str, tuple[float, str]]:
    """Return the features; all are 0 for a clear and precise response."""
    longest = max(scene.sentences, key=lambda one: len(one.passage.tokens))
    opening, heavy = quote_short(scene.sentences[0].text), quote_short(longest.text)
    length = len(longest.passage.tokens)
    marks = sum(token.before in (",", ";") for token in longest.passage.tokens)
    fillers = lexicon().paddings.findall(scene.response.joined[:4000])
    return {
        "long": (max(0, scene.words - LONGEST) / 20, f"{scene.words} words are long"),
        "short": (float(scene.words < SHORTEST), f"{opening} is too short to be precise"),
        "sentence": (
            min(2.0, max(0, length - _EASY_SENTENCE) / 12),
            f"{heavy} has {length} words",
        ),
        "dense": (noun_density(scene.response.tokens), f"{heavy} has many long nouns"),
        "clauses": (min(1.0, max(0, marks - 2) / 4), f"{heavy} has many clauses"),
        "padding": (min(3, len(fillers)), f"{opening} contains filler phrases"),
        "repetition": (
            repetition(scene),
            f"{quote_short(scene.sentences[-1].text)} repeats what was said",
        ),
        "vague": (vagueness(scene), f"{opening} is vague"),
        "restated": (restates_user(scene), f"{opening} restates the user"),
        "jumbled": (jumbled(scene), f"{heavy} has its words in no sensible order"),
    }


_ARTICLES = frozenset(("a", "an", "the"))
_PRONOUNS = frozenset(("he", "she", "we", "they", "i"))
_FINITE = frozenset("is are was were can could will would should may might must".split())
_LINKS = frozenset(("and", "or", "but", "if", "because", "than", "of", "from", "into", "with"))
_OWNERS = frozenset(("my", "your", "our", "their", "its"))
_ILL_PAIRS = (
    (_ARTICLES | _OWNERS, _ARTICLES | _OWNERS | _FINITE | _LINKS | _PRONOUNS | {"to", "that"}),
    (_PRONOUNS, _ARTICLES | _OWNERS | {"of", "from", "into", "be", "been"}),
    (frozenset(("of", "from", "into", "with")), _FINITE | _PRONOUNS | {"and", "or", "be", "of"}),
    (frozenset(("is", "are", "was", "were")), _FINITE | {"be"}),
    (frozenset("can could would should may might must".split()), _FINITE | {"of", "to", "and"}),
    (frozenset(("and", "or")), frozenset(("and", "or", "of"))),
    (frozenset(("to", "be")), frozenset(("of", "and", "is", "are", "was", "were", "would", "can"))),
)
"""Function words, and the words that do not follow them in an English clause."""
_NO_END = _ARTICLES | _OWNERS | {"and", "or", "of", "because", "if", "than", "into"}
_SLIPS = 1
"""Ill-formed places of a clear response: people mistype."""


_SAME_WORDS = 0.85
_SAME_PAIRS = 0.2
_FEWEST = 8


def jumbled(scene: Scene) -> float:
    """Return how far the words have no order: 1 for the words of a source in another order.

    Else it counts the places where function words stand as in no English clause, up to three.
    """
    tokens = scene.response.tokens
    if any(_shuffles(tokens, source.tokens) for source in scene.sources):
        return 1.0
    faults = sum(
        one.word in _NO_END if other.before else _ill_formed(one.word, other.word)
        for one, other in pairwise(tokens)
    )
    faults += bool(tokens) and tokens[-1].word in _NO_END
    return min(1.0, max(0, faults - _SLIPS) / 2)


def _shuffles(said: Sequence[Token], written: Sequence[Token]) -> bool:
    """Whether a text has nearly all its words from a source, but hardly two of them in a row."""
    ours, theirs = Counter(one.word for one in said), Counter(one.word for one in written)
    if len(said) < _FEWEST or (ours & theirs).total() < _SAME_WORDS * len(said):
        return False
    pairs, known = _pairs(said), set(_pairs(written))
    return sum(one in known for one in pairs) < _SAME_PAIRS * len(pairs)


def _pairs(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    return [(one.word, other.word) for one, other in pairwise(tokens)]


def _ill_formed(first: str, second: str) -> bool:
    return any(first in before and second in after for before, after in _ILL_PAIRS)


def noun_density(tokens: Sequence[Token]) -> float:
    """Return the share of long abstract nouns: 0 up to one in eight, 1 from one in three."""
    heavy = sum(len(t.word) > 7 and t.word.endswith(_HEAVY_ENDINGS) for t in tokens)
    share = heavy / max(12, len(tokens))
    return min(1.0, max(0.0, (share - 1 / 8) / (1 / 3 - 1 / 8)))


def repetition(scene: Scene) -> float:
    """Return how much is repeated: content words after the second time, and sentences."""
    counted = Counter(token.stem for token in scene.response.tokens if token.matters)
    total = max(8, sum(counted.values()))
    again = sum(count - 2 for count in counted.values() if count > 2) / total
    whole = max(
        (
            coverage(later.passage.tokens, earlier.passage.tokens)
            for earlier, later in zip(scene.sentences, scene.sentences[1:20], strict=False)
        ),
        default=0.0,
    )
    return min(1.0, 3 * again + max(0.0, 2 * whole - 1))


def vagueness(scene: Scene) -> float:
    """Return the ratio of vague words to content words."""
    pointing = len(lexicon().vague.findall(scene.response.joined[:4000]))
    saying = len(content_senses(scene.response) - lexicon().generic)
    return min(1.0, pointing / max(1, saying) * 1.5) if pointing > 1 or saying < 4 else 0.0


def restates_user(scene: Scene) -> float:
    """Return how far the first sentence repeats the user's last message."""
    repeated = coverage(scene.sentences[0].passage.tokens, scene.user.tokens)
    return max(0.0, repeated - 0.6) / 0.4


Thesis = list[Finding]
"""Sentences that make the same claim."""
ENOUGH = 4.0
"""New content words that make a reason instead of a denial."""
_FOLLOWS_ON = frozenset(
    "so because this that these those it they such then thus therefore hence he she their its for"
    " since which otherwise yet as".split()
)


def quantity_features(scene: Scene) -> dict[str, tuple[float, str]]:
    """Return the features: shares from 0 to 1, and counts of surplus arguments."""
    opening = quote_short(scene.sentences[0].text)
    theses = group_theses(scene)
    cited, uncited = count_surplus(theses, scene)
    concession = conceding_sentence(scene) or ""
    last = quote_short(theses[-1][0].sentence.text) if theses else opening
    return {
        "new": (_novelty(scene), f"{opening} gives a reason"),
        "foreign": (1 - topic_strength(scene), f"no argument: {opening} is off topic"),
        "turned": (contrary_share(scene), f"no argument: {opening} supports the user"),
        "echo": (echo_score(scene), f"no argument: {opening} repeats the user's words"),
        "surrender": (
            float(bool(concession)),
            f"no argument: {quote_short(concession)} agrees with the user",
        ),
        "attacks": (cited, f"{last} is another argument"),
        "points": (uncited, f"{last} is one of {len(theses)} points"),
        "list": (min(4, list_marks(scene)), f"{opening} starts a list"),
        "long": (max(0, scene.words - LONGEST) / 20, f"{scene.words} words are long"),
        "vague": (vagueness(scene), f"{opening} is vague and gives no reason"),
    }


def count_surplus(points: Sequence[Thesis], scene: Scene) -> tuple[int, int]:
    """Count the theses beyond one attack and one defence: with and without a cited argument.

    A thesis without a cited argument is often only an elaboration of the one before.
    """
    defences = [point for point in points if is_defence(point, scene)][:1]
    attacks = [point for point in points if point not in defences]
    resting = sum(any(_rests(finding) for finding in point) for point in attacks)
    cited = max(0, resting - 1)
    return min(3, cited), min(3, max(0, len(attacks) - 1 - cited))


def group_theses(scene: Scene) -> list[Thesis]:
    """Group the sentences that claim something into theses.

    Sentences with the same argument are one thesis. So is a sentence that continues the one before
    or shares a word with it that the user did not use.
    """
    known = all_senses((scene.user, *scene.users_before[:1])) | lexicon().generic
    groups: list[Thesis] = []
    for finding in scene.findings:
        own = content_senses(finding.sentence.passage) - known
        group = next((group for group in groups if _same_source(finding, group)), None)
        if group is None and groups and (_follows_on(finding) or _shares(own, groups[-1])):
            group = groups[-1]
        if group is None:
            groups.append([finding])
        else:
            group.append(finding)
    return groups


def is_defence(thesis: Thesis, scene: Scene) -> bool:
    """Whether a thesis is closer to the system's messages than to the user's last one."""
    senses = all_senses(finding.sentence.passage for finding in thesis)
    own = all_senses(scene.systems_before) - all_senses(scene.users)
    return total_weight(senses & own) >= 1 and link_strength(senses, own) >= link_strength(
        senses, content_senses(scene.user)
    )


def list_marks(scene: Scene) -> int:
    """Count the list marks after the first: `second`, `moreover`, `2.`."""
    known, text = lexicon(), scene.response.joined[:4000]
    ordinals = sum(bool(mark.search(text)) for mark in known.list_marks)
    numerals = sum(
        one.passage.tokens[0].word in ("1", "2", "3", "4", "5", "6") for one in scene.sentences[:20]
    )
    return max(0, ordinals - 1) + max(0, numerals - 1) + len(known.additions.findall(text))


def _novelty(scene: Scene) -> float:
    """Return the amount of new content words: 1 from `ENOUGH` words on."""
    own = all_senses(finding.sentence.passage for finding in scene.findings)
    return min(1.0, max(0.0, total_weight(own - all_senses(scene.users)) - 1) / ENOUGH)


def _same_source(finding: Finding, group: Sequence[Finding]) -> bool:
    return finding.source is not None and any(
        other.source == finding.source and _rests(other) and _rests(finding) for other in group
    )


def _rests(finding: Finding) -> bool:
    return finding.support.kind is SupportKind.QUOTED or finding.support.covered >= 0.5


def _follows_on(finding: Finding) -> bool:
    words = [token.word for token in finding.sentence.passage.tokens[:2]]
    return words[0] in _FOLLOWS_ON and words[0] in stopwords()


def _shares(own: frozenset[str], group: Sequence[Finding]) -> bool:
    return bool(own & content_senses(group[-1].sentence.passage))


_SUM = "the logistic function of the sum of the features"
_WEAKEST = "the score of the weakest sentence; 0.5 and more means yes"
_OTHERWISE = {
    Maxim.QUANTITY: "one argument",
    Maxim.RELATION: "it has little to do with the user's last message",
    Maxim.MANNER: "clear and short",
}
"""Rationales if no feature decides."""


class GroundedJudge:
    """Checks each sentence against the cited arguments; other maxims use readable features.

    It sees what the official annotators saw: the conversation up to the response, and the texts of
    the first two arguments.
    """

    class Options(plugins.Options):
        """Options."""

        arguments: Literal["first-two", "all"] = "first-two"
        """Cited arguments that count: the first two, as annotators saw them, or all."""

    def __init__(self, options: Options, services: Services) -> None:
        self._all_arguments = options.arguments == "all"

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        scene = self._read(debate)
        if scene is None:
            unanswered = Verdict(score=None, rationale="the last turn has no response")
            return dict.fromkeys(Maxim, unanswered)
        verdicts = {**dict.fromkeys(Maxim, EMPTY), Maxim.QUALITY: judge_quality(scene)}
        for maxim, features in _features(scene).items():
            verdicts[maxim] = weighted_verdict(features, _OTHERWISE[maxim])
        relation = verdicts[Maxim.RELATION]
        if relation.yes:
            rationale = f"{relation.rationale}; the side is not checked"
            verdicts[Maxim.RELATION] = relation.model_copy(update={"rationale": rationale})
        return verdicts

    def explain(self, debate: Debate) -> dict[Maxim, plugins.ExplainedVerdict]:
        """Return the features that decide each verdict on the last response."""
        scene = self._read(debate)
        if scene is None:
            return {}
        quality = {
            f"sentence {number}": plugins.Feature(round(one.support.score, 4), phrase=describe(one))
            for number, one in enumerate(scene.findings, 1)
        }
        sums = _features(scene)
        return {
            Maxim.QUALITY: plugins.ExplainedVerdict(_WEAKEST, quality),
            **{maxim: plugins.ExplainedVerdict(_SUM, features) for maxim, features in sums.items()},
        }

    def _read(self, debate: Debate) -> Scene | None:
        response = debate.last.response if debate.turns else None
        if response is None:
            return None
        return read_scene(debate, response, all_arguments=self._all_arguments)


def _features(scene: Scene) -> dict[Maxim, dict[str, plugins.Feature]]:
    """Return the features of the maxims that are sums; none for an empty response."""
    if not scene.response.tokens:
        return {}
    values = {
        Maxim.QUANTITY: quantity_features(scene),
        Maxim.RELATION: relation_features(scene),
        Maxim.MANNER: manner_features(scene),
    }
    return {maxim: weigh(maxim, of_maxim) for maxim, of_maxim in values.items()}
