"""`respond --explain`: why an answer cites what it cites, in at most 20 lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from touche_rad.cli.screen import bar, open_console, plain, shorten, wrapped
from touche_rad.debate import NOTHING_FOUND
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from touche_rad.debate import Debate, Response
    from touche_rad.plugins import Debater, ExplainedCandidate, Feature
    from touche_rad.runs.answering import Answer, Answerer

MAX_LINES: Final = 20
_SHOWN: Final = 5
"""Candidates that are shown, with three lines each."""
_REASONS: Final = 3
_BAR, _SMALL_BAR = 24, 5
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


async def explain(name: str, debater: Debater, debate: Debate, response: Response) -> Explanation:
    """Ask a debater for the candidates of an answer.

    Raises:
        UserError: The debater has no method `explain`.
    """
    from touche_rad.calls import Calls, call_context
    from touche_rad.plugins import ExplainedCandidate, Explains

    if not isinstance(debater, Explains):
        raise UserError(f"debater {name} does not list its candidates (it has no method explain)")
    with call_context(plugin=name, debate=debate.key, turn=len(debate.turns) - 1):
        candidates: Any = await Calls()(debater.explain, debate)
    if not all(isinstance(one, ExplainedCandidate) for one in candidates):
        raise UserError(f"debater {name}: explain must return a list of ExplainedCandidate")
    return Explanation(name, tuple(candidates), response)


async def explain_answer(answerer: Answerer, debate: Debate) -> tuple[Answer, Explanation]:
    """Answer a debate, and explain the answer of the debater that gave it."""
    answer = await answerer.answer(debate)
    debater = answerer.debater_of(answer)
    if debater is None:
        return answer, Explanation(answer.by, (), answer.response)
    return answer, await explain(answer.by, debater, debate, answer.response)


def print_explanation(
    explanation: Explanation, console: Console, *, header: str = "", everything: bool = False
) -> None:
    """Print an explanation.

    Args:
        explanation: What to print.
        console: Where to print it.
        header: A line above it.
        everything: Print all candidates with all features; otherwise at most 20 lines.
    """
    lines = all_lines(explanation) if everything else short_lines(explanation, console, header)
    if everything and header:
        console.print(plain(header), style="bold", soft_wrap=True)
    for line in lines:
        console.print(line, soft_wrap=everything, no_wrap=not everything, overflow="crop")


def print_json(explanation: Explanation, debate: Debate, *, of_file: bool) -> None:
    """Print one JSON object per candidate; those of a file name their debate and turn."""
    import click

    from touche_rad.text import redact_data

    place = {"debate": debate.id, "turn": len(debate.turns) - 1} if of_file else {}
    for record in explanation.records():
        click.echo(json.dumps(redact_data({**place, **record}), ensure_ascii=False))


def short_lines(explanation: Explanation, console: Console, header: str = "") -> list[Text]:
    """Return the best candidates with bars, and the reason in words."""
    from rich.text import Text

    width = console.width
    top = [Text(shorten(header, width), "bold")] if header else []
    ranked = list(enumerate(explanation.candidates, 1))
    shown = _selected(explanation, ranked)
    room = MAX_LINES - len(top) - 3 * len(shown)
    top += _cut(wrapped(_reason(explanation, ranked), width), room)
    if not shown:
        return top
    most = max((abs(one.score) for _, one in shown), default=0.0) or 1.0
    parts = [abs(part.adds) for _, one in shown for part in one.features.values()]
    scale = max(parts, default=0.0) or 1.0
    ascii_only = console.options.ascii_only
    for rank, one in shown:
        chosen = explanation.is_chosen(one)
        mark = (">" if ascii_only else "▶") if chosen else " "
        head = Text(f"{mark} {rank:>2}. {shorten(one.id, 24):<8} {one.score:8.2f}  ")
        head.append(bar(one.score / most, min(_BAR, width // 3), ascii_only=ascii_only), "cyan")
        head.stylize("bold" if chosen else "", 0, 24)
        top.append(head)
        if len(one.features) > 1:
            top.append(feature_line(one.features, scale, width, ascii_only=ascii_only))
        top.append(Text(f"      {shorten(one.text, width - 6)}", "" if chosen else "dim"))
    return top


def _selected(
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


def feature_line(
    features: Mapping[str, Feature], scale: float, width: int, *, ascii_only: bool
) -> Text:
    """Return the features that count with bars, as many as fit."""
    from rich.text import Text

    line = Text(" " * 5)
    for name, feature in counting(features):
        drawn = bar(feature.adds / scale, _SMALL_BAR, ascii_only=ascii_only)
        part = Text(f" {name} ")
        part.append(drawn, "red" if feature.adds < 0 else "green")
        part.append(f"{feature.adds:.1f} ")
        if line.cell_len + part.cell_len > width:
            break
        line.append_text(part)
    line.rstrip()
    return line


def _reason(explanation: Explanation, ranked: list[tuple[int, ExplainedCandidate]]) -> Text:
    """Describe in words which candidate the answer cites, and why."""
    from rich.text import Text

    count = f"{len(ranked)} candidate{'' if len(ranked) == 1 else 's'} of {explanation.debater}"
    chosen = [row for row in ranked if explanation.is_chosen(row[1])]
    if not ranked:
        return Text(f"{count}: it has nothing to cite.")
    if not chosen:
        why = ", as none fits the message" if explanation.response.content == NOTHING_FOUND else ""
        return Text(f"{count}: the answer cites none of them{why}.")
    rank, one = chosen[0]
    text = Text(f"{count}: the answer cites ")
    text.append(" and ".join(plain(each.id) for _, each in chosen), "bold")
    if len(chosen) > 1:
        text.append(f". {plain(one.id)}")
    else:
        text.append(", which")
    place = "has the best score" if rank == 1 else f"is number {rank} by score"
    said = [
        f"{part.phrase} ({name} {part.adds:+.1f})"
        for name, part in counting(one.features)
        if part.phrase and part.adds > 0
    ][:_REASONS]
    text.append(f" {place}.")
    if said:
        text.append(f" It {_listed(said)}.")
    if rank > 1:
        text.append(" Better ones could not be quoted, were said before, or were not selected.")
    elif len(ranked) > 1:
        text.append(f" {_ahead(one, ranked[1][1])}")
    return text


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _ahead(first: ExplainedCandidate, second: ExplainedCandidate) -> str:
    """Describe what puts the first candidate before the second."""
    if first.score - second.score < _LEAST:
        return f"{plain(second.id)} has the same score."
    names = {*first.features, *second.features}
    gaps = {
        name: (first.features[name].adds if name in first.features else 0.0)
        - (second.features[name].adds if name in second.features else 0.0)
        for name in names
    }
    for_it = sorted((name for name in names if gaps[name] > _LEAST), key=lambda name: -gaps[name])
    why = ", ".join(f"{name} {gaps[name]:+.1f}" for name in for_it[:2])
    return f"{plain(second.id)} follows with {second.score:.1f}{f' ({why})' if why else ''}."


def _cut(lines: list[Text], most: int) -> list[Text]:
    if len(lines) > most:
        lines = lines[:most]
        lines[-1].append(" …")
    return lines


def all_lines(explanation: Explanation) -> list[str]:
    """Return all candidates with all features."""
    lines: list[str] = []
    for rank, one in enumerate(explanation.candidates, 1):
        routes = " ".join(f"{plain(name)}={share:.3f}" for name, share in one.routes.items())
        lines.append(
            f"  rank={rank}  id={plain(one.id)}  score={one.score:.3f}"
            f"  chosen={explanation.is_chosen(one)}  routes={routes}  topic={plain(one.topic)}"
        )
        lines.append(f"      {plain(one.text)}")
        lines += [
            f"      {plain(name)}: value={part.value:.3f} weight={part.weight:.3f}"
            f" adds={part.adds:.3f}"
            for name, part in one.features.items()
        ]
    return lines


async def print_explanations(
    answerer: Answerer,
    debates: Iterable[Debate],
    *,
    of_file: bool,
    as_json: bool,
    every: bool,
    strict: bool = False,
) -> bool:
    """Answer each debate and print why the answer cites what it cites.

    With `strict`, stop at the first answer that is not from the selected debater.

    Returns:
        Whether every answer is from the selected debater.
    """
    from touche_rad.cli.console import say
    from touche_rad.files.outputs import WARNING
    from touche_rad.runs.stand_ins import FailureLog

    answerer.failures = FailureLog(shows=False)
    console, good = open_console(), True
    for debate in debates:
        answer, explanation = await explain_answer(answerer, debate)
        good = good and answer.stand_in is None
        for notice in answer.notices:
            say(f"{WARNING}{notice}")
        if strict and not good:
            break
        if as_json:
            print_json(explanation, debate, of_file=of_file)
            continue
        turn = f"{debate.id} turn {len(debate.turns) - 1}: {debate.last.utterance}"
        print_explanation(explanation, console, header=turn if of_file else "", everything=every)
    return good
