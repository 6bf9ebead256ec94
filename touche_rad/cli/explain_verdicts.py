"""`judge --explain`: why a response has its verdicts, in at most 20 lines a turn."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from touche_rad.calls import Calls
from touche_rad.cli import prepare
from touche_rad.cli.console import open_console, shorten, verdict_text
from touche_rad.cli.explain import MAX_LINES, counting, feature_line, print_json, print_lines
from touche_rad.cli.options import Common
from touche_rad.cli.prepare import Selected
from touche_rad.errors import UserError, nearest
from touche_rad.files.traces import TRACE, answer_text, read_trace
from touche_rad.plugins import ExplainsVerdicts
from touche_rad.runs.judging import ViewVerdicts, judge_view

if TYPE_CHECKING:
    from rich.console import Console

    from touche_rad.debate import Debate, Maxim
    from touche_rad.plugins import ExplainedVerdict, Judge

_MANY: Final = 40
"""Names from which an error does not list them."""


@dataclass(frozen=True)
class JudgedTurn:
    """The verdicts on a response, what decided them, and what the model said."""

    debate: str
    turn: int
    view: Debate
    verdicts: ViewVerdicts
    explained: Mapping[Maxim, ExplainedVerdict]
    replies: Sequence[str]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield one verdict after the other as JSON data."""
        for maxim, verdict in self.verdicts.verdicts.items():
            explained = self.explained.get(maxim)
            yield {
                "debate": self.debate,
                "turn": self.turn,
                "maxim": maxim.value,
                "score": verdict.score,
                "rationale": verdict.rationale,
                **verdict.extra,
                "fallback": self.verdicts.unscored.get(maxim),
                **(explained.record() if explained is not None else {}),
                "replies": list(self.replies),
            }


def explain_verdicts(
    source: Path,
    judge: Selected,
    options: Common,
    *,
    debate: str | None,
    turn: int | None,
    as_json: bool,
) -> int:
    """Judge the selected responses, and print what decides the verdicts; return the exit code."""
    turns = list(_selected(source, debate, turn))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "judged.jsonl")
        services = prepare.open_services(replace(options, trace=True), judge.plugin, out=out)
        trace = out.with_name(out.name + TRACE)
        work = _print_turns(
            judge.make(services),
            turns,
            trace,
            deadline=options.deadline,
            as_json=as_json,
        )
        return 0 if prepare.run_and_close(work, services.model) else 1


def _selected(
    source: Path, debate_id: str | None, turn: int | None
) -> Iterator[tuple[str, int, Debate]]:
    """Yield the responses that `--debate` and `--turn` select, with debate and turn."""
    from touche_rad import files

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
        ids = nearest(debate_id, names[::2])
        hint = ids if "did you mean" in ids or len(names) < _MANY else ""
        raise UserError(f"{source} has no debate {debate_id!r}{hint}")
    if not count:
        where = "" if turn is None else f" in turn {turn}"
        raise UserError(f"{source}: expected a response{where} to judge, and there is none")


async def _print_turns(
    judge: Judge,
    turns: Sequence[tuple[str, int, Debate]],
    trace: Path,
    *,
    deadline: float | None,
    as_json: bool,
) -> bool:
    console, good, calls = open_console(), True, 0
    for name, turn, view in turns:
        verdicts = await judge_view(judge, view, deadline=deadline)
        replies = _replies(trace)[calls:]
        calls += len(replies)
        one = JudgedTurn(name, turn, view, verdicts, await _explained(judge, view), replies)
        good = good and not verdicts.fallbacks
        if as_json:
            print_json(one.records())
        else:
            print_lines(short_lines(one, console), console)
    return good


async def _explained(judge: Judge, view: Debate) -> Mapping[Maxim, ExplainedVerdict]:
    """Return what decides the verdicts, if the judge can say it."""
    if not isinstance(judge, ExplainsVerdicts):
        return {}
    explained: Mapping[Maxim, ExplainedVerdict] = await Calls()(judge.explain, view)
    return explained


def _replies(trace: Path) -> list[str]:
    """Return the model's answers so far, or why there is none."""
    rows = read_trace(trace) if trace.is_file() else ()
    return [answer_text(row.get("answer")) or str(row.get("fault", "")) for row in rows]


def short_lines(one: JudgedTurn, console: Console) -> list[Text]:
    """Return the verdicts with bars and the features that count, in at most 20 lines."""
    width = console.width
    response = one.view.last.response
    lines = [
        Text(shorten(f"{one.debate} turn {one.turn}: {one.view.last.utterance}", width), "bold"),
        Text(shorten(f"  answer: {response.content if response else ''}", width)),
    ]
    for maxim in one.verdicts.verdicts:
        line, reason = verdict_text(one.verdicts, maxim)
        lines.append(line)
        explained = one.explained.get(maxim)
        if explained is not None and len(counting(explained.features)) > 1:
            lines.append(feature_line(explained.features, width))
        lines.append(Text(f"      {shorten(reason, width - 6)}", "dim"))
    room = MAX_LINES - len(lines)
    for number, reply in enumerate(one.replies[-room:] if room > 0 else (), 1):
        lines.append(Text(shorten(f"  model {number}: {reply}", width)))
    return lines
