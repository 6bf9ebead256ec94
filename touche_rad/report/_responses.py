"""What is counted of the debates: yes by turn, words of responses, and agreement of judges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from touche_rad.criteria import Criteria
from touche_rad.score.confusion import count_answers, kappa, score_of_place
from touche_rad.score.conversations import ClaimTopic, Conversation
from touche_rad.score.rates import count_verdicts
from touche_rad.text import count_words

_APART: Final = 1 - np.eye(2)


def shares_by_turn(
    topics: Sequence[ClaimTopic], names: Sequence[str], lost: Sequence[int], criteria: Criteria
) -> dict[str, list[float | None]]:
    """Return the share of yes of each run by turn, counted as in the ranking."""
    turns = max(len(debate.turns) for topic in topics for debate in topic.conversations)
    shares: dict[str, list[float | None]] = {name: [] for name in names}
    for turn in range(turns):
        counts, _, _ = count_verdicts(topics, names, lost, criteria, turn)
        for name, (yes, total) in zip(names, counts.sum(axis=(0, 2)).tolist(), strict=True):
            shares[name].append(yes / total if total else None)
    return {name: values for name, values in shares.items() if {*values} - {None}}


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

    Neighbours agree: each judge follows the one before it with which it agrees most.
    """
    votes: dict[str, list[int | None]] = {"label": []}
    votes |= {name: [] for name in names}
    for conversation in conversations:
        verdicts_of = dict(conversation.verdicts)
        for labels in conversation.labels or [{}] * len(conversation.turns):
            for criterion in criteria:
                place = labels.get(criterion.key)
                if place is not None and criterion.answers.kind == "scale":
                    place = int(score_of_place(criterion, place) >= 0.5)
                is_category = criterion.answers.kind == "categories"
                votes["label"].append(None if is_category else place)
        for run, name in enumerate(names):
            for verdicts in verdicts_of.get(run) or [{}] * len(conversation.turns):
                for key in criteria.keys:
                    verdict = verdicts.get(key)
                    known = verdict is not None and verdict.score is not None
                    votes[name].append(int(verdict.yes) if verdict and known else None)
    raters = [name for name, of_rater in votes.items() if {*of_rater} - {None}]
    if len(raters) < 2:
        return None

    kappas: dict[frozenset[str], float | None] = {}
    for at, first in enumerate(raters):
        for second in raters[:at]:
            pairs = zip(votes[first], votes[second], strict=True)
            table = count_answers((pair for pair in pairs if None not in pair), 2)
            known = table.sum() > 0
            kappas[frozenset((first, second))] = float(kappa(table, _APART)) if known else None

    order = raters[:1]
    while len(order) < len(raters):
        last = order[-1]
        rest = [name for name in raters if name not in order]
        order.append(max(rest, key=lambda name: kappas[frozenset((last, name))] or -1.0))
    rows = []
    for at, name in enumerate(order):
        rows.append([kappas[frozenset((name, before))] for before in order[:at]])
    return {"names": order, "rows": rows}
