"""The judge `grounded`: Quality, Manner and Quantity; Relation is in its own module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from judges.grice.grounded.relation import (
    all_senses,
    conceding_sentence,
    content_senses,
    contrary_share,
    echo_score,
    judge_relation,
    link_strength,
    relation_features,
    topic_strength,
    total_weight,
)
from judges.grice.grounded.scene import (
    EMPTY,
    Feature,
    Scene,
    quote_short,
    read_scene,
    weighted_verdict,
    weights,
)
from touche_rad import plugins
from touche_rad.debate import Debate, Maxim, Response, Verdict
from touche_rad.evidence.findings import Finding, Sentence, findings, quality_weights, score
from touche_rad.evidence.support import SupportKind
from touche_rad.evidence.words import Token, coverage, lexicon
from touche_rad.plugins import Services
from touche_rad.text import stopwords


def judge_quality(found: Sequence[Finding], cited: int) -> Verdict:
    """Score the weakest sentence."""
    unsupported = quality_weights().kinds[SupportKind.NONE]
    if not found:
        return Verdict(score=unsupported, rationale="the response claims nothing")
    if not cited:
        rationale = f"no argument is cited for {quote_short(found[0].sentence.text)}"
        return Verdict(score=unsupported, rationale=rationale)
    weakest = min(found, key=lambda finding: score(finding.support))
    return Verdict(
        score=round(score(weakest.support), 4),
        rationale=f"{quote_short(weakest.sentence.text)}: {weakest.support.why}",
    )


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


def judge_manner(scene: Scene, weights: Mapping[str, float]) -> Verdict:
    """Score how clear and precise the response is."""
    if not scene.response.tokens:
        return EMPTY
    return weighted_verdict(manner_features(scene), weights, "clear and short")


def manner_features(scene: Scene) -> list[Feature]:
    """Return the features; all are 0 for a clear and precise response."""
    longest = max(scene.sentences, key=lambda one: len(one.passage.tokens))
    opening, heavy = quote_short(scene.sentences[0].text), quote_short(longest.text)
    text = scene.response.joined[:4000]
    return [
        Feature("long", max(0, scene.words - LONGEST) / 20, f"{scene.words} words are long"),
        Feature("short", float(scene.words < SHORTEST), f"{opening} is too short to be precise"),
        Feature("sentence", _overlong(longest), f"{heavy} has {len(longest.passage.tokens)} words"),
        Feature("dense", noun_density(scene.response.tokens), f"{heavy} has many long nouns"),
        Feature("clauses", _clauses(longest), f"{heavy} has many clauses"),
        Feature(
            "padding",
            min(3, len(lexicon().paddings.findall(text))),
            f"{opening} contains filler phrases",
        ),
        Feature(
            "repetition",
            repetition(scene),
            f"{quote_short(scene.sentences[-1].text)} repeats what was said",
        ),
        Feature("vague", vagueness(scene), f"{opening} is vague"),
        Feature("restated", restates_user(scene), f"{opening} restates the user"),
        Feature("jumbled", jumbled(scene), f"{heavy} has its words in no sensible order"),
    ]


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


def _overlong(sentence: Sentence) -> float:
    return min(2.0, max(0, len(sentence.passage.tokens) - _EASY_SENTENCE) / 12)


def _clauses(sentence: Sentence) -> float:
    marks = sum(token.before in (",", ";") for token in sentence.passage.tokens)
    return min(1.0, max(0, marks - 2) / 4)


Thesis = list[Finding]
"""Sentences that make the same claim."""
ENOUGH = 4.0
"""New content words that make a reason instead of a denial."""
_FOLLOWS_ON = frozenset(
    "so because this that these those it they such then thus therefore hence he she their its for"
    " since which otherwise yet as".split()
)


def judge_quantity(scene: Scene, found: Sequence[Finding], weights: Mapping[str, float]) -> Verdict:
    """Score whether there is one argument: not none, not too many."""
    if not scene.response.tokens:
        return EMPTY
    return weighted_verdict(quantity_features(scene, found), weights, "one argument")


def quantity_features(scene: Scene, found: Sequence[Finding]) -> list[Feature]:
    """Return the features: shares from 0 to 1, and counts of surplus arguments."""
    opening = quote_short(scene.sentences[0].text)
    points = group_theses(scene, found)
    cited, uncited = count_surplus(points, scene)
    given_in = conceding_sentence(scene, found) or ""
    last = quote_short(points[-1][0].sentence.text) if points else opening
    return [
        Feature("new", _novelty(scene, found), f"{opening} gives a reason"),
        Feature(
            "foreign",
            1 - topic_strength(scene, found),
            f"no argument: {opening} is off topic",
        ),
        Feature("turned", contrary_share(found), f"no argument: {opening} supports the user"),
        Feature("echo", echo_score(scene), f"no argument: {opening} repeats the user's words"),
        Feature(
            "surrender",
            float(bool(given_in)),
            f"no argument: {quote_short(given_in)} agrees with the user",
        ),
        Feature("attacks", cited, f"{last} is another argument"),
        Feature("points", uncited, f"{last} is one of {len(points)} points"),
        Feature("list", min(4, list_marks(scene)), f"{opening} starts a list"),
        Feature("long", max(0, scene.words - LONGEST) / 20, f"{scene.words} words are long"),
        Feature("vague", vagueness(scene), f"{opening} is vague and gives no reason"),
    ]


def count_surplus(points: Sequence[Thesis], scene: Scene) -> tuple[int, int]:
    """Count the theses beyond one attack and one defence: with and without a cited argument.

    A thesis without a cited argument is often only an elaboration of the one before.
    """
    defences = [point for point in points if is_defence(point, scene)][:1]
    attacks = [point for point in points if point not in defences]
    resting = sum(any(_rests(finding) for finding in point) for point in attacks)
    cited = max(0, resting - 1)
    return min(3, cited), min(3, max(0, len(attacks) - 1 - cited))


def group_theses(scene: Scene, found: Sequence[Finding]) -> list[Thesis]:
    """Group the sentences that claim something into theses.

    Sentences with the same argument are one thesis. So is a sentence that continues the one before
    or shares a word with it that the user did not use.
    """
    known = all_senses((scene.user, *scene.users_before[:1])) | lexicon().generic
    groups: list[Thesis] = []
    for finding in found:
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
    said = all_senses(finding.sentence.passage for finding in thesis)
    own = all_senses(scene.systems_before) - all_senses((scene.user, *scene.users_before))
    return total_weight(said & own) >= 1 and link_strength(said, own) >= link_strength(
        said, content_senses(scene.user)
    )


def list_marks(scene: Scene) -> int:
    """Count the list marks after the first: `second`, `moreover`, `2.`."""
    known, text = lexicon(), scene.response.joined[:4000]
    ordinals = sum(bool(mark.search(text)) for mark in known.list_marks)
    numerals = sum(
        one.passage.tokens[0].word in ("1", "2", "3", "4", "5", "6") for one in scene.sentences[:20]
    )
    return max(0, ordinals - 1) + max(0, numerals - 1) + len(known.additions.findall(text))


def _novelty(scene: Scene, found: Sequence[Finding]) -> float:
    """Return the amount of new content words: 1 from `ENOUGH` words on."""
    of_user = all_senses((scene.user, *scene.users_before))
    own = all_senses(finding.sentence.passage for finding in found) - of_user
    return min(1.0, max(0.0, total_weight(own) - 1) / ENOUGH)


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
        response = debate.last.response if debate.turns else None
        if response is None:
            unanswered = Verdict(score=None, rationale="the last turn has no response")
            return dict.fromkeys(Maxim, unanswered)
        return self._judge(debate, response)

    def explain(self, debate: Debate) -> dict[Maxim, plugins.ExplainedVerdict]:
        """Return the features that decide each verdict on the last response."""
        from judges.grice.grounded.explaining import explain

        response = debate.last.response if debate.turns else None
        if response is None:
            return {}
        (seen, found), weigh = self._read(debate, response), weights()
        if not seen.response.tokens:
            return explain(found, {})
        return explain(
            found,
            {
                Maxim.QUANTITY: (quantity_features(seen, found), weigh.quantity),
                Maxim.RELATION: (relation_features(seen, found), weigh.relation),
                Maxim.MANNER: (manner_features(seen), weigh.manner),
            },
        )

    def _read(self, debate: Debate, response: Response) -> tuple[Scene, list[Finding]]:
        seen = read_scene(debate, response, all_arguments=self._all_arguments)
        return seen, findings(seen.sentences, seen.sources)

    def _judge(self, debate: Debate, response: Response) -> dict[Maxim, Verdict]:
        (seen, found), weigh = self._read(debate, response), weights()
        return {
            Maxim.QUANTITY: judge_quantity(seen, found, weigh.quantity),
            Maxim.QUALITY: judge_quality(found, len(seen.sources)),
            Maxim.RELATION: judge_relation(seen, found, weigh.relation),
            Maxim.MANNER: judge_manner(seen, weigh.manner),
        }
