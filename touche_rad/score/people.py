"""A leaderboard of debaters by people's labels on the debates of several runs.

Where people labelled some turns only, the verdicts of a judge on all turns correct the shares.
"""

from __future__ import annotations

from collections import Counter, defaultdict
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
from touche_rad.score.conversations import content_of, topics
from touche_rad.score.evaluations import criteria_of_all, read_evaluated, read_judged
from touche_rad.score.naming import Runs, baseline_names, each_run, named
from touche_rad.score.rates import (
    AnswerShare,
    answer_shares,
    categories_in_words,
    count_verdicts,
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
from touche_rad.score.words import names_of


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
    unsettled: dict[str, Counter[str]] = {}

    def read(tag: str, path: Path) -> list[tuple[Debate, list[LabelledTurn]]]:
        """Read the judge's verdicts and people's labels on each turn."""
        debates = []
        unsettled[tag] = Counter(dict.fromkeys(criteria.keys, 0))
        for debate, verdicts in _read_debates(path, all_criteria, correct, bad or files.BadLines()):
            texts = digests(debate, criteria.unit)
            judged = iter(verdicts)
            several = labels_of.get(texts, ())
            turns: list[LabelledTurn] = []
            for at in range(len(texts)):
                if criteria.unit == "response" and debate.turns[at].response is None:
                    continue
                turns.append((next(judged, {}), [labels[at] for labels in several]))
            debates.append((debate, turns))
        all_labels = [labels for _, turns in debates for _, labels in turns]
        for labels_of_turn in all_labels:
            for key in criteria.keys:
                unsettled[tag][key] += any(is_unsettled(labels, key) for labels in labels_of_turn)
        for share in measured:
            if np.isnan([_answer(share, several) for several in all_labels]).all():
                key = share.criterion.key
                raise InputError(path, f"no turn has a label on {key} in {truth}", field=key)
        return debates

    refused: dict[str, str] = {}
    debates_of = each_run(paths, read, refused)
    # All turns that there are count as yes here: what is expected and lost counts as no.
    yes = dict.fromkeys(criteria.keys, Verdict(score=1.0, answer=measured[0].category))
    debates_of_runs = []
    for pairs in debates_of.values():
        debates_of_runs.append([(debate, [yes] * len(debate.turns)) for debate, _ in pairs])
    present_in_runs, lost = present_debates(debates_of_runs, criteria.unit)
    # Sorted, so that the bootstrap samples do not depend on the order of the files.
    all_topics = sorted(topics(present_in_runs), key=lambda topic: topic.claim)
    counts, debates_text, problems = count_verdicts(all_topics, list(debates_of), lost, criteria)
    places: dict[tuple[object, ...], int] = {}
    for place, topic in enumerate(all_topics):
        for conversation in topic.conversations:
            content = tuple(map(content_of, conversation.turns))
            for run in conversation.runs:
                places[run, content] = place
    labelled_claims: set[int] = set()
    figures = {}
    contradictions: list[str] = []
    runs_of: dict[str, list[str]] = defaultdict(list)
    for run, (tag, pairs) in enumerate(debates_of.items()):
        present, expected = counts[:, run, 0].T
        turns = []
        numbers = []
        for debate, turns_of_debate in pairs:
            key = run, tuple(map(content_of, debate.turns))
            # Neither a copy, nor a debate on a claim of few runs.
            if key in places and expected[places[key]]:
                turns += turns_of_debate
                numbers += [places.pop(key)] * len(turns_of_debate)
        samples_of = {share: _sample(share, numbers, turns) for share in measured}
        if not all(sample.labelled.any() for sample in samples_of.values()):
            refused[tag] = f"{tag}: the labels are on claims of few runs"
            continue
        of_run = {}
        labelled_counts = {}
        for share, sample in samples_of.items():
            mean = correction.mean_of_people(sample, present, expected)
            draws = None
            sums = resampled_sums(mean.parts, samples, seed)
            if sums is not None and sample.labelled_debates >= FEWEST_FOR_INTERVAL:
                draws = mean.value + sums - mean.parts.sum()
            limits = correction.interval(mean, sample).limits if correct else None
            of_run[share] = Measured(mean.value, draws, limits)
            contradictions += sample.contradictions(f"{tag}: {share.key}")
            labelled_counts[share.criterion.key] = sample.labelled.sum()
            labelled_claims.update(sample.debates[sample.labelled])
        by_key = ", ".join(f"{key} {count}" for key, count in labelled_counts.items())
        for text in (
            f"labelled of {len(turns)} turns: {by_key}",
            *say_unsettled(unsettled[tag]),
        ):
            runs_of[text].append(tag)
        figures[tag] = with_mean(of_run)
    notes += [f"{names_of(tags)}: {text}" for text, tags in runs_of.items()]
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
        notes=[*contradictions, *notes],
        compare=compare,
        samples=samples,
        seed=seed,
    )


LabelledTurn = tuple[Verdicts, Sequence[Labels]]
"""The judge's verdicts on a turn, and people's labels."""


def _sample(
    share: AnswerShare, debates: Sequence[int], turns: Sequence[LabelledTurn]
) -> JudgedTurns:
    """Return what judge and people say of the turns; a missing verdict is a no."""
    scores = []
    for verdicts, _ in turns:
        scores.append(share.of(verdicts.get(share.criterion.key, Verdict())) or 0.0)
    labels = [_answer(share, several) for _, several in turns]
    return JudgedTurns(np.array(debates), np.array(scores), np.array(labels))


def _answer(share: AnswerShare, several: Sequence[Labels]) -> float:
    """Return the mean of people's labels on a turn; nan without one."""
    answers = [share.of_label(labels) for labels in several]
    known = [answer for answer in answers if not np.isnan(answer)]
    return fmean(known) if known else np.nan


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
