"""The share of yes among verdicts, or their mean, by criterion; the shares of categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from touche_rad.criteria import Criteria, Criterion
from touche_rad.debate import Verdict, Verdicts
from touche_rad.files import Labels
from touche_rad.score.confusion import label_score
from touche_rad.score.conversations import ClaimTopic
from touche_rad.score.result import MEAN, MISSING_OR_LOST
from touche_rad.score.significance import (
    Floats,
    Measured,
    mean_of,
    measured,
    resampled_sums,
)

Problems = Counter[tuple[str, str]]
"""How often each run has each problem."""
COUNTED: Final = {
    "missing or lost debates, which count as no": MISSING_OR_LOST,
    "missing turns, which count as no": "missing turn",
    "missing verdicts": "missing verdict",
    "debates given twice, the first counts": "repeated debate",
    "debates on claims of few runs, not counted": "other debate",
    "debates that the input does not have, not counted": "other debate",
    "not comparable, without a rank; debates that most other runs do not have": "other debate",
}
"""The problems of a run, and what is counted of each."""
DEBATES, _TURNS, _VERDICTS, _COPIES, _RARE, NOT_IN_INPUT, OTHER_DEBATES = COUNTED


def categories_in_words(criteria: Criteria) -> list[str]:
    """Say which criteria do not rank, because their answers are categories."""
    unranked = [criterion.key for criterion in criteria if not criterion.answers.scores]
    return [f"{key} has categories, which rank nothing" for key in unranked]


def answers_name(criteria: Criteria) -> str:
    """Return what the mean of the answers is."""
    kinds = {criterion.answers.kind for criterion in criteria}
    if "scale" in kinds:
        return "mean answer"
    return "share of yes" if "yes-no" in kinds else "share of answers"


def describe_scales(criteria: Criteria) -> str:
    """Say what 0 and 1 are on scales; empty without any."""
    is_scale = any(criterion.answers.kind == "scale" for criterion in criteria)
    return "; 0 is the lowest answer of a scale, and 1 the highest" if is_scale else ""


@dataclass(frozen=True, eq=False)
class AnswerShare:
    """What is measured of the verdicts on a criterion: their mean, or the share of a category."""

    criterion: Criterion
    key: str
    """Its name in tables."""
    category: str = ""
    place: int = 0
    """The place of the category among the answers."""

    def of(self, verdict: Verdict) -> float | None:
        """Return what a verdict adds: 1 for yes or the category, 0 to 1 on a scale."""
        if self.category:
            return None if verdict.answer is None else float(verdict.answer == self.category)
        is_scale = verdict.score is None or self.criterion.answers.kind == "scale"
        return verdict.score if is_scale else float(verdict.yes)

    def of_score(self, score: float | None) -> float:
        """Return what a score adds, which is the place of a category; without one, nothing."""
        return float(score == self.place if self.category else score or 0)

    def of_labels(self, several: Iterable[Labels]) -> float:
        """Return the mean of people's labels on a turn; nan without one."""
        scores = [label_score(labels, self.criterion) for labels in several]
        known = [self.of_score(score) for score in scores if not np.isnan(score)]
        return fmean(known) if known else np.nan


def answer_shares(criteria: Iterable[Criterion]) -> list[AnswerShare]:
    """Return what is measured: one share or mean of each criterion, or one of each category."""
    measured = []
    for criterion in criteria:
        if criterion.answers.kind != "categories":
            measured.append(AnswerShare(criterion, criterion.key))
            continue
        for place, name in enumerate(criterion.answers.names):
            measured.append(AnswerShare(criterion, f"{criterion.key}: {name}", name, place))
    return measured


def ranking_places(criteria: Criteria) -> list[int]:
    """Return the places of the answer shares that are part of the mean: none of categories."""
    return [at for at, share in enumerate(answer_shares(criteria)) if not share.category]


def count_yes(turns: Iterable[Verdicts], criteria: Criteria) -> Floats:
    """Sum the verdicts as `AnswerShare.of` has them, and count all."""
    measured = answer_shares(criteria)
    counts = np.zeros((len(measured), 2))
    for verdicts in turns:
        for at, share in enumerate(measured):
            value = share.of(verdicts.get(share.criterion.key, Verdict()))
            if value is not None:
                counts[at] += (value, 1)
    return counts


def shares(counts: Floats) -> Floats:
    """Return the share of yes in counts of `count_yes`; 0 where there is no verdict."""
    total = counts[..., 1]
    result: Floats = np.divide(counts[..., 0], total, out=np.zeros(total.shape), where=total > 0)
    return result


def measure_yes(counts: Floats, criteria: Criteria, samples: int, seed: int) -> dict[str, Measured]:
    """Return the answer shares as the mean of the judges, and first the mean of those that rank.

    Args:
        counts: Counts of `count_yes` by claim and judge.
        criteria: What the verdicts are on.
        samples: Number of bootstrap samples of claims.
        seed: Random seed of the bootstrap.
    """
    # Each judge counts alike, whatever the number of its verdicts.
    values = shares(counts.sum(axis=0)).mean(axis=0)
    resampled = resampled_sums(counts, samples, seed)
    draws = None if resampled is None else shares(resampled).mean(axis=1)
    return with_mean(dict(zip(answer_shares(criteria), measured(values, draws), strict=True)))


def with_mean(measured: Mapping[AnswerShare, Measured]) -> dict[str, Measured]:
    """Return the answer shares by name, and first the mean of those that rank, if there are any."""
    ranking = [value for share, value in measured.items() if not share.category]
    means = {MEAN: mean_of(ranking)} if ranking else {}
    return means | {share.key: value for share, value in measured.items()}


def count_verdicts(
    topics: Sequence[ClaimTopic],
    names: Sequence[str],
    lost: Sequence[int],
    criteria: Criteria,
) -> tuple[Floats, dict[str, Any], Problems]:
    """Count each run's verdicts that are yes, and all verdicts, by claim, run and criterion.

    Runs on the same claims are compared on the claims of all of them, so that nobody gains from
    debates or turns that are missing, lost or cannot be read: their verdicts are no.

    The first rows of counts are those of `topics`; lost debates come after them. Returns also how
    many of its debates and how many turns each run has, what share of the turns is in debates that
    it has, and how often each run has a problem.
    """
    losses = np.array(lost)
    firsts = [share.place == 0 for share in answer_shares(criteria)]  # one for each verdict
    counts, problems = _count_each(topics, names, criteria, firsts)
    counts = np.concatenate([counts, np.zeros((losses.max(), *counts.shape[1:]))])
    totals = counts[..., 1]  # a view: by claim, run and criterion
    for run, claims in _changed_claims(totals.sum(axis=2) > 0, losses):
        problems[names[run], _RARE] = claims.sum()
        counts[claims, run] = 0

    has_debate = totals.sum(axis=2) > 0
    debates = has_debate.sum(axis=0)
    sizes: dict[str, Any] = {"debates": {}, "turns": {}, "present": {}}
    groups = _groups_of_runs(has_debate) or [[]]
    largest = sorted(map(len, groups), reverse=True)
    # A run that lost all its debates should have those of most runs.
    max(groups, key=len).extend(np.flatnonzero((debates == 0) & (losses > 0)).tolist())
    for group in filter(None, groups):
        most = totals[:, group].max(axis=1)
        with_claim = np.count_nonzero(most.any(axis=1))
        # Lost debates have no claim: those that no run has get places after those of the claims.
        expected = max(with_claim, *(debates[run] + losses[run] for run in group))
        per_debate = most.sum(axis=0) / with_claim if with_claim else 1
        most[len(topics) : len(topics) + expected - with_claim] = per_debate
        turns = most[:, 0]  # all criteria have as many
        for run in group:
            name = names[run]
            there = has_debate[:, run]
            sizes["debates"][name] = f"{debates[run]} of {expected}"
            sizes["turns"][name] = int(np.rint(turns).sum())
            sizes["present"][name] = turns[there].sum() / turns.sum()
            problems[name, DEBATES] = expected - debates[run]
            problems[name, _TURNS] += int((turns - totals[:, run, 0])[there].sum())
            # Nothing is comparable with most runs if two groups are the largest.
            if len(group) < largest[0] or largest[0] in largest[1:]:
                problems[name, OTHER_DEBATES] = debates[run]
            totals[:, run] = most
    return counts, sizes, problems


def own_order(topics: Sequence[ClaimTopic], run: int, expected: Floats) -> list[int]:
    """Return the claims of a run by its first messages, with those of its lost debates last.

    Only other runs tell the claims of lost debates and of responses: so the bootstrap samples of a
    run are the same alone and beside others.
    """
    messages: dict[int, str] = {}
    for at, topic in enumerate(topics):
        for conversation in topic.conversations:
            if run in conversation.runs:
                messages[at] = conversation.turns[0].utterance
    places: list[int] = np.flatnonzero(expected).tolist()
    return sorted(places, key=lambda at: (at not in messages, messages.get(at)))


def _count_each(
    topics: Sequence[ClaimTopic],
    names: Sequence[str],
    criteria: Criteria,
    firsts: Sequence[bool],
) -> tuple[Floats, Problems]:
    """Count the verdicts that there are by claim, run and criterion, and what single debates lack.

    All criteria count: a missing verdict is a no.
    """
    problems: Problems = Counter()
    counts = np.zeros((len(topics), len(names), len(firsts), 2))
    for claim, topic in enumerate(topics):
        for conversation in topic.conversations:
            for run in conversation.repeated:
                problems[names[run], _COPIES] += 1
            for run, verdicts in conversation.verdicts.items():
                expected = conversation.places
                present = [verdicts[place] for place in expected if place < len(verdicts)]
                counts[claim, run] = count_yes(present, criteria)
                missing = len(present) - counts[claim, run, firsts, 1]
                problems[names[run], _VERDICTS] += int(missing.sum())
                problems[names[run], _TURNS] += len(expected) - len(present)
                counts[claim, run, :, 1] = len(expected)
    return counts, problems


def _changed_claims(
    has_debate: NDArray[np.bool_], losses: NDArray[np.int_]
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield the claims that few runs have, of each run that lacks as many of those of the others.

    One run is few, and fewer than half of the others are. What a run has lost it does not lack.
    """
    runs = has_debate.shape[1]
    with_claim = has_debate.sum(axis=1)
    is_rare = with_claim <= max(1, (runs - 1) // 2)
    for run, of_run in enumerate(has_debate.T):
        only_here = of_run & is_rare
        of_others = (with_claim > of_run) & ~only_here
        lacking = np.count_nonzero(of_others & ~of_run) - losses[run]
        if 0 < np.count_nonzero(only_here) <= lacking < of_others.sum():
            yield run, only_here


def _groups_of_runs(has_debate: NDArray[np.bool_]) -> list[list[int]]:
    """Return the runs that have claims in common, also by way of other runs."""
    groups: list[set[int]] = []
    for of_claim in has_debate:
        runs = set(np.flatnonzero(of_claim).tolist())
        joined = [group for group in groups if group & runs]
        groups = [*(group for group in groups if not group & runs), runs.union(*joined)]
    return [sorted(group) for group in groups if group]
