"""The share of yes among verdicts: of each criterion, and the mean of the criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from touche_rad.criteria import Criteria
from touche_rad.debate import Verdicts
from touche_rad.errors import UserError
from touche_rad.score.conversations import ClaimTopic
from touche_rad.score.result import MEAN
from touche_rad.score.significance import (
    Floats,
    Measured,
    mean_of,
    measured,
    resampled_sums,
)


def ordered_criteria(criteria: Criteria) -> Criteria:
    """Return the criteria that rank: those whose answers are no categories."""
    ordered = [criterion for criterion in criteria if criterion.answers.kind != "categories"]
    if not ordered:
        raise UserError(f"{criteria.name} has only categories, which rank nothing")
    return criteria.model_copy(update={"criteria": tuple(ordered)})


def categories_in_words(criteria: Criteria) -> list[str]:
    """Say which criteria do not rank, because their answers are categories."""
    unranked = [criterion.key for criterion in criteria if not criterion.answers.scores]
    return [f"{key} has categories, which rank nothing: see --per turn" for key in unranked]


def answers_name(criteria: Criteria) -> str:
    """Return what the mean of the answers is."""
    if any(criterion.answers.kind == "scale" for criterion in criteria):
        return "mean answer (0 lowest, 1 highest)"
    return "share of yes"


def count_yes(turns: Iterable[Verdicts], criteria: Criteria) -> Floats:
    """Sum the verdicts, 1 for yes and 0 to 1 on a scale, and count all, by criterion."""
    counts = np.zeros((len(criteria), 2))
    for verdicts in turns:
        for at, criterion in enumerate(criteria):
            verdict = verdicts.get(criterion.key)
            if verdict is not None and verdict.score is not None:
                is_scale = criterion.answers.kind == "scale"
                counts[at, 0] += verdict.score if is_scale else verdict.yes
                counts[at, 1] += 1
    return counts


def shares(counts: Floats) -> Floats:
    """Return the share of yes in counts of `count_yes`; 0 where there is no verdict."""
    total = counts[..., 1]
    result: Floats = np.divide(counts[..., 0], total, out=np.zeros(total.shape), where=total > 0)
    return result


def measure_yes(counts: Floats, criteria: Criteria, samples: int, seed: int) -> dict[str, Measured]:
    """Return the share of yes as the mean of the judges: of each criterion, and of all.

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
    by_criterion = measured(values, draws)
    return {MEAN: mean_of(by_criterion), **dict(zip(criteria.keys, by_criterion, strict=True))}


def count_verdicts(
    topics: Sequence[ClaimTopic],
    names: Sequence[str],
    lost: Sequence[int],
    criteria: Criteria,
    turn: int | None = None,
) -> tuple[Floats, dict[str, str], Counter[tuple[str, str]]]:
    """Count each run's verdicts that are yes, and all verdicts, by claim, run and criterion.

    With `turn`, counted from 0, only those on this turn.

    Runs on the same claims are compared on the claims of all of them, so that nobody gains from
    debates or turns that are missing, lost or cannot be read: their verdicts are no.

    Returns also how many of its debates each run has, and how often each run has a problem.
    """
    problems: Counter[tuple[str, str]] = Counter()
    counts = np.zeros((len(topics), len(names), len(criteria), 2))
    for claim, topic in enumerate(topics):
        for conversation in topic.conversations:
            for run in conversation.repeated:
                problems[names[run], "debates given twice, the first counts"] += 1
            for run, place, verdicts in conversation.counted:
                if turn not in (None, place):
                    continue
                of_turn = count_yes([verdicts], criteria)
                missing = len(criteria) - int(of_turn[:, 1].sum())
                problems[names[run], "missing verdicts, counted as no"] += missing
                # All criteria count: a missing verdict is a no.
                counts[claim, run, :, 0] += of_turn[:, 0]
                counts[claim, run, :, 1] += 1

    counts = np.concatenate([counts, np.zeros((max(lost), *counts.shape[1:]))])
    totals = counts[..., 1]  # a view: by claim, run and criterion
    has_debate = totals.sum(axis=2) > 0
    debates = has_debate.sum(axis=0)
    groups: list[set[int]] = []
    for of_claim in has_debate:
        runs = set(np.flatnonzero(of_claim).tolist())
        joined = [group for group in groups if group & runs]
        groups = [*(group for group in groups if not group & runs), runs.union(*joined)]
    debates_of = {}
    for group in map(sorted, filter(None, groups)):
        most = totals[:, group].max(axis=1, keepdims=True)
        claims = int(np.count_nonzero(most.sum(axis=(1, 2))))
        # Lost debates have no claim: those that no run has get places after those of the claims.
        expected = max(claims, *(int(debates[run]) + lost[run] for run in group))
        most[len(topics) : len(topics) + expected - claims] = most.sum(axis=0) / claims
        for run in group:
            name = names[run]
            debates_of[name] = f"{debates[run]} of {expected}"
            problems[name, "debates missing or lost, counted as no"] = expected - debates[run]
            missing = (most[:, 0] - totals[:, run])[has_debate[:, run]].sum()
            problems[name, "missing verdicts, counted as no"] += int(missing)
            if len(group) == 1 < np.count_nonzero(debates):
                problems[name, "not comparable; debates of no other run"] = debates[run]
        totals[:, group] = most
    return counts[counts.any(axis=(1, 2, 3))], debates_of, problems
