"""What the debaters are told: each finding by side, and all of it in short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from judges.debgraph.graph import OTHER, SIDES, SceneGraph
from judges.debgraph.options import Options
from judges.debgraph.scores import COMPONENTS, Points, Scorecard
from judges.debgraph.showing import prompt_of, quoted
from judges.debgraph.verdicts import Clash, Fact
from touche_rad.contest import Side
from touche_rad.models import Model, drop_oldest
from touche_rad.text import clean, cut_to_words


class Condensed(BaseModel):
    """The key findings in short."""

    summary: Annotated[str, Field(json_schema_extra={"maxLength": 3_500})]


@dataclass(frozen=True)
class Finding:
    """A piece of feedback to one side."""

    about: Literal["fact", "persuasion", "structure"]
    arguments: tuple[int, ...]
    text: str
    role: Literal["own", "won", "lost", "split"] = "own"
    """Whether it is on the side's own argument, or on a pair that it won, lost or shared."""

    def record(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "arguments": list(self.arguments)}


Detailed = dict[Side, list[Finding]]


def detailed(
    graph: SceneGraph, facts: Sequence[Fact], clashes: Sequence[Clash],
    points: Mapping[Side, Points] | None, to: Literal["both", "winner"],
) -> Detailed:  # fmt: skip
    """Return each side's findings: false facts, clashes, then what its structure lacks."""
    found: Detailed = {side: [] for side in SIDES}
    for fact in facts:
        if fact.feedback:
            found[fact.side].append(Finding("fact", (fact.id,), fact.feedback))
    for clash in clashes:
        if not clash.feedback or clash.winner is None:
            continue
        for side in SIDES:
            role = _role(clash, side)
            if role != "lost" or to == "both":
                ids = (clash.pair.pro, clash.pair.con)
                found[side].append(Finding("persuasion", ids, clash.feedback, role))
    if points is not None:
        for side in SIDES:
            found[side] += _structural(graph, side, points)
    return found


def _role(clash: Clash, side: Side) -> Literal["won", "lost", "split"]:
    if clash.winner == "split":
        return "split"
    return "won" if clash.winner == side else "lost"


def _structural(graph: SceneGraph, side: Side, points: Mapping[Side, Points]) -> list[Finding]:
    """What can be seen in the graph alone."""
    own, other = points[side], points[OTHER[side]]
    found: list[Finding] = []
    bare = tuple(id_ for id_ in own.claims if id_ not in own.supported)
    if bare:
        found.append(Finding("structure", bare, "These claims have no premise."))
    unanswered = tuple(id_ for id_ in other.claims if id_ not in own.struck)
    if unanswered:
        told = f"These claims of the {OTHER[side]} side have no rebuttal."
        found.append(Finding("structure", unanswered, told))
    for group in graph.circles():
        if graph.side(group[0]) == side:
            told = "These arguments support each other in a circle."
            found.append(Finding("structure", tuple(group), told))
    return found


def close_call(card: Scorecard, options: Options) -> str:
    """Say that a debate was close, where it was."""
    apart = card.apart
    if apart is None or apart > options.close:
        return ""
    return f"The debate was close: the totals are {apart:.2f} apart."


async def condensed(
    model: Model, options: Options, graph: SceneGraph, card: Scorecard, found: Detailed
) -> str:
    """Have the findings summed up; nothing to sum up needs no call."""
    lines = [_line(graph, side, finding) for side in SIDES for finding in found[side]]
    if not lines:
        return ""
    prompt = prompt_of("condensed")
    values = {
        "words": options.condensed_words, "motion": quoted(graph.motion),
        "scores": _scores(card, options), "close": close_call(card, options), "lines": lines,
    }  # fmt: skip
    answer = await model.ask(
        prompt.messages(**values), Condensed, step="debgraph.condensed",
        shorten=drop_oldest(prompt, "lines", values),
    )  # fmt: skip
    return cut_to_words(clean(answer.summary), options.condensed_words)


def _line(graph: SceneGraph, side: Side, finding: Finding) -> str:
    """A finding with the words that it is on; a clash's feedback names its two sides itself."""
    named = [
        f"{id_}" if finding.about == "persuasion" else f"{id_} {quoted(graph.node(id_).text)}"
        for id_ in finding.arguments
    ]
    role = "" if finding.role == "own" else f", {finding.role}"
    told = f"{'argument' if len(named) == 1 else 'arguments'} {', '.join(named)}{role}"
    return f"To {side} ({finding.about}, {told}): {quoted(finding.text)}"


def _scores(card: Scorecard, options: Options) -> list[str]:
    rows = [(name, card.components[name]) for name in COMPONENTS if name in card.components]
    rows.append(("total", card.totals))
    lines = [
        f"{name}: "
        + ", ".join(f"{side} {'-' if its[side] is None else f'{its[side]:.2f}'}" for side in SIDES)
        for name, its in rows
    ]
    winner = card.winner(options.margin)
    return [*lines, f"winner by the scores: {winner or 'none could be had'}"]
