"""What is counted of the debates: verdicts by claim, words of responses, agreement of judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, Final

import numpy as np

from touche_rad.criteria import Criteria, Criterion
from touche_rad.score.confusion import (
    count_answers,
    distances,
    kappa,
    place_of_verdict,
    size_of,
)
from touche_rad.score.conversations import ClaimTopic, Conversation
from touche_rad.score.rates import AnswerShare, answer_shares, count_verdicts
from touche_rad.score.significance import Floats
from touche_rad.text import count_words

_BY_CLAIM: Final = (
    "What the runs’ judges say, not people. Claims on which the runs differ most are first. A cell "
    "opens its debate."
)
_KAPPA: Final = (
    "Cohen’s kappa, weighted on scales, as the mean of the criteria, over the verdicts that both "
    "give; the exact kappa of a ranking is over all labelled turns. 1 is full agreement, 0 is "
    "chance. A run that always says the same has .00 with every run, also with an identical one, "
    "because chance would agree as well. “–”: the two have no verdict on the same turn. Each "
    "stands beside the one with which it agrees most."
)


def verdicts_by_claim(
    topics: Sequence[ClaimTopic], names: Sequence[str], lost: Sequence[int], criteria: Criteria
) -> dict[str, Any]:
    """Return the judges' verdicts by claim and run, counted as in the ranking.

    There is one table of questions of yes or no, or one of each criterion; none of a single run.
    """
    counts, _, _ = count_verdicts(topics, names, lost, criteria)
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
        for of_claim in counts[: len(topics), :, places]:
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


def lengths_of(texts: Mapping[str, Iterable[str]]) -> dict[str, tuple[int, int, int]]:
    """Return the words per response of each run: the median between the ends of the middle 90 %."""
    result = {}
    for name, of_run in texts.items():
        counts = sorted(map(count_words, of_run))
        cut = len(counts) // 20
        result[name] = (counts[cut], counts[len(counts) // 2], counts[-1 - cut])
    return result


def agreement_of(
    conversations: Sequence[Conversation], names: Sequence[str], criteria: Criteria
) -> dict[str, Any] | None:
    """Return Cohen's kappa of each two judges, and of each with the labels; None for one rater.

    It is the mean of the criteria; on scales it is weighted. Neighbours agree: each judge follows
    the one before it with which it agrees most.
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
                    votes[name, criterion.key].append(
                        place_of_verdict(criterion, verdicts.get(criterion.key))
                    )
    voted = {rater for (rater, _), places in votes.items() if {*places} - {None}}
    raters = [name for name in ("label", *names) if name in voted]
    if len(raters) < 2:
        return None

    kappas: dict[tuple[str, str], float | None] = {}
    for first, second in combinations(raters, 2):
        of_criteria = []
        for criterion in criteria:
            pairs = zip(votes[first, criterion.key], votes[second, criterion.key], strict=True)
            table = count_answers(pairs, size_of(criterion))
            if table.any():
                of_criteria.append(float(kappa(table, distances(criterion))))
        kappas[first, second] = kappas[second, first] = fmean(of_criteria) if of_criteria else None

    order = [raters.pop(0)]
    while raters:
        order.append(max(raters, key=lambda name: kappas[order[-1], name] or 0))
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
