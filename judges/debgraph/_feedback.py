"""The feedback for the debaters: the findings on each side, and a summary of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel

from judges.debgraph._options import Options
from judges.debgraph._scores import Points, Scorecard
from judges.debgraph._verdicts import Clash, Fact
from judges.debgraph.graph import SceneGraph, quote
from touche_rad.contest import OTHER, SIDES, Side
from touche_rad.frozen import frozen
from touche_rad.models import Model, Prompt
from touche_rad.models.output import schema_limits
from touche_rad.text import clean, cut_to_words

SUMMARY_WORDS: Final = 500
"""Words of the condensed feedback, as in the paper."""


MAX_TOKENS: Final = 1_536
"""Token limit of the condensed feedback."""


class Condensed(BaseModel):
    """The summary of the key findings."""

    summary: Annotated[str, schema_limits(maxLength=3_500)]


@frozen
class SideFinding:
    """One piece of feedback for one side."""

    about: Literal["fact", "persuasion", "structure"]
    arguments: tuple[int, ...]
    text: str
    role: Literal["own", "won", "lost", "split"] = "own"
    """`own`: about the side's own arguments; else how the side did in a pair."""

    @property
    def key(self) -> tuple[object, str]:
        """What it has in common with the same finding for the other side."""
        return self.arguments, self.text


def find_feedback(
    graph: SceneGraph,
    facts: Sequence[Fact],
    clashes: Sequence[Clash],
    points: Mapping[Side, Points],
    to: Literal["both", "winner"],
) -> dict[Side, list[SideFinding]]:
    """Return each side's findings: false facts, clashes, then what its structure lacks."""
    findings: dict[Side, list[SideFinding]] = {side: [] for side in SIDES}
    for fact in facts:
        if fact.feedback:
            findings[fact.side].append(SideFinding("fact", (fact.id,), fact.feedback))
    for clash in clashes:
        if clash.feedback and clash.winner is not None:
            ids = (clash.pair.pro, clash.pair.con)
            for side in SIDES:
                role: Literal["won", "lost", "split"] = "won"
                if clash.winner == "split":
                    role = "split"
                elif clash.winner == OTHER[side]:
                    role = "lost"
                if role != "lost" or to == "both":
                    findings[side].append(SideFinding("persuasion", ids, clash.feedback, role))
    if points:  # the structure has a weight
        for side in SIDES:
            own_points = points[side]
            without_premise = set(own_points.claims) - set(own_points.supported)
            without_rebuttal = set(points[OTHER[side]].claims) - set(own_points.struck)
            groups = [
                (without_premise, "These claims have no premise."),
                (without_rebuttal, f"These claims of the {OTHER[side]} side have no rebuttal."),
            ]
            groups += [
                (set(cycle), "These arguments support each other in a circle.")
                for cycle in graph.cycles()
                if graph.side(cycle[0]) == side
            ]
            findings[side] += [
                SideFinding("structure", tuple(sorted(ids)), text) for ids, text in groups if ids
            ]
    return findings


def close_call(card: Scorecard, options: Options) -> str:
    """Return a note if the debate was close."""
    pro = card.totals["pro"]
    con = card.totals["con"]
    if pro is None or con is None or abs(pro - con) > options.close_margin:
        return ""
    return f"The debate was close: the totals differ by {abs(pro - con):.2f}."


async def condense(
    model: Model,
    graph: SceneGraph,
    card: Scorecard,
    findings: dict[Side, list[SideFinding]],
    decision: str,
    close: str,
) -> str:
    """Ask for a summary of the findings; without findings no call is made.

    `decision` says who won, and by what.
    """
    # The findings for both sides, for pro, and for con, each with its arguments' texts.
    # Only findings on pairs are for both: the others are on arguments of one side.
    shared = {finding.key for finding in findings["pro"]}
    shared &= {finding.key for finding in findings["con"]}
    lines = [
        _line(graph, "both", "pro", finding) for finding in findings["pro"] if finding.key in shared
    ]
    for side in SIDES:
        for finding in findings[side]:
            if finding.key not in shared:
                lines.append(_line(graph, side, side, finding))
    if not lines:
        return ""
    scores = []
    for name, by_side in {**card.components, "total": card.totals}.items():
        figures = []
        for side in SIDES:
            score = by_side[side]
            figures.append(f"{side} -" if score is None else f"{side} {score:.2f}")
        scores.append(f"{name}: {', '.join(figures)}")
    messages = Prompt.load(__package__, "condensed").messages(
        words=SUMMARY_WORDS,
        motion=quote(graph.motion),
        scores=[*scores, decision],
        close=close,
        lines=lines,
    )
    answer = await model.ask(messages, Condensed, step="debgraph.condensed", max_tokens=MAX_TOKENS)
    return cut_to_words(clean(answer.summary), SUMMARY_WORDS)


def _line(graph: SceneGraph, to: str, side: Side, finding: SideFinding) -> str:
    """Return a finding; `side` is the side whose result in a pair the finding holds."""
    texts = [f"{graph.side(id_)} {id_} {quote(graph.node(id_).text)}" for id_ in finding.arguments]
    if finding.about == "persuasion":
        results = {"won": f"{side} won", "lost": f"{OTHER[side]} won", "split": "no winner"}
        about = f"{' against '.join(texts)}, {results[finding.role]}"
    else:
        about = ", ".join(texts)
    return f"To {to} ({finding.about}: {about}): {quote(finding.text)}"
