"""A leaderboard of debaters by people's labels on the debates of several runs.

Where people labelled some turns only, the verdicts of a judge on all turns correct the shares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from statistics import fmean

import numpy as np

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.debate import Debate, Verdict, Verdicts
from touche_rad.errors import InputError, UserError
from touche_rad.files.labels import Labels, digests, is_unsettled, say_unsettled
from touche_rad.samples import SAMPLES
from touche_rad.score import _correction as correction
from touche_rad.score._correction import JudgedTurns
from touche_rad.score.conversations import topics
from touche_rad.score.evaluations import criteria_of_all, read_evaluated, read_judged
from touche_rad.score.naming import Runs, baseline_names, each_run, named
from touche_rad.score.rates import (
    AnswerShare,
    answer_shares,
    categories_in_words,
    count_verdicts,
    shares,
    with_mean,
)
from touche_rad.score.reference import (
    NO_TEXTS,
    NO_TEXTS_FIX,
    Policy,
    find_reference,
    read_truth,
)
from touche_rad.score.shares import ShareReport, present_debates, share_report
from touche_rad.score.significance import FEWEST_FOR_INTERVAL, Measured, resampled_sums


def are_debaters(runs: Iterable[Path]) -> bool:
    """Whether runs are of debaters: simulations, or evaluations of different debates.

    Judges have verdicts on the same debates, each on all or on some of them. So runs are of
    debaters if no run has all debates on a claim, or if no debate is in two runs.
    """
    kinds = set()
    debates_of_runs = []
    for run in runs:
        with suppress(UserError):  # a run that cannot be read is reported when it is scored
            kinds.add(files.detect_kind(run))
            debates = files.read_views(run, files.BadLines(skip=True), keep_lost=True)
            of_run = {
                (debate.claim or debate.thesis, digests(debate))
                for debate, _ in debates
                if debate.turns
            }
            debates_of_runs += [of_run] if of_run else []
    if kinds != {files.Kind.EVALUATIONS}:
        return bool(kinds) and kinds <= files.DEBATES
    most: Counter[str] = Counter()
    for of_run in debates_of_runs:
        most |= Counter(claim for claim, _ in of_run)
    by_claim = Counter(claim for claim, _ in set().union(*debates_of_runs))
    shared = sum(map(len, debates_of_runs)) - by_claim.total()
    return most != by_claim or (len(debates_of_runs) > 1 and not shared)


def score_people(
    runs: Runs,
    truth: Path,
    *,
    criteria: Criteria | None = None,
    policy: Policy,
    correct: bool = False,
    compare: bool = False,
    samples: int = SAMPLES,
    seed: int = 0,
    baselines: Sequence[Path] = (),
    bad: files.BadLines | None = None,
) -> ShareReport:
    """Rank the debaters of runs by people's answers; scales count from 0 to 1.

    With `correct`, the runs are evaluations, and the answers to all turns are estimated.
    """
    paths = named(runs)
    all_criteria = criteria_of_all(criteria, paths.values(), truth)
    notes = categories_in_words(all_criteria)
    labels = read_truth(truth, all_criteria, policy.debates)
    turns_of_labels = list(chain.from_iterable(labels))
    labelled_criteria = []
    for criterion in all_criteria:
        if any(turn.get(criterion.key) is not None for turn in turns_of_labels):
            labelled_criteria.append(criterion)
        else:
            notes.append(f"{criterion.key} has no label in {truth}, and is left out")
    if not labelled_criteria:
        raise InputError(truth, "no turn has a label")
    criteria = all_criteria.model_copy(update={"criteria": tuple(labelled_criteria)})
    measured = answer_shares(criteria)
    reference = find_reference([], truth, labels, policy, all_criteria)
    if reference is None:
        raise UserError(f"{truth}: {NO_TEXTS}: {NO_TEXTS_FIX}")
    labels_of: dict[tuple[str, ...], list[Sequence[Labels]]] = {}
    for texts, labels_of_debate in zip(reference.turns, labels, strict=True):
        labels_of.setdefault(tuple(texts), []).append(labels_of_debate)
    claims: dict[str, int] = {}
    unsettled: dict[str, Counter[str]] = {}
    yes = dict.fromkeys(criteria.keys, Verdict(score=1.0, answer=measured[0].category))
    pairs_of: dict[str, list[tuple[Debate, Sequence[Verdicts]]]] = {}

    def read(tag: str, path: Path) -> dict[AnswerShare, JudgedTurns]:
        """Read the labels and the judge's scores of each turn."""
        pairs_of[tag] = []
        numbers: list[int] = []
        unsettled[tag] = Counter(dict.fromkeys(criteria.keys, 0))
        rows: dict[AnswerShare, list[tuple[float, float]]] = {share: [] for share in measured}
        for debate, verdicts in _read_debates(path, all_criteria, correct, bad or files.BadLines()):
            pairs_of[tag].append((debate, [yes] * len(debate.turns)))
            texts = digests(debate, criteria.unit)
            judged = iter(verdicts)
            several = labels_of.get(texts, ())
            for at in range(len(texts)):
                if criteria.unit == "response" and debate.turns[at].response is None:
                    continue
                numbers.append(claims.setdefault(debate.claim or debate.thesis, len(claims)))
                verdicts_of_turn = next(judged, {})
                for key in criteria.keys:
                    unsettled[tag][key] += any(is_unsettled(turns[at], key) for turns in several)
                for share in measured:
                    score = share.of(verdicts_of_turn.get(share.criterion.key, Verdict())) or 0.0
                    answers = [share.of_label(turns[at]) for turns in several]
                    known = [answer for answer in answers if not np.isnan(answer)]
                    rows[share].append((score, fmean(known) if known else np.nan))
        result = {}
        for share, pairs in rows.items():
            scores, answers = np.array(pairs or [(0.0, np.nan)]).T
            if np.isnan(answers).all():
                key = share.criterion.key
                raise InputError(path, f"no turn has a label on {key} in {truth}", field=key)
            result[share] = JudgedTurns(np.array(numbers), scores, answers)
        return result

    refused: dict[str, str] = {}
    # Sorted, so that the bootstrap samples do not depend on the order of the files.
    turns_of = each_run(dict(sorted(paths.items())), read, refused)
    # Which part of the turns that are expected each run has: the others count as no.
    present, lost = present_debates([pairs_of[tag] for tag in turns_of], criteria.unit)
    counts, debates_text, problems = count_verdicts(topics(present), list(turns_of), lost, criteria)
    parts = shares(counts[:, :, 0].sum(axis=0))
    labelled_claims: set[int] = set()
    figures = {}
    for (tag, by_share), part in zip(turns_of.items(), parts, strict=True):
        of_run = {}
        labelled_counts = {}
        for share, turns in by_share.items():
            mean = correction.corrected_mean(turns, len(claims))
            draws = None
            sums = resampled_sums(mean.parts, samples, seed)
            if sums is not None and turns.labelled_debates >= FEWEST_FOR_INTERVAL:
                draws = (mean.value + sums - mean.parts.sum()) * part
            low, high = correction.yes_rate(turns).limits
            limits = (low and low * part, high and high * part) if correct else None
            of_run[share] = Measured(mean.value * part, draws, limits)
            notes += turns.contradictions(f"{tag}: {share.key}")
            labelled_counts[share.criterion.key] = turns.labelled.sum()
            labelled_claims.update(turns.debates[turns.labelled])
        by_key = ", ".join(f"{key} {count}" for key, count in labelled_counts.items())
        notes.append(f"{tag}: labelled of {len(turns.labels)} turns: {by_key}")
        notes += [f"{tag}: {text}" for text in say_unsettled(unsettled[tag])]
        figures[tag] = with_mean(of_run)
    return share_report(
        figures,
        len(labelled_claims),
        truth=str(truth),
        is_corrected=correct,
        unsettled=unsettled,
        refused=refused,
        baselines=[tag for tag in baseline_names(baselines, paths) if tag in figures],
        criteria=criteria,
        debates=debates_text,
        problems=problems,
        notes=notes,
        compare=compare,
        samples=samples,
        seed=seed,
    )


def _read_debates(
    path: Path, criteria: Criteria, correct: bool, bad: files.BadLines
) -> Iterator[tuple[Debate, Sequence[Verdicts]]]:
    """Yield the debates of a run, with the verdicts that correct the labels."""
    if not correct:
        for debate, _ in files.read_views(path, bad, keep_lost=True):
            yield debate, ()
        return
    read_evaluated(path.name, path, criteria, files.BadLines(skip=True))  # refuses others
    yield from read_judged(path, criteria, bad)
