"""`--explain`: why an answer cites what it cites, and why a response has its verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from touche_rad import files
from touche_rad.calls import Caller, Calls, call_context
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, open_console, plain, say, shorten, verdict_text, wrapped
from touche_rad.criteria import grice
from touche_rad.debate import NOTHING_FOUND
from touche_rad.errors import UserError, nearest
from touche_rad.plugins import ExplainedCandidate
from touche_rad.runs.fallbacks import FailureLog
from touche_rad.runs.judging import ViewVerdicts, judge_view
from touche_rad.text import redact_data

if TYPE_CHECKING:
    from rich.console import Console

    from touche_rad.cli.options import Common
    from touche_rad.debate import Debate, Response
    from touche_rad.plugins import Configured, ExplainedVerdict, Feature, LoadedJudge
    from touche_rad.runs.answering import Answer, Answerer

_SHOWN: Final = 5
"""Candidates that are shown, with three lines each."""
_REASONS: Final = 3
_SUMMARY_LINES: Final = 4
_LEAST: Final = 0.0005
"""Features that add less do not count."""


def _print_json(records: Iterable[dict[str, Any]]) -> None:
    for record in records:
        click.echo(json.dumps(redact_data(record), ensure_ascii=False))


def _print_lines(lines: Iterable[Text], console: Console) -> None:
    for line in lines:
        console.print(line, no_wrap=True, overflow="crop")


def _parts(features: Mapping[str, Feature]) -> list[tuple[str, Feature]]:
    """Return the features that are part of the score, the biggest part first."""
    parts = [(name, one) for name, one in features.items() if abs(one.adds) >= _LEAST]
    return sorted(parts, key=lambda part: -abs(part[1].adds))


def _feature_line(features: Mapping[str, Feature], width: int) -> Text:
    """Return the features that count with their parts of the score, as many as fit."""
    parts = [f"{name} {one.adds:+.1f}" for name, one in _parts(features)]
    return Text(f"      {shorten(', '.join(parts), width - 6)}", "cyan")


# --- respond --explain


@dataclass(frozen=True)
class Explanation:
    """The candidates for an answer, best first, and the answer."""

    debater: str
    candidates: Sequence[ExplainedCandidate]
    response: Response

    def is_chosen(self, candidate: ExplainedCandidate) -> bool:
        """Whether the answer cites the candidate, or is the candidate."""
        cited = {argument.id for argument in self.response.arguments}
        return candidate.id in cited or candidate.text == self.response.content


async def explain(answerer: Answerer, answer: Answer, debate: Debate) -> Explanation:
    """Ask the debater that gave an answer for its candidates; a fixed sentence has none."""
    name, debater = answer.by, answer.debater
    candidates: Sequence[ExplainedCandidate] = ()
    if debater is not None:
        explain_answer = debater.explain
        if explain_answer is None:
            raise UserError(
                f"debater {name} does not list its candidates (it has no method explain)"
            )
        with call_context(caller=Caller(name, debate.key, len(debate.turns) - 1)):
            candidates = await Calls()(explain_answer, debate)
        if not all(isinstance(one, ExplainedCandidate) for one in candidates):
            raise UserError(f"debater {name}: explain must return a list of ExplainedCandidate")
    return Explanation(name, tuple(candidates), answer.response)


def print_explanation(explanation: Explanation, console: Console, header: str = "") -> None:
    """Print what the answer cites, and the best candidates, in at most 20 lines."""
    width = console.width
    lines = [Text(shorten(header, width), "bold")] if header else []
    lines += wrapped(Text(_summary(explanation)), width)[:_SUMMARY_LINES]
    ranked = list(enumerate(explanation.candidates, 1))
    chosen_first = sorted(ranked, key=lambda row: not explanation.is_chosen(row[1]))
    for rank, one in sorted(chosen_first[:_SHOWN], key=lambda row: row[0]):
        chosen = explanation.is_chosen(one)
        head = f"{'>' if chosen else ' '} {rank:>2}. {shorten(one.id, 24):<8} {one.score:8.2f}"
        lines.append(Text(head, "bold" if chosen else ""))
        if len(one.features) > 1:
            lines.append(_feature_line(one.features, width))
        lines.append(Text(f"      {shorten(one.text, width - 6)}", "" if chosen else "dim"))
    _print_lines(lines, console)


def _summary(explanation: Explanation) -> str:
    """Describe in words which candidate the answer cites, and why."""
    number = len(explanation.candidates)
    count = f"{number} candidate{'' if number == 1 else 's'} of {explanation.debater}"
    ranked = enumerate(explanation.candidates, 1)
    chosen = [(rank, one) for rank, one in ranked if explanation.is_chosen(one)]
    if not chosen:
        why = ", as none fits the message" if explanation.response.content == NOTHING_FOUND else ""
        return f"{count}: the answer cites none of them{why}."
    rank, one = chosen[0]
    names = " and ".join(plain(each.id) for _, each in chosen)
    which = ", which" if len(chosen) == 1 else f". {plain(one.id)}"
    place = "has the best score" if rank == 1 else f"is number {rank} by score"
    phrases = [
        f"{part.phrase} ({name} {part.adds:+.1f})"
        for name, part in _parts(one.features)
        if part.phrase and part.adds > 0
    ][:_REASONS]
    reasons = f" It {', '.join(phrases)}." if phrases else ""
    return f"{count}: the answer cites {names}{which} {place}.{reasons}"


async def print_explanations(
    answerer: Answerer, debates: Iterable[Debate], *, of_file: bool, as_json: bool, strict: bool
) -> bool:
    """Answer each debate and print why the answer cites what it cites.

    Return whether every answer is from the selected debater; with `strict`, stop at another one.
    """
    failures = FailureLog(shows=False)  # the notices say it
    console, good = open_console(), True
    for debate in debates:
        answer = await answerer.answer(debate, failures=failures)
        explanation = await explain(answerer, answer, debate)
        good = good and answer.fallback is None
        for notice in answer.notices:
            say(notice, Label.WARNING)
        if strict and not good:
            break
        turn = len(debate.turns) - 1
        if as_json:
            place = {"debate": debate.id, "turn": turn} if of_file else {}
            _print_json(
                {**place, **one.record(rank, chosen=explanation.is_chosen(one))}
                for rank, one in enumerate(explanation.candidates, 1)
            )
        else:
            header = f"{debate.id} turn {turn}: {debate.last.utterance}" if of_file else ""
            print_explanation(explanation, console, header)
    return good


# --- judge --explain

Explained = Mapping[str, "ExplainedVerdict"]


def explain_verdicts(
    source: Path,
    judge: Configured[LoadedJudge],
    options: Common,
    *,
    debate: str | None,
    turn: int | None,
    as_json: bool,
) -> int:
    """Judge the selected responses, and print what decides the verdicts; return the exit code."""
    turns = list(_selected(source, debate, turn))
    with prepare.open_session(options, judge) as session:
        made = judge.make(session.services)
        work = partial(_print_turns, made, turns, deadline=options.deadline, as_json=as_json)
        return 0 if session.run(work) else 1


def _selected(
    source: Path, debate_id: str | None, turn: int | None
) -> Iterator[tuple[str, int, Debate]]:
    """Yield the responses that `--debate` and `--turn` select, with debate and turn."""
    names: list[str] = []
    count = 0
    for number, (debate, views) in enumerate(files.read_views(source, keep_lost=True), 1):
        names += [debate.id or str(number), str(number)]
        if debate_id is not None and debate_id not in names[-2:]:
            continue
        for view in views:
            if turn in (None, len(view.turns) - 1):
                count += 1
                yield names[-2], len(view.turns) - 1, view
    if debate_id is not None and debate_id not in names:
        hint = nearest(debate_id, names[::2])
        raise UserError(
            f"{source} has no debate {debate_id!r}{hint if 'did you mean' in hint else ''}"
        )
    if not count:
        where = "" if turn is None else f" in turn {turn}"
        raise UserError(f"{source}: expected a response{where} to judge, and there is none")


async def _print_turns(
    judge: LoadedJudge,
    turns: Sequence[tuple[str, int, Debate]],
    *,
    deadline: float | None,
    as_json: bool,
) -> bool:
    """Print the verdicts on each response; return whether all are from the judge."""
    console, good = open_console(), True
    for name, turn, view in turns:
        verdicts = await judge_view(judge, view, grice(), deadline=deadline)
        explained: Explained = {}
        if judge.explain is not None:
            explained = await Calls()(judge.explain, view)
        good = good and not verdicts.fallbacks
        if as_json:
            _print_json(
                {
                    "debate": name,
                    "turn": turn,
                    "maxim": key,
                    "score": verdict.score,
                    "rationale": verdict.rationale,
                    **verdict.extra,
                    "fallback": verdicts.unscored.get(key),
                    **(explained[key].record() if key in explained else {}),
                }
                for key, verdict in verdicts.verdicts.items()
            )
        else:
            head = f"{name} turn {turn}: {view.last.utterance}"
            console.print(Text(shorten(head, console.width), "bold"))
            _print_lines(_verdict_lines(view, verdicts, explained, console.width), console)
    return good


def _verdict_lines(
    view: Debate, judged: ViewVerdicts, explained: Explained, width: int
) -> Iterator[Text]:
    """Yield the answer, and each verdict with the features that count and its reason."""
    response = view.last.response
    yield Text(shorten(f"  answer: {response.content if response else ''}", width))
    for criterion in grice():
        line, reason = verdict_text(judged, criterion)
        yield line
        features = explained[criterion.key].features if criterion.key in explained else {}
        if len(_parts(features)) > 1:
            yield _feature_line(features, width)
        yield from wrapped(Text(plain(reason), "dim"), width, "      ")
