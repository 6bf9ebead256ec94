"""What is counted of the debates: verdicts by claim, words of responses, agreement of judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from statistics import fmean
from typing import Any, Final, Never

import numpy as np

from touche_rad.criteria import Criteria, Criterion
from touche_rad.score.confusion import (
    count_answers,
    distances,
    kappa,
    place_of_verdict,
    size_of,
)
from touche_rad.score.conversations import Conversation
from touche_rad.score.measures import mean
from touche_rad.score.rates import AnswerShare, answer_shares
from touche_rad.score.significance import Floats
from touche_rad.text import count_words

_BY_CLAIM: Final = (
    "What the runs’ judges say, not people. Claims on which the runs differ most are first. A cell "
    "opens its debate. “–”: the run has no debate on the claim, which counts as 0 if others count. "
    "A claim has its line in the run with the most debates (of several, the first by name)."
)
_KAPPA: Final = (
    "Cohen’s kappa, weighted on scales, as the mean of the criteria, over the turns that both "
    "judge (equal debates of several runs once), whose number stands behind it; the exact kappa "
    "of a ranking is over all labelled turns. 1 is full agreement, 0 is chance. A criterion on "
    "which both always give the same answer is left out: chance would agree as well. “–”: no turn "
    "or no criterion is left. Each stands beside the one with which it agrees most."
)


def verdicts_by_claim(counts: Floats, claims: int, criteria: Criteria) -> dict[str, Any]:
    """Return the judges' verdicts by claim and run, counted as in the ranking.

    There is one table of questions of yes or no, or one of each criterion; none of a single run.

    Args:
        counts: Counts of `count_verdicts`.
        claims: How many claims there are; after them, the counts have lost debates.
        criteria: What the verdicts are on.
    """
    if np.count_nonzero(counts[..., 1].sum(axis=(0, 2))) < 2:
        return {}
    captions = [_in_words(share.criterion) for share in answer_shares(criteria)]
    if all(criterion.answers.kind == "yes-no" for criterion in criteria):
        captions = ["Share of yes"] * len(captions)
    tables = []
    for caption in dict.fromkeys(captions):
        places = [at for at, of_share in enumerate(captions) if of_share == caption]
        shares = [answer_shares(criteria)[at] for at in places]
        values = []
        for of_claim in counts[:claims, :, places]:
            values.append([_cell(of_run, shares) for of_run in of_claim])
        tables.append({"caption": caption, "values": values})
    return {"caption": "Verdicts of judges by claim", "note": _BY_CLAIM, "tables": tables}


def _cell(counts: Floats, shares: Sequence[AnswerShare]) -> float | str | None:
    """Return the mean answer, or the most frequent category; None if nothing is counted."""
    answers, total = counts.sum(axis=0).tolist()
    if shares[0].category and answers:
        return shares[int(counts[:, 0].argmax())].category
    return None if shares[0].category or not total else round(answers / total, 4)


def _in_words(criterion: Criterion) -> str:
    """Say what stands in the table of a criterion, with the words of its answers."""
    answers = criterion.answers
    if answers.kind == "scale":
        low, *_, high = (f"{choice.value} {choice.text}".rstrip() for choice in answers.values)
        return f"{criterion.title}: mean answer, from 0 ({low}) to 1 ({high})"
    measure = "share of yes" if answers.kind == "yes-no" else "most frequent answer"
    return f"{criterion.title}: {measure}"


def responses_of(
    conversations: Iterable[Conversation], names: Sequence[str]
) -> dict[str, list[str]]:
    """Return the texts of the responses of each run."""
    texts: dict[str, list[str]] = {}
    for debate in conversations:
        responses = [turn.response.content for turn in debate.turns if turn.response]
        if responses:
            for run in debate.runs:
                texts.setdefault(names[run], []).extend(responses)
    return texts


def lengths_of(texts: Mapping[str, Iterable[str]]) -> dict[str, tuple[int, float, int]]:
    """Return the words per response of each run: the mean between the ends of the middle 90 %."""
    result = {}
    for name, of_run in texts.items():
        counts = sorted(map(count_words, of_run))
        cut = len(counts) // 20
        result[name] = (counts[cut], round(fmean(counts), 1), counts[-1 - cut])
    return result


def agreement_of(
    conversations: Sequence[Conversation], names: Sequence[str], criteria: Criteria
) -> dict[str, Any] | None:
    """Return Cohen's kappa of each two judges, and of each with the labels; None for one rater.

    It is the mean of the criteria, with the number of turns that both judge; on scales it is
    weighted. Neighbours agree: each judge follows the one before it with which it agrees most.
    `names` are the judges of the runs.
    """
    votes: dict[str, list[list[int | None]]] = defaultdict(list)
    for conversation in conversations:
        nothing: list[Mapping[str, Never]] = [{}] * len(conversation.turns)
        for labels in conversation.labels or nothing:
            votes["label"].append([labels.get(key) for key in criteria.keys])
        verdicts_of = {
            names[run]: verdicts for run, verdicts in reversed(conversation.verdicts.items())
        }
        for name in dict.fromkeys(names):
            for verdicts in verdicts_of.get(name, nothing):
                votes[name].append(
                    [
                        place_of_verdict(criterion, verdicts.get(criterion.key))
                        for criterion in criteria
                    ]
                )
    raters = [name for name, turns in votes.items() if {*chain.from_iterable(turns)} - {None}]
    if len(raters) < 2:
        return None

    columns = {name: list(zip(*votes[name], strict=True)) for name in raters}
    kappas: dict[tuple[str, str], tuple[float | None, int]] = {}
    for first, second in combinations(raters, 2):
        of_criteria = []
        common = np.zeros(len(votes[first]), dtype=bool)
        for criterion, *places in zip(criteria, columns[first], columns[second], strict=True):
            pairs = list(zip(*places, strict=True))
            common |= [None not in pair for pair in pairs]
            table = count_answers(pairs, size_of(criterion))
            if table.diagonal().max() < table.sum():
                of_criteria.append(float(kappa(table, distances(criterion))))
        kappas[first, second] = kappas[second, first] = (
            mean(of_criteria),
            int(common.sum()),
        )

    order = [raters.pop(0)]
    while raters:
        order.append(max(raters, key=lambda name: kappas[order[-1], name][0] or 0))
        raters.remove(order[-1])
    rows = []
    for at, name in enumerate(order):
        rows.append([kappas[before, name] for before in order[:at]])
    return {
        "caption": "How far judges agree, beyond chance",
        "note": _KAPPA,
        "names": order,
        "rows": rows,
    }
