"""Read a debate: what the user asserts, concedes and denies; and search for arguments about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from touche_rad.debate import Argument, Debate, Hit, Turn
from touche_rad.debaters.grounded.library import Library, cosine, coverage, negated
from touche_rad.evidence.words import read_passage
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, content_words, cut_to_words, sentences

LONGEST = 400
"""Maximum words of an utterance that are read."""
READ_TURNS = 12
"""Turns before the last that are read, in addition to the first."""

_MAIN, _LATER, _GRANTED, _ASIDE, _DENIED = 1.0, 0.8, 0.35, 0.45, 0.6

_THEIRS = r"(?:this|that|your|the|these|such|it|you|which)"
_THING = (
    r"(?:(?:\w+ ){0,2}(?:argument|claim|assumption|view|notion|perspective|critique"
    r"|comparison|statement"
    r"|response|reasoning|position|assertion|approach|stance|viewpoint|point|idea|counter-?argument"
    r"|analogy|suggestion|logic|concern|narrative|interpretation|belief|criticism)s?)"
)
_OPINION = re.compile(
    r"^(?:(?:well|so|and|but|yet|yes|no|however|moreover|furthermore|nevertheless|nonetheless|still"
    r"|additionally|in fact|indeed|also|actually|again|instead|rather|ultimately"
    r"|in reality)\b,?\s+)*"
    r"(?:(?:in )?my (?:\w+ ){0,2}(?:argument|point|claim|view|opinion|position|concern"
    r"|stance|belief)"
    r"(?: (?:is|remains|was|still stands))?(?: still)?(?: that)?,?:?\s+"
    r"|i(?:'d| would| do| must| still| just)?(?: \w+ly| still| just)? (?:believe|think|feel"
    r"|hold|argue"
    r"|contend|claim|maintain|say|assert|am convinced|am of the opinion|am saying)(?: strongly)?"
    r"(?: that)?\s+)?",
    re.IGNORECASE,
)
_REPROACH = re.compile(
    rf"^{_THEIRS}\s*{_THING}?\s*(?:also |still |simply |conveniently |completely |\w+ly )?"
    r"(?:ignores?|overlooks?|neglects?|dismiss(?:es)?|disregards?|downplays?|misses|miss|forgets?"
    r"|underestimates?|fails? to (?:\w+ )?(?:acknowledge|consider|recogni[sz]e|account for|address"
    r"|take into account|see|grasp|appreciate|understand)|(?:do"
    r"|does)n't (?:\w+ )?(?:consider|account for"
    r"|address)|glosses over|sidesteps?)\s+"
    r"(?:the (?:\w+ )?(?:fact|reality|possibility|point|truth|evidence|notion) (?:that"
    r"|is)\s+|that\s+)?",
    re.IGNORECASE,
)
_PRESUMED = re.compile(
    rf"^{_THEIRS}\s*{_THING}?\s*(?:\w+ly )?(?:(?:assumes?|presumes?|presupposes?|conflates?|implies"
    r"|suggests?|relies on|rests on|is based on)\s+(?:a |an "
    r"|the )?(?:(?:\w+ )?(?:assumption|notion|idea)\s+)?"
    r"(?:that\s+)?)",
    re.IGNORECASE,
)
_CONCESSION = re.compile(
    r"^(?:while|whilst|although|though|even if|even though|despite|in spite of|granted|granting|"
    r"admittedly|i (?:understand|agree|acknowledge|concede|admit|see|appreciate|recogni[sz]e))\b",
    re.IGNORECASE,
)
_BUT = re.compile(r"(?:,|(?<!\s))\s+(?:but|yet|however)\b,?\s+", re.IGNORECASE)
_ASIDES = re.compile(
    r"(?:[,;]|(?<!\s))\s+"
    r"\b(?:rather than|instead of|as opposed to|regardless of|not just|not merely)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Part:
    """A part of an utterance, its weight, and whether the user denies it."""

    text: str
    weight: float
    denied: bool = False


@dataclass(frozen=True)
class Reading:
    """The last message of the user, and the conversation before."""

    message: str
    parts: tuple[Part, ...]
    claim: str
    earlier: tuple[str, ...]
    """Earlier messages of the user, oldest first."""
    own: tuple[str, ...]
    """Earlier responses of the system, oldest first."""
    all: tuple[str, ...] = ()
    """All messages and responses of the debate."""

    @property
    def assertion(self) -> str:
        """What the user asserts, without introducing phrases."""
        return " ".join(part.text for part in self.parts if not part.denied) or self.message

    @property
    def main(self) -> str:
        """The part with the highest weight that the user asserts."""
        return max(self.parts, key=lambda part: (not part.denied, part.weight)).text

    @property
    def answered(self) -> str:
        """The response that the user replies to."""
        return self.own[-1] if self.own else ""


def read(debate: Debate) -> Reading:
    """Read a debate whose last turn needs an answer."""
    message = _shortened(debate.last.utterance)
    before = debate.turns[:-1]
    kept = before[:1] + before[1:][-READ_TURNS:]
    earlier = tuple(_shortened(turn.utterance) for turn in kept)
    own = tuple(_shortened(turn.response.content) for turn in kept if turn.response)
    claim = earlier[0] if earlier else message
    everything = (*(text for turn in before for text in _texts(turn)), message)
    return Reading(message, tuple(parts(message)), claim, earlier, own, everything)


def _texts(turn: Turn) -> Iterator[str]:
    yield _shortened(turn.utterance)
    if turn.response:
        yield _shortened(turn.response.content)


def parts(message: str) -> list[Part]:
    """Split an utterance into parts that are asserted, conceded, denied or mentioned."""
    found: list[Part] = []
    for place, sentence in enumerate(sentences(message)):
        found += _of_sentence(sentence, _MAIN if place == 0 else _LATER)
    return [part for part in found if part.text] or [Part(message, _MAIN)]


def _of_sentence(sentence: str, weight: float) -> list[Part]:
    granted, rest = _conceded(_unframed(sentence))
    if not granted and not _PRESUMED.match(rest):
        granted, rest = _outweighed(rest)
    found = [Part(granted, weight * _GRANTED)] if granted else []
    rest = _unframed(rest)
    presumed = _PRESUMED.match(rest)
    if presumed:
        return found + _presumption(rest[presumed.end() :], weight)
    return found + _with_aside(_REPROACH.sub("", rest, count=1), weight)


def _presumption(text: str, weight: float) -> list[Part]:
    turn = re.search(r",\s+(?:but|when|whereas|while|however|yet|ignoring|overlooking)\b", text)
    if not turn:
        return [Part(text, weight * _DENIED, denied=True)]
    denied, asserted = text[: turn.start()], text[turn.end() :]
    return [Part(denied, weight * _DENIED, denied=True), *_with_aside(asserted.strip(), weight)]


def _with_aside(text: str, weight: float) -> list[Part]:
    aside = _ASIDES.search(text)
    if not aside or aside.start() < 20:
        return [Part(text, weight)]
    main, mentioned = text[: aside.start()], text[aside.end() :].strip()
    return [Part(main, weight), Part(mentioned, weight * _ASIDE, denied=True)]


def _unframed(text: str) -> str:
    return _OPINION.sub("", text.strip(), count=1).strip()


def _conceded(sentence: str) -> tuple[str, str]:
    """Split a leading concession from the objection."""
    if not _CONCESSION.match(sentence):
        return "", sentence
    turn = _BUT.search(sentence)
    cut = (turn.start(), turn.end()) if turn else _main_clause(sentence)
    if cut is None:
        return "", sentence
    return sentence[: cut[0]].strip(" ,"), sentence[cut[1] :].strip(" ,")


def _outweighed(sentence: str) -> tuple[str, str]:
    """Split the text before a `but` from the objection, if the objection is long enough."""
    turn = re.search(r",\s+(?:but|yet)\s+", sentence)
    if turn and len(sentence[turn.end() :].split()) >= 6:
        return sentence[: turn.start()], sentence[turn.end() :]
    return "", sentence


def _main_clause(sentence: str) -> tuple[int, int] | None:
    """Return the comma after a leading clause, if the rest is long enough."""
    for match in re.finditer(r",\s+", sentence):
        before, after = sentence[: match.start()], sentence[match.end() :]
        if len(before.split()) >= 4 and len(after.split()) >= 5 and _SUBJECT.match(after):
            return match.start(), match.end()
    return None


_SUBJECT = re.compile(
    r"(?!(?:and|or|which|who|such as|including|as|because|since|where|whose|especially)\b)",
    re.IGNORECASE,
)


def _shortened(text: str) -> str:
    return cut_to_words(clean(text), LONGEST)


CHAINED = 4
"""Arguments similar to the user's message whose attackers are searched."""
NAMED = 5
"""Words that a path names as shared with the user's message."""

_Route = tuple[str, str, str, tuple[str, ...]]
"""Name of a route, the field and the words to search, and a description for the user."""


@dataclass(slots=True)
class Candidate:
    """An argument that may be quoted, and the routes that found it."""

    argument: Argument
    routes: dict[str, float] = field(default_factory=dict)
    """Score per route, divided by the best score of that search."""
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Description per route of how it leads to the argument."""

    @property
    def path(self) -> tuple[str, ...]:
        """Description of the route with the best score; the first of equal ones."""
        best = max(self.routes, key=lambda route: self.routes[route], default="")
        return self.paths.get(best, ())


def gather(index: ArgumentIndex, reading: Reading, k: int) -> list[Candidate]:
    """Return the candidates of all routes, in a fixed order.

    Args:
        index: The index.
        reading: The debate as read.
        k: Hits per search.
    """
    found: dict[str, Candidate] = {}
    first = _search(index, _direct(reading), k, found)
    _search(index, _chained(reading.assertion, first.get("alike", [])), k, found)
    if not found:
        _search(index, _broad(reading), k, found)
    return list(found.values())


def _direct(reading: Reading) -> list[_Route]:
    mains = [part.text for part in reading.parts if not part.denied and part.weight >= 0.5]
    denied = [part.text for part in reading.parts if part.denied]
    context = f"{reading.claim} {reading.answered} {reading.assertion}"
    return [
        ("attacks", "attacks", reading.message, ("attacks a claim similar to yours",)),
        *(
            ("clause", "attacks", text, ("attacks a claim similar to a part of yours",))
            for text in mains[:3]
        ),
        *(
            ("denied", "supports", text, ("supports a claim similar to one you deny",))
            for text in denied[:2]
        ),
        ("alike", "text", reading.assertion, ("its text is similar to yours",)),
        ("context-attacks", "attacks", context, ("attacks a claim similar to the debate so far",)),
        ("context-text", "text", context, ("its text is similar to the debate so far",)),
        ("claim", "attacks", reading.claim, ("attacks a claim similar to your first one",)),
    ]


def _chained(assertion: str, alike: Sequence[Hit]) -> list[_Route]:
    """Return searches for attackers of a text like the user's, and of the claim it supports."""
    routes: list[_Route] = []
    for hit in alike[:CHAINED]:
        shared = ", ".join(_shared_words(assertion, hit.argument.text))
        said = f"{hit.argument.id} is similar to what you say{shared and f' ({shared})'}"
        routes.append(
            ("chain", "attacks", hit.argument.text, (said, "attacks a claim similar to that"))
        )
        routes.append(
            (
                "sibling",
                "attacks",
                hit.argument.supports,
                (said, "attacks a claim similar to the one that it supports"),
            )
        )
    return routes


def _shared_words(assertion: str, text: str) -> list[str]:
    """Return the first content words of the user that a text has too, in any form."""
    there = {token.stem for token in read_passage(text).tokens}
    common = {
        token.stem: token.word
        for token in read_passage(assertion).tokens
        if token.matters and token.stem in there
    }
    return list(common.values())[:NAMED]


def _broad(reading: Reading) -> list[_Route]:
    """Return searches for all words of the debate, if no other search has hits."""
    everything = " ".join((reading.claim, *reading.earlier, *reading.own, reading.message))
    reasons = ("shares words with the debate",)
    return [("broad", name, everything, reasons) for name in ("attacks", "text", "supports")]


def _search(
    index: ArgumentIndex, routes: Iterable[_Route], k: int, found: dict[str, Candidate]
) -> dict[str, list[Hit]]:
    by_field: dict[str, list[_Route]] = {}
    for one in dict.fromkeys(routes):
        if content_words(one[2]):
            by_field.setdefault(one[1], []).append(one)
    hits: dict[str, list[Hit]] = {}
    for name, asked in by_field.items():
        answers = index.search_all(name, [words for _, _, words, _ in asked], k)
        for (route, _, _, path), answer in zip(asked, answers, strict=True):
            _note(found, route, path, answer)
            hits.setdefault(route, []).extend(answer)
    return hits


def _note(
    found: dict[str, Candidate], route: str, path: tuple[str, ...], answer: Sequence[Hit]
) -> None:
    best = max([hit.score for hit in answer], default=0.0)
    for hit in answer:
        argument = hit.argument
        candidate = found.get(argument.id)
        if candidate is None:
            candidate = found[argument.id] = Candidate(argument, {}, {})
        share = hit.score / best if best > 0 else 1.0
        if share > candidate.routes.get(route, -1.0):
            candidate.routes[route], candidate.paths[route] = share, path


_SAME = 0.6
"""Cosine of the attacked claim and the user's words from which they say the same."""
_COVERED, _ALIKE = 0.65, 0.35
"""Share of the attacked claim's terms, and cosine, from which longer words contain the claim."""
_ASSERTED = 0.5
"""Minimum weight of a part of the message; a concession has less."""


def opposes(argument: Argument, reading: Reading, library: Library) -> bool:
    """Whether the user asserts the claim that the argument attacks.

    Both must have nearly the same words and the same negation. Words shared with the user are not
    enough: most arguments on the user's side share them too.
    """
    claim = library.profile(argument).attacks
    denies = negated(argument.attacks)

    def asserts(part: Part) -> bool:
        if part.denied or part.weight < _ASSERTED or negated(part.text) != denies:
            return False
        said = library.lexis.vector(part.text)
        alike = cosine(claim, said)
        return alike >= _SAME or (alike >= _ALIKE and coverage(claim, said) >= _COVERED)

    return any(map(asserts, reading.parts))
