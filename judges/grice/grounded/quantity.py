"""Quantity: is there an argument, and at most one attack and one defence?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judges.grice.grounded.links import link, matter, merged, weight
from judges.grice.grounded.manner import vague
from judges.grice.grounded.quality import Finding
from judges.grice.grounded.relation import echo, on_topic, surrender, turned
from judges.grice.grounded.scene import Scene, nothing_said
from judges.grice.grounded.scoring import Cue, short, weighed
from touche_rad.debate import Verdict
from touche_rad.evidence.support import Manner
from touche_rad.evidence.words import lexicon
from touche_rad.text import stopwords

Thesis = list[Finding]
"""The sentences that claim one thing."""
ENOUGH = 4.0
"""So many new words of matter, beside the user's own, make a reason rather than a denial."""
LONGEST = 60
_FOLLOWS_ON = frozenset(
    "so because this that these those it they such then thus therefore hence he she their its for"
    " since which otherwise yet as".split()
)


def verdict(scene: Scene, found: Sequence[Finding], weights: Mapping[str, float]) -> Verdict:
    """Weigh what makes it no argument, and what makes it too many."""
    if not scene.response.tokens:
        return Verdict(score=0.02, rationale=nothing_said(scene))
    return weighed(cues(scene, found), weights, "one argument")


def cues(scene: Scene, found: Sequence[Finding]) -> list[Cue]:
    """What was seen: shares in 0..1, and counts of what is too many."""
    opening = short(scene.sentences[0].text)
    points = theses(scene, found)
    cited, uncited = surplus(points, scene)
    given_in = surrender(scene, found) or ""
    last = short(points[-1][0].sentence.text) if points else opening
    return [
        Cue("new", _novelty(scene, found), f"{opening} gives a reason"),
        Cue(
            "foreign", 1 - on_topic(scene, found), f"no argument here: {opening} is off the matter"
        ),
        Cue("turned", turned(found), f"no argument here: {opening} speaks for the user"),
        Cue("echo", echo(scene), f"no argument here: {opening} repeats the user's words"),
        Cue("surrender", float(bool(given_in)), f"no argument here: {short(given_in)} gives in"),
        Cue("attacks", cited, f"{last} is another argument"),
        Cue("points", uncited, f"{last} is one point of {len(points)}"),
        Cue("list", min(4, listed(scene)), f"{opening} begins a list"),
        Cue("long", max(0, scene.words - LONGEST) / 20, f"{scene.words} words from {opening} on"),
        Cue("vague", vague(scene), f"{opening} hints and gives no reason"),
    ]


def surplus(points: Sequence[Thesis], scene: Scene) -> tuple[int, int]:
    """How many theses there are beyond one attack and one defence.

    Those that rest on a cited argument of their own are counted apart from those that do not: the
    latter are often no more than an unfounded elaboration of the one before.
    """
    defences = [point for point in points if is_defence(point, scene)][:1]
    attacks = [point for point in points if point not in defences]
    resting = sum(any(_rests(finding) for finding in point) for point in attacks)
    cited = max(0, resting - 1)
    return min(3, cited), min(3, max(0, len(attacks) - 1 - cited))


def theses(scene: Scene, found: Sequence[Finding]) -> list[Thesis]:
    """The sentences that claim something, grouped by what they are about.

    Sentences carried by the same argument are one thesis, and so is a sentence that follows on
    from the one before, or shares a word with it that the user did not bring in.
    """
    known = merged((scene.user, *scene.users_before[:1])) | lexicon().generic
    groups: list[Thesis] = []
    for finding in found:
        own = matter(finding.sentence.read) - known
        group = next((group for group in groups if _same_source(finding, group)), None)
        if group is None and groups and (_follows_on(finding) or _shares(own, groups[-1])):
            group = groups[-1]
        if group is None:
            groups.append([finding])
        else:
            group.append(finding)
    return groups


def is_defence(thesis: Thesis, scene: Scene) -> bool:
    """Whether a thesis takes up what the system has said rather than what the user said last."""
    said = merged(finding.sentence.read for finding in thesis)
    own = merged(scene.systems_before) - merged((scene.user, *scene.users_before))
    return weight(said & own) >= 1 and link(said, own) >= link(said, matter(scene.user))


def listed(scene: Scene) -> int:
    """How many marks of a list there are beyond the first: `second`, `moreover`, `2.`."""
    known, text = lexicon(), scene.response.joined[:4000]
    ordinals = sum(bool(mark.search(text)) for mark in known.list_marks)
    numerals = sum(
        one.read.tokens[0].word in ("1", "2", "3", "4", "5", "6") for one in scene.sentences[:20]
    )
    return max(0, ordinals - 1) + max(0, numerals - 1) + len(known.additions.findall(text))


def _novelty(scene: Scene, found: Sequence[Finding]) -> float:
    """How much matter of its own the response brings, from 0 to 1 at `ENOUGH` words."""
    heard = merged((scene.user, *scene.users_before))
    own = merged(finding.sentence.read for finding in found) - heard
    return min(1.0, max(0.0, weight(own) - 1) / ENOUGH)


def _same_source(finding: Finding, group: Sequence[Finding]) -> bool:
    return finding.source is not None and any(
        other.source == finding.source and _rests(other) and _rests(finding) for other in group
    )


def _rests(finding: Finding) -> bool:
    return finding.support.manner is Manner.QUOTED or finding.support.covered >= 0.5


def _follows_on(finding: Finding) -> bool:
    words = [token.word for token in finding.sentence.read.tokens[:2]]
    return words[0] in _FOLLOWS_ON and words[0] in stopwords()


def _shares(own: frozenset[str], group: Sequence[Finding]) -> bool:
    return bool(own & matter(group[-1].sentence.read))
