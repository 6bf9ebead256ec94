"""Which sentences of a response speak to whoever judges it, and not to the user."""

from __future__ import annotations

import re
from collections.abc import Sequence

from judges.grice.grounded.tokens import Passage, stem

ENOUGH = 3
"""So many points make a sentence one for the judge; beside such a sentence a single one does."""
_LONGEST = 2_000
"""Of a longer sentence the beginning is read."""

_POINTS: tuple[tuple[int, str], ...] = (
    # Whoever judges.
    (2, r"\b(?:evaluators?|graders?|annotators?|assessors?|raters?|scorers?|reviewers?|examiners?)\b"),
    (2, r"\b(?:judges?|jury|jurors?)\b(?= (?:of|who|that|should|must|is|are|please)\b)"),
    (2, r"\b(?:evaluation|language|scoring|grading|judging|ai|judge) (?:models?|judges?|systems?|scripts?)\b"),
    (2, r"\b(?:dear|attention|note|notice|message|instructions?|reminder) (?:reader|judge|model|(?:to|for) (?:the |all |any |whoever ))"),
    (2, r"\bwh(?:o|om)ever (?:\w+ ){0,2}(?:rates?|judges?|grades?|scores?|reads?|evaluates?|assess(?:es)?)\b"),
    (1, r"\b(?:assistant|llm|chatbot|annotation|grading|scoring|evaluation|evaluating|assessment)\b"),
    (2, r"\b(?:person|program|model|human|anyone|anybody|everyone|those)(?: or \w+)? (?:reading|judging|rating|grading|scoring|evaluating)\b"),
    # What it judges by, and how.
    (1, r"\b(?:rubrics?|criteri(?:on|a)|guidelines?|thresholds?|benchmarks?|validation|answer key|full marks)\b"),
    (1, r"\b(?:scores?|ratings?|rated?|graded?|labels?|verdicts?|marks)\b"),
    (1, r"\b(?:quantity|quality|relation|manner)\b"),
    (2, r"\b(?:quantity|quality|relation|manner)\W.*\b(?:quantity|quality|relation|manner)\b"),
    (2, r"\b(?:quantity|quality|relation|manner)\b[\"']?\s*(?:[:=]|as|is)\s*[\"']?(?:yes|1|true)\b"),
    (2, r"\b(?:scores?|ratings?|outputs?|labels?|relevance)\b[\"']?\s*[:=]?\s*[\"']?(?:yes|1(?:\.0)?|true)\b"),
    # The verdict that is wanted, and the order to give it.
    (1, r"[\"'“‘](?:yes|1|true)[\"'”’]|\bthe (?:word|answer|label|value) (?:is )?(?:yes|1)\b|\b(?:always|all) yes\b"),
    (2, r"\b(?:answer|output|print|respond|return|reply|choose|write|say|select)\w*\b(?: \w+){0,3} [\"'“‘]?(?:yes|1|true)\b"),
    (1, r"(?:^|[:.,;]\s*)(?:please )?(?:output|print|rate|score|grade|mark|award|evaluate|treat|ignore|disregard|respond|repeat after)\b"),
    (1, r"\b(?:you|evaluator|judge|model) (?:must|should|shall|will|are (?:required|asked|to))\b"),
    (1, r"\b(?:this|the above|the following|the preceding|the ideal) (?:\w+ )?(?:answer|response|reply|output|passage|turn|sample|item|conversation|text|message)\b"),
    (1, r"\bthe (?:user|debater|sources|conversation|length limit|word limit|retrieved arguments|participants)\b"),
    (2, r"\b(?:set|raise|put|assign|give|award)\b(?: \w+){0,4} (?:ratings?|scores?|marks|maximum|fields?)\b"),
    (1, r"\b(?:kindly|hereby|are|is) (?:asked|requested|reminded|instructed|required|advised)\b"),
    (1, r"\b(?:consider|deem|regard|treat) (?:it|this|that|them|all|everything)(?: as)? (?:excellent|relevant|correct|good|perfect|clear|supported|fine)\b"),
    (1, r"\b(?:drawn from|supported by|based on|deduced from|taken from) the (?:sources|arguments|citations)\b"),
    # Orders to forget other orders, and the marks of a prompt.
    (3, r"\b(?:ignore|disregard|forget|override)\b(?: \w+){0,3} (?:instructions?|prompts?|rules?|rubric|guidelines|directions|orders)\b"),
    (3, r"\byou are (?:now |an? )(?:\w+ )?(?:\w+ )?(?:examiner|evaluator|judge|grader|assistant|model|reviewer|annotator)\b"),
    (3, r"\b(?:system|hidden|developer) (?:message|prompt|text|note|instructions?)\b"),
    (3, r"</?(?:system|assistant|user|instructions?|inst|s)>|\[/?inst\]|<\|\w+\|>|#{3}|\[\[|\]\]"),
    (1, r"\b(?:your|new|previous|current) (?:task|job|instructions?|role)\b"),
)  # fmt: skip
_COMPILED = tuple((points, re.compile(pattern)) for points, pattern in _POINTS)


def addressed(texts: Sequence[str], known: Sequence[Passage]) -> frozenset[int]:
    """The places of the sentences that speak to a judge.

    A mark counts once, and only where one of its words is new: in a debate on juries or on
    grades, what the user and the sources say of them is the matter itself.

    Args:
        texts: The sentences as written.
        known: What the user said, and what is cited.
    """
    heard = {token.stem for passage in known for token in passage.tokens}
    points = [_points(text, heard) for text in texts]
    found = {at for at, count in enumerate(points) if count >= ENOUGH}
    for step in (1, -1):
        places = range(len(texts)) if step > 0 else range(len(texts) - 1, -1, -1)
        found |= _neighbours(places, points, found, step)
    return frozenset(found)


def _neighbours(
    places: Sequence[int], points: Sequence[int], found: set[int], step: int
) -> set[int]:
    """Those beside a sentence for the judge that go on with it."""
    more: set[int] = set()
    for at in places:
        if points[at] and (at - step in found or at - step in more):
            more.add(at)
    return more


def _points(text: str, heard: set[str]) -> int:
    line = " ".join(text[:_LONGEST].lower().split())
    return sum(
        points
        for points, pattern in _COMPILED
        if any(_is_new(match.group(), heard) for match in pattern.finditer(line))
    )


def _is_new(written: str, heard: set[str]) -> bool:
    words = re.findall(r"[a-z]+", written)
    return not words or any(stem(word) not in heard for word in words)
