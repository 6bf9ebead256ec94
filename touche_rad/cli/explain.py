"""`respond --explain`: why an answer cites what it cites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text

from touche_rad.calls import Caller, Calls, call_context
from touche_rad.cli.console import Label, open_console, plain, print_json, say, wrapped
from touche_rad.debate import NOTHING_FOUND
from touche_rad.errors import UserError
from touche_rad.frozen import frozen
from touche_rad.plugins import ExplainedCandidate
from touche_rad.runs.fallbacks import FailureLog
from touche_rad.text import count_of, map_texts, redact

if TYPE_CHECKING:
    from rich.console import Console

    from touche_rad.debate import Debate, Response
    from touche_rad.plugins import Feature
    from touche_rad.runs.answering import Answer, Answerer

_MOST_CANDIDATES: Final = 5
"""Candidates that are shown."""
_MOST_REASONS: Final = 3
"""Features that the summary names."""
_INDENT: Final = "      "
_LEAST_PART: Final = 0.0005
"""Features that add less to the score do not count."""


def _parts(features: Mapping[str, Feature]) -> list[tuple[str, Feature]]:
    """Return the features that are part of the score, the biggest part first."""
    parts = [(name, part) for name, part in features.items() if abs(part.adds) >= _LEAST_PART]
    return sorted(parts, key=lambda named_part: -abs(named_part[1].adds))


@frozen
class Explanation:
    """The candidates for an answer, best first, and the answer."""

    debater: str
    candidates: Sequence[ExplainedCandidate]
    response: Response
    by_model: bool
    """Whether a model made the answer."""

    def is_chosen(self, candidate: ExplainedCandidate) -> bool:
        """Whether the answer cites the candidate, or, where candidates are answers, is it."""
        cited = {argument.id for argument in self.response.arguments}
        if cited.isdisjoint(argument.id for argument in self.candidates):
            return candidate.text == self.response.content
        return candidate.id in cited


async def explain(answer: Answer, debate: Debate, *, has_model: bool) -> Explanation:
    """Ask the debater that gave an answer for its candidates; a fixed sentence has none."""
    name = answer.by
    candidates: Sequence[ExplainedCandidate] = ()
    explain_answer = answer.debater and answer.debater.explain
    if explain_answer:
        with call_context(caller=Caller(name, debate.key, len(debate.turns) - 1)):
            candidates = await Calls()(explain_answer, debate.as_served())
        if not all(isinstance(candidate, ExplainedCandidate) for candidate in candidates):
            raise UserError(f"debater {name}: explain must return a list of ExplainedCandidate")
    return Explanation(name, candidates, answer.response, has_model and not answer.fallback)


def print_explanation(explanation: Explanation, console: Console, *heads: str) -> None:
    """Print the heads, what the answer cites and why, and the best candidates."""
    width = console.width
    lines = []
    for head in heads:
        lines += [*wrapped(Text(plain(head), "bold"), width), Text()]
    lines += wrapped(Text(_summary(explanation)), width)
    # The chosen candidates are shown whatever their rank, and all in the order of the ranks.
    ranked = list(enumerate(explanation.candidates, 1))
    chosen_first = sorted(ranked, key=lambda row: not explanation.is_chosen(row[1]))
    for rank, candidate in sorted(chosen_first[:_MOST_CANDIDATES]):
        chosen = explanation.is_chosen(candidate)
        mark = ">" if chosen else " "
        head = f"{mark} {rank:>2}. {plain(candidate.id):<8} {candidate.score:8.2f}"
        lines.append(Text(head, "bold" if chosen else ""))
        # The features that count with their parts of the score; one alone is the score.
        parts = [f"{name} {part.adds:+.1f}" for name, part in _parts(candidate.features)]
        if len(parts) > 1:
            lines += wrapped(Text(", ".join(parts), "cyan"), width, _INDENT)
        lines += wrapped(Text(plain(candidate.text), "" if chosen else "dim"), width, _INDENT)
        if candidate.fault and not chosen:
            lines += wrapped(Text(f"not used: {plain(candidate.fault)}"), width, _INDENT)
    more = len(ranked) - _MOST_CANDIDATES
    if more > 0:
        lines.append(Text(f"{count_of(more, 'more candidate')} (--json lists all)", "dim"))
    for line in lines:
        console.print(line, no_wrap=True, overflow="crop")


def _summary(explanation: Explanation) -> str:
    """Describe in words which candidate the answer cites, and why."""
    candidates = explanation.candidates
    if not candidates:
        return f"{explanation.debater} lists no candidates."
    count = f"{count_of(len(candidates), 'candidate')} of {explanation.debater}"
    ranked = enumerate(candidates, 1)
    chosen = [(rank, candidate) for rank, candidate in ranked if explanation.is_chosen(candidate)]
    if not chosen:
        why = ", as none fits the message" if explanation.response.content == NOTHING_FOUND else ""
        return f"{count}: the answer cites none of them{why}."
    rank, best = chosen[0]
    names = " and ".join(plain(candidate.id) for _, candidate in chosen)
    subject = ", which" if len(chosen) == 1 else f". {plain(best.id)}"
    choice = ", the model's choice" if explanation.by_model else ""
    place = "has the best score" if rank == 1 else f"is number {rank} by score"
    phrases = [
        f"{part.phrase} ({name} {part.adds:+.1f})"
        for name, part in _parts(best.features)
        if part.phrase and part.adds > 0
    ]
    summary = f"{count}: the answer cites {names}{choice}{subject} {place}."
    if phrases:
        summary += f" It {', '.join(phrases[:_MOST_REASONS])}."
    return summary


async def print_explanations(
    answerer: Answerer,
    debates: Iterable[Debate],
    *,
    has_model: bool,
    of_file: bool,
    as_json: bool,
    strict: bool,
) -> bool:
    """Answer each debate and print why the answer cites what it cites.

    Return whether every answer is from the selected debater; with `strict`, stop at another one.
    """
    failures = FailureLog(shows=False)  # the notices say it
    console = open_console()
    good = True
    for debate in debates:
        answer = await answerer.answer(debate, failures=failures)
        explanation = await explain(answer, debate, has_model=has_model)
        if answer.fallback:
            good = False
            say(answer.fallback.notice, Label.WARNING)
            if strict:
                break
        turn = len(debate.turns)
        if as_json:
            place = {"debate": debate.id, "turn": turn} if of_file else {}
            for rank, candidate in enumerate(explanation.candidates, 1):
                record = candidate.record(rank, chosen=explanation.is_chosen(candidate))
                print_json(map_texts(place | record, redact), None)
        else:
            heads = [explanation.response.content]
            if of_file:
                heads.insert(0, f"{debate.id} turn {turn}: {debate.last.utterance}")
            print_explanation(explanation, console, *heads)
    return good
