"""The debates as the report shows them: turns, cited arguments, supported sentences, verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict, Verdicts, path_of
from touche_rad.files import Labels
from touche_rad.report.asked import Call, Place
from touche_rad.text import content_words, count_words, sentences, words

How = Literal["quoted", "near", "none"]
NEAR = 0.6
"""Minimum share of a sentence's content words in one argument for `near`."""

_FRAME = re.compile(r"^[^:,]{1,40}[:,]\s+")


@dataclass(frozen=True)
class Supported:
    """A sentence, its support, and the supporting argument (counted from 0)."""

    text: str
    how: How
    argument: int | None = None


def supported(response: str, arguments: Sequence[str]) -> list[Supported]:
    """Find the support of each sentence in the cited arguments; quotations first."""
    return [_one(sentence, arguments) for sentence in sentences(response)]


def _one(sentence: str, arguments: Sequence[str]) -> Supported:
    for form in (sentence, _FRAME.sub("", sentence, count=1)):
        for number, text in enumerate(arguments):
            if quoted(form, text):
                return Supported(sentence, "quoted", number)
    shares = [(_share(sentence, text), -number) for number, text in enumerate(arguments)]
    best, number = max(shares, default=(0.0, 0))
    if best >= NEAR:
        return Supported(sentence, "near", -number)
    return Supported(sentence, "none")


def quoted(sentence: str, text: str) -> bool:
    """Whether a text contains the words of a sentence in sequence."""
    said = " ".join(words(sentence))
    return bool(said) and f" {said} " in f" {' '.join(words(text))} "


def _share(sentence: str, text: str) -> float:
    said = content_words(sentence)
    there = set(content_words(text))
    return sum(word in there for word in said) / len(said) if said else 0.0


SHOWN_TO_ANNOTATORS = 2


@dataclass(frozen=True)
class Sentence:
    """A sentence with the number of its argument."""

    text: str
    how: str
    number: int | None


@dataclass(frozen=True)
class Card:
    """A cited argument with its sentences; quoted ones are marked."""

    number: int
    argument: Argument
    sentences: tuple[Sentence, ...]

    @property
    def path(self) -> tuple[str, ...]:
        """The search steps that found the argument, if the debater reports them."""
        return path_of(self.argument)


@dataclass(frozen=True)
class Chip:
    """A verdict on a maxim, with its label if there is one."""

    maxim: Maxim
    verdict: Verdict | None
    label: int | None

    @property
    def differs(self) -> bool:
        """Whether verdict and label differ."""
        known = self.verdict is not None and self.label is not None
        return known and self.verdict.yes != bool(self.label)  # type: ignore[union-attr]


@dataclass
class Exchange:
    """A turn: utterance, response, citations and verdicts."""

    number: int
    user: str
    response: tuple[Sentence, ...]
    words: int
    cards: tuple[Card, ...]
    judged: list[tuple[str, tuple[Chip, ...]]] = field(default_factory=list)
    labels: Labels = field(default_factory=dict)
    calls: list[tuple[str, Sequence[Call]]] = field(default_factory=list)
    """The model calls for this turn by run."""

    @property
    def seen(self) -> tuple[Card, ...]:
        """The arguments that annotators saw."""
        return self.cards[:SHOWN_TO_ANNOTATORS]

    @property
    def rest(self) -> tuple[Card, ...]:
        """The arguments that annotators did not see."""
        return self.cards[SHOWN_TO_ANNOTATORS:]

    @property
    def marks(self) -> str:
        """The marks for the page's filter."""
        chips = [chip for _, row in self.judged for chip in row]
        names = {f"no-{one.maxim}" for one in chips if one.verdict and not one.verdict.yes}
        names |= {f"no-{maxim}" for maxim in Maxim if self.labels.get(maxim) == 0}
        if any(chip.differs for chip in chips):
            names.add("differs")
        if self.words > 60:
            names.add("long")
        if any(sentence.how == "none" for sentence in self.response):
            names.add("unsupported")
        return " ".join(sorted(names))


@dataclass
class Conversation:
    """A debate with the verdicts of every run that contains it."""

    number: int
    claim: str
    runs: list[str]
    exchanges: list[Exchange]


@dataclass(frozen=True)
class DebateVerdicts:
    """A debate of a run with its verdicts and labels, turn by turn."""

    run: str
    debate: Debate
    verdicts: Sequence[Verdicts] = ()
    labels: Sequence[Labels] = ()
    calls: Mapping[Place, Sequence[Call]] = field(default_factory=dict)


def conversations(judged: Iterable[DebateVerdicts]) -> list[Conversation]:
    """Merge equal debates of several runs."""
    by_turns: dict[tuple[Turn, ...], Conversation] = {}
    for one in judged:
        turns = one.debate.turns
        conversation = by_turns.get(turns)
        if conversation is None:
            claim = one.debate.claim or (turns[0].utterance if turns else one.debate.id)
            exchanges = [_exchange(number, turn) for number, turn in enumerate(turns, 1)]
            conversation = Conversation(len(by_turns) + 1, claim, [], exchanges)
            by_turns[turns] = conversation
        conversation.runs.append(one.run)
        _add(conversation.exchanges, one)
    return list(by_turns.values())


def _add(exchanges: Sequence[Exchange], one: DebateVerdicts) -> None:
    for place, exchange in enumerate(exchanges):
        asked = one.calls.get((one.debate.key, place), ())
        if asked:
            exchange.calls.append((one.run, asked))
    answered = (exchange for exchange in exchanges if exchange.response)
    for place, exchange in enumerate(answered):
        labels = one.labels[place] if place < len(one.labels) else {}
        exchange.labels = labels or exchange.labels
        if place < len(one.verdicts):
            exchange.judged.append((one.run, _chips(one.verdicts[place], labels)))


def _chips(verdicts: Verdicts, labels: Mapping[Maxim, int | None]) -> tuple[Chip, ...]:
    return tuple(Chip(maxim, verdicts.get(maxim), labels.get(maxim)) for maxim in Maxim)


def _exchange(number: int, turn: Turn) -> Exchange:
    if turn.response is None:
        return Exchange(number, turn.utterance, (), 0, ())
    return _answered(number, turn.utterance, turn.response)


def _answered(number: int, user: str, response: Response) -> Exchange:
    support = supported(response.content, [argument.text for argument in response.arguments])
    cards = tuple(
        Card(place + 1, argument, _marked(argument, place, support))
        for place, argument in enumerate(response.arguments)
    )
    said = tuple(
        Sentence(one.text, one.how, None if one.argument is None else one.argument + 1)
        for one in support
    )
    words = count_words(response.content)
    return Exchange(number, user, said or (Sentence("(empty)", "none", None),), words, cards)


def _marked(argument: Argument, place: int, support: Sequence[Supported]) -> tuple[Sentence, ...]:
    said = " ".join(one.text for one in support if one.argument == place and one.how == "quoted")
    return tuple(
        Sentence(one.text, one.how, place + 1 if one.how == "quoted" else None)
        for one in supported(argument.text, [said])
    )
