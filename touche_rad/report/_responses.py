"""What is counted of the debates: yes by turn, words of responses, and agreement of judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, Final

from touche_rad.criteria import Criteria
from touche_rad.score.confusion import (
    count_answers,
    distances,
    kappa,
    place_of_verdict,
    size_of,
)
from touche_rad.score.conversations import ClaimTopic, Conversation
from touche_rad.score.rates import count_verdicts, ranking_places
from touche_rad.score.significance import Floats
from touche_rad.text import count_words

_KAPPA: Final = (
    "Cohen’s kappa on the verdicts that both give, weighted on scales, as the mean of the "
    "criteria: 1 is full agreement, 0 is chance. A run that always says the same has .00 with "
    "every run, also with an identical one, because chance would agree as well. “–”: the two have "
    "no verdict on the same turn. Each stands beside the one with which it agrees most."
)


def shares_by_turn_and_claim(
    topics: Sequence[ClaimTopic], names: Sequence[str], lost: Sequence[int], criteria: Criteria
) -> dict[str, Any]:
    """Return shares of yes or mean answers, counted as in the ranking: by turn, and by claim."""
    turns = max(len(debate.turns) for topic in topics for debate in topic.conversations)
    places = ranking_places(criteria)
    of_turns = []
    for turn in range(turns):
        counts, _, _ = count_verdicts(topics, names, lost, criteria, turn)
        of_turns.append(_shares(counts[:, :, places].sum(axis=(0, 2))))
    by_turn = {}
    for name, values in zip(names, zip(*of_turns, strict=True), strict=False):
        if {*values} - {None}:
            by_turn[name] = values
    counts, _, _ = count_verdicts(topics, names, lost, criteria)
    sums = counts[: len(topics), :, places].sum(axis=2)
    return {"by_turn": by_turn, "by_claim": list(map(_shares, sums))}


def _shares(sums: Floats) -> list[float | None]:
    """Return the share of yes of each run; None if nothing is counted."""
    return [round(yes / total, 4) if total else None for yes, total in sums.tolist()]


def lengths_of(
    conversations: Iterable[Conversation], names: Sequence[str]
) -> dict[str, tuple[int, int, int]]:
    """Return the words per response of each run: the median between the ends of the middle 90 %."""
    lengths: dict[str, list[int]] = {}
    for debate in conversations:
        counts = [count_words(turn.response.content) for turn in debate.turns if turn.response]
        if counts:
            for run in debate.runs:
                lengths.setdefault(names[run], []).extend(counts)
    result = {}
    for name, counts_of_run in lengths.items():
        counts_of_run.sort()
        cut = len(counts_of_run) // 20
        median = counts_of_run[len(counts_of_run) // 2]
        result[name] = (counts_of_run[cut], median, counts_of_run[-1 - cut])
    return result


def agreement_of(
    conversations: Sequence[Conversation], names: Sequence[str], criteria: Criteria
) -> dict[str, Any] | None:
    """Return Cohen's kappa of each two judges, and of each with the labels; None for one rater.

    It is the mean of the criteria, as in the ranking; on scales it is weighted. Neighbours agree:
    each judge follows the one before it with which it agrees most.
    """
    votes: dict[tuple[str, str], list[int | None]] = defaultdict(list)
    for conversation in conversations:
        verdicts_of = dict(conversation.verdicts)
        for labels in conversation.labels or [{}] * len(conversation.turns):
            for key in criteria.keys:
                votes["label", key].append(labels.get(key))
        for run, name in enumerate(names):
            for verdicts in verdicts_of.get(run) or [{}] * len(conversation.turns):
                for criterion in criteria:
                    place = place_of_verdict(criterion, verdicts.get(criterion.key))
                    votes[name, criterion.key].append(place)
    voted = {rater for (rater, _), places in votes.items() if {*places} - {None}}
    raters = [name for name in ("label", *names) if name in voted]
    if len(raters) < 2:
        return None

    kappas: dict[frozenset[str], float | None] = {}
    for first, second in combinations(raters, 2):
        of_criteria = []
        for criterion in criteria:
            pairs = zip(votes[first, criterion.key], votes[second, criterion.key], strict=True)
            table = count_answers(pairs, size_of(criterion))
            if table.any():
                of_criteria.append(float(kappa(table, distances(criterion))))
        kappas[frozenset((first, second))] = fmean(of_criteria) if of_criteria else None

    order = raters[:1]
    while len(order) < len(raters):
        last = order[-1]
        rest = [name for name in raters if name not in order]
        order.append(max(rest, key=lambda name: kappas[frozenset((last, name))] or 0.0))
    rows = []
    for at, name in enumerate(order):
        rows.append([kappas[frozenset((name, before))] for before in order[:at]])
    return {
        "caption": "How far judges agree, beyond chance",
        "note": _KAPPA,
        "names": order,
        "rows": rows,
    }
