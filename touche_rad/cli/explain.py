"""`respond --explain`: why an answer cites what it cites, in at most 20 lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli.console import open_console, plain, say, shorten, wrapped
from touche_rad.debate import NOTHING_FOUND
from touche_rad.errors import UserError
from touche_rad.text import redact_data

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from touche_rad.debate import Debate, Response
    from touche_rad.plugins import ExplainedCandidate, Feature
    from touche_rad.runs.answering import Answer, Answerer

MAX_LINES: Final = 20
_SHOWN: Final = 5
"""Candidates that are shown, with three lines each."""
_REASONS: Final = 3
_SUMMARY_LINES: Final = 4
_LEAST: Final = 0.0005
"""Features that add less do not count."""


@dataclass(frozen=True)
class Explanation:
    """The candidates for an answer, and the answer."""

    debater: str
    candidates: Sequence[ExplainedCandidate]
    response: Response

    def is_chosen(self, candidate: ExplainedCandidate) -> bool:
        """Whether the answer cites the candidate, or is the candidate."""
        cited = {argument.id for argument in self.response.arguments}
        return candidate.id in cited or candidate.text == self.response.content

    def records(self) -> list[dict[str, Any]]:
        """Return the candidates as JSON data, best first."""
        return [
            one.record(rank, chosen=self.is_chosen(one))
            for rank, one in enumerate(self.candidates, 1)
        ]


async def explain(answerer: Answerer, answer: Answer, debate: Debate) -> Explanation:
    """Ask the debater that gave an answer for its candidates; a fixed sentence has none."""
    from touche_rad.calls import Calls, call_context
    from touche_rad.plugins import ExplainedCandidate, Explains

    name, debater = answer.by, answerer.debater_of(answer)
    candidates: Any = ()
    if debater is not None:
        if not isinstance(debater, Explains):
            raise UserError(
                f"debater {name} does not list its candidates (it has no method explain)"
            )
        with call_context(plugin=name, debate=debate.key, turn=len(debate.turns) - 1):
            candidates = await Calls()(debater.explain, debate)
        if not all(isinstance(one, ExplainedCandidate) for one in candidates):
            raise UserError(f"debater {name}: explain must return a list of ExplainedCandidate")
    return Explanation(name, tuple(candidates), answer.response)


def print_explanation(explanation: Explanation, console: Console, header: str = "") -> None:
    """Print what the answer cites, and the best candidates, in at most 20 lines."""
    from rich.text import Text

    width = console.width
    lines = [Text(shorten(header, width), "bold")] if header else []
    ranked = list(enumerate(explanation.candidates, 1))
    lines += wrapped(Text(_summary(explanation, ranked)), width)[:_SUMMARY_LINES]
    for rank, one in _best(explanation, ranked):
        chosen = explanation.is_chosen(one)
        head = f"{'>' if chosen else ' '} {rank:>2}. {shorten(one.id, 24):<8} {one.score:8.2f}"
        lines.append(Text(head, "bold" if chosen else ""))
        if len(one.features) > 1:
            lines.append(feature_line(one.features, width))
        lines.append(Text(f"      {shorten(one.text, width - 6)}", "" if chosen else "dim"))
    print_lines(lines, console)


def _best(
    explanation: Explanation, ranked: list[tuple[int, ExplainedCandidate]]
) -> list[tuple[int, ExplainedCandidate]]:
    """Return the best candidates; chosen ones replace the last of them."""
    chosen = [row for row in ranked if explanation.is_chosen(row[1])][:_SHOWN]
    others = [row for row in ranked if row not in chosen]
    return sorted([*chosen, *others[: _SHOWN - len(chosen)]], key=lambda row: row[0])


def counting(features: Mapping[str, Feature]) -> list[tuple[str, Feature]]:
    """Return the features that are part of the score, the biggest part first."""
    parts = [(name, one) for name, one in features.items() if abs(one.adds) >= _LEAST]
    return sorted(parts, key=lambda part: -abs(part[1].adds))


def feature_line(features: Mapping[str, Feature], width: int) -> Text:
    """Return the features that count with their parts of the score, as many as fit."""
    from rich.text import Text

    parts = [f"{name} {one.adds:+.1f}" for name, one in counting(features)]
    return Text(f"      {shorten(', '.join(parts), width - 6)}", "cyan")


def _summary(explanation: Explanation, ranked: list[tuple[int, ExplainedCandidate]]) -> str:
    """Describe in words which candidate the answer cites, and why."""
    count = f"{len(ranked)} candidate{'' if len(ranked) == 1 else 's'} of {explanation.debater}"
    chosen = [row for row in ranked if explanation.is_chosen(row[1])]
    if not ranked:
        return f"{count}: it has nothing to cite."
    if not chosen:
        why = ", as none fits the message" if explanation.response.content == NOTHING_FOUND else ""
        return f"{count}: the answer cites none of them{why}."
    rank, one = chosen[0]
    names = " and ".join(plain(each.id) for _, each in chosen)
    place = "has the best score" if rank == 1 else f"is number {rank} by score"
    which = ", which" if len(chosen) == 1 else f". {plain(one.id)}"
    phrases = [
        f"{part.phrase} ({name} {part.adds:+.1f})"
        for name, part in counting(one.features)
        if part.phrase and part.adds > 0
    ][:_REASONS]
    reasons = f" It {', '.join(phrases)}." if phrases else ""
    skipped = "" if rank == 1 else " Better ones could not be quoted or were said before."
    return f"{count}: the answer cites {names}{which} {place}.{reasons}{skipped}"


async def print_explanations(
    answerer: Answerer, debates: Iterable[Debate], *, of_file: bool, as_json: bool, strict: bool
) -> bool:
    """Answer each debate and print why the answer cites what it cites.

    Return whether every answer is from the selected debater; with `strict`, stop at another one.
    """
    from touche_rad.files.outputs import WARNING
    from touche_rad.runs.fallbacks import FailureLog

    answerer.failures = FailureLog(shows=False)
    console, good = open_console(), True
    for debate in debates:
        answer = await answerer.answer(debate)
        explanation = await explain(answerer, answer, debate)
        good = good and answer.fallback is None
        for notice in answer.notices:
            say(f"{WARNING}{notice}")
        if strict and not good:
            break
        turn = len(debate.turns) - 1
        if as_json:
            place = {"debate": debate.id, "turn": turn} if of_file else {}
            print_json({**place, **record} for record in explanation.records())
        else:
            header = f"{debate.id} turn {turn}: {debate.last.utterance}" if of_file else ""
            print_explanation(explanation, console, header)
    return good


def print_json(records: Iterable[dict[str, Any]]) -> None:
    """Print one JSON object per line, without secrets."""
    for record in records:
        click.echo(json.dumps(redact_data(record), ensure_ascii=False))


def print_lines(lines: Iterable[Text], console: Console) -> None:
    """Print lines that are cut at the right side."""
    for line in lines:
        console.print(line, no_wrap=True, overflow="crop")
