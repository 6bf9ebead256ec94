"""The feedback for the debaters: the findings on each side, and a summary of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field

from judges.debgraph._options import Options
from judges.debgraph._scores import Points, Scorecard
from judges.debgraph._verdicts import Clash, Fact
from judges.debgraph.graph import OTHER, SIDES, SceneGraph, quoted
from touche_rad.contest import Side
from touche_rad.models import Model, Prompt
from touche_rad.text import clean, cut_to_words

SUMMARY_WORDS: Final = 500
"""Words of the condensed feedback, as in the paper."""


MAX_TOKENS: Final = 1_536
"""Token limit of the condensed feedback."""


@dataclass(frozen=True)
class Result:
    """The winner of the debate, and what decided it."""

    winner: Side | Literal["tie"] | None
    basis: Literal["the scores", "the judge's last verdict"]


class Condensed(BaseModel):
    """The summary of the key findings."""

    summary: Annotated[str, Field(json_schema_extra={"maxLength": 3_500})]


@dataclass(frozen=True)
class Finding:
    """One piece of feedback for one side."""

    about: Literal["fact", "persuasion", "structure"]
    arguments: tuple[int, ...]
    text: str
    role: Literal["own", "won", "lost", "split"] = "own"
    """`own`: about the side's own arguments; else how the side did in a pair."""

    def record(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {**asdict(self), "arguments": list(self.arguments)}


Detailed = dict[Side, list[Finding]]


def detailed(
    graph: SceneGraph,
    facts: Sequence[Fact],
    clashes: Sequence[Clash],
    points: Mapping[Side, Points] | None,
    to: Literal["both", "winner"],
) -> Detailed:
    """Return each side's findings: false facts, clashes, then what its structure lacks."""
    findings: Detailed = {side: [] for side in SIDES}
    for fact in facts:
        if fact.feedback:
            findings[fact.side].append(Finding("fact", (fact.id,), fact.feedback))
    for clash in clashes:
        if clash.feedback and clash.winner is not None:
            ids = (clash.pair.pro, clash.pair.con)
            for side in SIDES:
                lost = clash.winner == OTHER[side]
                role: Literal["won", "lost", "split"] = "lost" if lost else "won"
                role = "split" if clash.winner == "split" else role
                if not lost or to == "both":
                    findings[side].append(Finding("persuasion", ids, clash.feedback, role))
    if points is not None:
        for side in SIDES:
            findings[side] += _structural(graph, side, points)
    return findings


def _structural(graph: SceneGraph, side: Side, points: Mapping[Side, Points]) -> list[Finding]:
    """Return the findings from the graph alone, without a model."""
    own, other = points[side], points[OTHER[side]]
    groups = [
        (set(own.claims) - set(own.supported), "These claims have no premise."),
        (
            set(other.claims) - set(own.struck),
            f"These claims of the {OTHER[side]} side have no rebuttal.",
        ),
        *(
            (set(cycle), "These arguments support each other in a circle.")
            for cycle in graph.cycles()
            if graph.side(cycle[0]) == side
        ),
    ]
    return [Finding("structure", tuple(sorted(ids)), text) for ids, text in groups if ids]


def close_call(card: Scorecard, options: Options) -> str:
    """Return a note if the debate was close."""
    difference = card.difference
    if difference is None or difference > options.close_margin:
        return ""
    return f"The debate was close: the totals differ by {difference:.2f}."


async def condensed(
    model: Model, graph: SceneGraph, card: Scorecard, findings: Detailed, result: Result, close: str
) -> str:
    """Ask for a summary of the findings; without findings no call is made."""
    lines = _lines(graph, findings)
    if not lines:
        return ""
    messages = Prompt.load(__package__, "condensed").messages(
        words=SUMMARY_WORDS,
        motion=quoted(graph.motion),
        scores=_scores(card, result),
        close=close,
        lines=lines,
    )
    answer = await model.ask(messages, Condensed, step="debgraph.condensed", max_tokens=MAX_TOKENS)
    return cut_to_words(clean(answer.summary), SUMMARY_WORDS)


def _lines(graph: SceneGraph, findings: Detailed) -> list[str]:
    """Return the findings for both sides, for pro, and for con, each with its arguments' texts."""
    pro, con = findings["pro"], findings["con"]
    shared = {(one.arguments, one.text) for one in pro if one.about == "persuasion"}
    shared &= {(one.arguments, one.text) for one in con if one.about == "persuasion"}
    both = [one for one in pro if (one.arguments, one.text) in shared]
    lines = [_line(graph, "both", "pro", one) for one in both]
    for side in SIDES:
        rest = [one for one in findings[side] if (one.arguments, one.text) not in shared]
        lines += [_line(graph, side, side, one) for one in rest]
    return lines


def _line(graph: SceneGraph, to: str, side: Side, finding: Finding) -> str:
    """Return a finding; `side` is the side whose result in a pair the finding holds."""
    texts = [f"{graph.side(id_)} {id_} {quoted(graph.node(id_).text)}" for id_ in finding.arguments]
    if finding.about == "persuasion":
        won = {"won": f"{side} won", "lost": f"{OTHER[side]} won"}.get(finding.role, "no winner")
        about = f"{' against '.join(texts)}, {won}"
    else:
        about = ", ".join(texts)
    return f"To {to} ({finding.about}: {about}): {quoted(finding.text)}"


def _scores(card: Scorecard, result: Result) -> list[str]:
    lines = [
        f"{name}: "
        + ", ".join(f"{side} {'-' if its[side] is None else f'{its[side]:.2f}'}" for side in SIDES)
        for name, its in {**card.components, "total": card.totals}.items()
    ]
    return [*lines, f"winner by {result.basis}: {result.winner or 'unknown'}"]
