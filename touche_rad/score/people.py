"""A leaderboard of debaters by people's labels on the debates of several runs.

Where people labelled some turns only, the verdicts of a judge on all turns correct the shares.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from touche_rad import files
from touche_rad.criteria import Criteria, Criterion
from touche_rad.debate import Debate, Verdict
from touche_rad.errors import InputError, InputProblem, UserError
from touche_rad.files.labels import Labels, digests, say_unsettled
from touche_rad.files.records import records
from touche_rad.samples import SAMPLES
from touche_rad.score import _correction as correction
from touche_rad.score._correction import JudgeFigures, Scores, TurnAnswers
from touche_rad.score.conversations import (
    ClaimTopic,
    DebateOfRun,
    content_of,
    sorted_topics,
)
from touche_rad.score.evaluations import criteria_of_all, read_evaluated, read_judged
from touche_rad.score.judgements import score_judgements
from touche_rad.score.naming import Runs, baseline_names, each_run, named
from touche_rad.score.rates import (
    Problems,
    answer_shares,
    categories_in_words,
    count_verdicts,
    own_order,
    with_mean,
)
from touche_rad.score.reference import (
    NO_TEXTS,
    NO_TEXTS_FIX,
    Labelled,
    Policy,
    known_reference,
    read_truth,
)
from touche_rad.score.shares import ShareReport, present_debates, share_report
from touche_rad.score.significance import (
    FEWEST_FOR_INTERVAL,
    Floats,
    Measured,
    resampled_sums,
    with_intervals,
)
from touche_rad.score.units import Row
from touche_rad.score.words import names_of

LabelledDebates = Sequence[tuple[Debate, Sequence[TurnAnswers]]]
"""The debates of a run, with what judge and people say of their turns."""


def are_debaters(
    runs: Collection[Path], truth: Path, policy: Policy, criteria: Criteria | None = None
) -> bool:
    """Whether most runs are of debaters: simulations, or evaluations of different debates.

    Judges have verdicts on the same debates, each on all or on some of them. So runs are of
    debaters if no run has all debates on a claim, or if no debate is in two runs.

    Labels of debaters are on the debates of each of them. So a debate without labels is damaged,
    and says nothing.
    """
    criteria = criteria_of_all(criteria, runs, truth)
    labels, _ = read_truth(truth, criteria, policy.debates)
    reference = known_reference(truth, labels, criteria, policy.debates)
    labelled = {*map(tuple, reference.turns)} if reference else set()
    unjudged = 0
    debates_of_runs = []
    for run in runs:
        with suppress(UserError):  # a run that cannot be read is reported when it is scored
            kind = files.detect_kind(run)
            if kind is not files.Kind.EVALUATIONS:
                unjudged += kind in files.DEBATES
                continue
            of_run = set()
            for debate, _ in files.read_views(run, files.BadLines(skip=True), keep_lost=True):
                texts = digests(debate, criteria.unit)
                if texts in labelled or (texts and not labelled):
                    of_run.add((debate.subject, texts))
            debates_of_runs += [of_run] if of_run else []
    if unjudged > len(debates_of_runs):
        return True
    most: Counter[str] = Counter()
    for of_run in debates_of_runs:
        most |= Counter(claim for claim, _ in of_run)
    runs_with = Counter(chain(*debates_of_runs))
    return most != Counter(claim for claim, _ in runs_with) or (
        len(debates_of_runs) > 1 and {*runs_with.values()} == {1}
    )


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
    labels, lines = read_truth(truth, all_criteria, policy.debates)
    reference = known_reference(truth, labels, all_criteria, policy.debates)
    if reference is None:
        raise UserError(f"{truth}: {NO_TEXTS}: {NO_TEXTS_FIX}")
    labels_of: defaultdict[tuple[str, ...], list[Sequence[Labels]]] = defaultdict(list)
    criteria = labelled_criteria(all_criteria, labels, truth)
    for texts, labels_of_debate, line in zip(reference.turns, labels, lines, strict=True):
        copies = labels_of[tuple(texts)]
        copies.append(labels_of_debate)
        for earlier, turn in zip(copies[0], labels_of_debate, strict=False):
            for key in criteria.keys:
                if len({earlier.get(key), turn.get(key), None}) > 2:
                    first = lines[reference.turns.index(texts)]
                    raise InputError(
                        truth,
                        f"expected the label of line {first}, which is on the same turn: remove "
                        "one of the lines, or give the labels of each person to label --with",
                        line=line,
                        field=key,
                    )

    def read(tag: str, path: Path) -> LabelledDebates:
        debates = []
        labels_of_run: list[Labels] = []
        for debate, scores in _read_debates(tag, path, all_criteria, correct, bad):
            labels_of_debate = labels_of.get(digests(debate, criteria.unit), ())
            of_run = DebateOfRun(0, debate, unit=criteria.unit)
            scores_of = dict(of_run.by_turn(scores))
            turns = []
            for turn in of_run.places:
                # Labels of a whole debate stand in its first place.
                place = 0 if criteria.unit == "debate" else turn
                labels_of_turn = [labels[place] for labels in labels_of_debate]
                labels_of_run += labels_of_turn
                turns.append(TurnAnswers(0, scores_of.get(turn, {}), labels_of_turn))
            debates.append((debate, turns))
        if not any(turns for _, turns in debates):
            return debates  # all are lost, and count as no
        if not labels_of_run:
            raise InputError(path, f"its responses are not those that are labelled in {truth}")
        for criterion in criteria:
            if not has_label(criterion, *labels_of_run):
                raise InputError(
                    path,
                    f"no turn has a label on {criterion.key} in {truth}: label more turns "
                    f"(touche-rad label RUN... -o {truth} goes on)",
                    field=criterion.key,
                )
        return debates

    refused: dict[str, str] = {}
    debates_of = each_run(paths, read, refused)
    return people_report(
        debates_of,
        truth,
        all_criteria,
        criteria,
        claims={claim for claim, _ in reference.keys if claim},
        correct=correct,
        refused=refused,
        baselines=baseline_names(baselines, paths),
        verdicts=lambda: rows_of_labels(
            {tag: paths[tag] for tag in debates_of if tag not in refused},
            truth,
            all_criteria,
            policy,
        ),
        compare=compare,
        samples=samples,
        seed=seed,
    )


def people_report(
    debates_of: Mapping[str, LabelledDebates],
    truth: Path,
    all_criteria: Criteria,
    criteria: Criteria,
    *,
    claims: Set[str] = frozenset(),
    correct: bool,
    refused: dict[str, str],
    baselines: Sequence[str],
    samples: int,
    seed: int,
    notes: Sequence[str] = (),
    **fields: Any,
) -> ShareReport:
    """Return people's answers to the debates of each run; what a run lost counts as no.

    Args:
        debates_of: The debates of each run by name, with what judge and people say of them.
        truth: The file of labels.
        all_criteria: What the verdicts are on.
        criteria: Those that have labels.
        claims: On each of them, every run must have a debate.
        correct: Whether the verdicts correct the labels.
        refused: The runs that are left out, and why; more may be added.
        baselines: The names of the runs that are baselines.
        samples: Number of bootstrap samples of claims.
        seed: Random seed of the bootstrap.
        notes: What is known of the runs.
        fields: Further fields of the report.
    """
    topics, turns_of, expected_of, sizes, problems = _by_claim(
        debates_of, criteria, claims, correct
    )
    shares_of_criteria = answer_shares(criteria)
    figures = {}
    of_judges: dict[tuple[str, str], JudgeFigures] = {}
    unsettled = {}
    labelled_turns = dict.fromkeys(debates_of, 0)
    labelled_claims: set[int] = set()
    notes = [*notes]
    runs_of: defaultdict[str, list[str]] = defaultdict(list)
    for run, (tag, turns) in enumerate(zip(debates_of, turns_of, strict=True)):
        expected = expected_of[run]
        shares = {share: correction.judged_turns(share, turns) for share in shares_of_criteria}
        if not turns and expected.any():
            draws = resampled_sums(0 * expected, samples, seed)
            figures[tag] = with_mean(dict.fromkeys(shares, Measured(0.0, draws)))
            continue
        if not all(sample.labelled.any() for sample in shares.values()):
            refused[tag] = f"{tag}: no label is on a debate of the run that counts"
            continue
        # People may have labelled what only the judge lost: its missing verdicts are noes.
        lost_turns = []
        for number, (debate, turns_of_debate) in enumerate(debates_of[tag], len(expected)):
            if not debate.turns:
                lost_turns += [turn._replace(debate=number) for turn in turns_of_debate]
        of_run = {}
        in_own_order = {}
        counts = {}
        for share, sample in shares.items():
            estimate = correction.yes_rate(sample, expected)
            in_order = estimate.parts[own_order(topics, run, expected)]
            draws = own_draws = None
            if sample.labelled_debates >= FEWEST_FOR_INTERVAL:
                # A claim that no run must have would change the samples.
                draws = correction.draw(estimate, estimate.parts[expected > 0], samples, seed)
                own_draws = correction.draw(estimate, in_order, samples, seed)
            of_run[share] = Measured(estimate.value, draws)
            in_own_order[share] = Measured(
                estimate.value,
                own_draws,
                correction.interval(estimate, sample).limits if correct else None,
            )
            notes += sample.contradictions(f"{tag}: {share.key}")
            counts[share.criterion.key] = sample.labelled.sum()
            labelled_claims.update(sample.debates[sample.labelled])
            if correct:
                judged = correction.judged_turns(share, [*turns, *lost_turns])
                of_judges[tag, share.key] = correction.judge_figures(share, judged, expected)
        figures[tag] = with_intervals(with_mean(of_run), with_mean(in_own_order))
        is_labelled = np.any([sample.labelled for sample in shares.values()], axis=0)
        labelled_turns[tag] = int(is_labelled.sum())
        unsettled[tag] = correction.count_unsettled(turns, criteria)
        by_key = ", ".join(f"{key} {count}" for key, count in counts.items())
        texts = [
            f"labelled of {sizes['turns'][tag]} turns: {by_key}",
            *say_unsettled(unsettled[tag]),
        ]
        if any(share.draws is None for share in of_run.values()):
            texts.append(
                f"labels on fewer than {FEWEST_FOR_INTERVAL} debates of the run: "
                "no interval and no rank"
            )
        for text in texts:
            runs_of[text].append(tag)
    notes += categories_in_words(all_criteria)
    for key in all_criteria.keys:
        if key not in criteria.keys:
            notes.append(f"{key} has no label in {truth}, and is left out")
    notes += [f"{names_of(tags)}: {text}" for text, tags in runs_of.items()]
    return share_report(
        figures,
        len(labelled_claims),
        truth=str(truth),
        is_corrected=correct,
        of_judges=of_judges,
        unsettled=unsettled,
        refused=refused,
        baselines=[tag for tag in baselines if tag in figures],
        criteria=criteria,
        labelled=labelled_turns,
        problems=problems,
        notes=notes,
        samples=samples,
        seed=seed,
        **sizes,
        **fields,
    )


def rows_of_labels(
    runs: Mapping[str, Path], truth: Path, criteria: Criteria, policy: Policy
) -> Iterator[Row]:
    """Yield each label of a debater's run with the verdict on it, run by run.

    What a run lost has no row: no label is on it, and `score_people` counts it as no.
    """
    for name, path in runs.items():
        report = score_judgements({name: path}, truth, criteria=criteria, policy=policy, samples=1)
        # Debates without a claim are on no line of the run.
        yield from (row for row in report.unit_rows("turn") if row["claim"])


def labelled_criteria(criteria: Criteria, labels: Labelled, truth: Path) -> Criteria:
    """Return the criteria on which any turn has a label."""
    labelled = [criterion for criterion in criteria if has_label(criterion, *chain(*labels))]
    if not labelled:
        raise InputError(truth, "no turn has a label")
    return criteria.replace(criteria=tuple(labelled))


def has_label(criterion: Criterion, *turns: Labels) -> bool:
    """Whether a turn has a label on a criterion."""
    return any(labels.get(criterion.key) is not None for labels in turns)


def _read_debates(
    tag: str, path: Path, criteria: Criteria, correct: bool, bad: files.BadLines | None
) -> Iterator[tuple[Debate, Sequence[Scores]]]:
    """Yield the debates of a run, with the judge's scores that correct the labels."""
    if not correct:
        try:
            for debate, _ in files.read_views(path, bad, keep_lost=True):
                yield debate, ()
        except InputError as error:
            if error.problem is not InputProblem.EMPTY_RECORD:
                raise
            for _ in records(path, files.BadLines()):  # all debates are lost
                yield Debate(), ()
        return
    rows = read_evaluated(tag, path, criteria, bad).rows
    debates = read_judged(path, criteria, files.BadLines(skip=True))
    for row, (debate, _) in zip(rows, debates, strict=True):
        scores = []
        for turn in row.turns:
            scores.append({key: read.score for key, read in turn.items()})
        yield debate, scores


def _by_claim(
    debates_of: Mapping[str, LabelledDebates], criteria: Criteria, claims: Set[str], correct: bool
) -> tuple[list[ClaimTopic], list[list[TurnAnswers]], Floats, dict[str, Any], Problems]:
    """Return the claims, and the turns of each run, numbered by the claims of their debates.

    Copies and debates on claims of few runs are left out. Returns also how many turns each run
    should have by claim, how many debates and turns it has, and its problems.
    """
    # All turns that there are count as yes here: what is expected and lost counts as no.
    yes = Verdict(score=1.0, answer="yes")
    pairs_of_runs = []
    turns_by_content = []
    for debates in debates_of.values():
        pairs = []
        for debate, turns in debates:
            verdicts = []
            for turn in turns:
                known = [key for key in criteria.keys if turn.scores.get(key) is not None]
                verdicts.append(dict.fromkeys(known if correct else criteria.keys, yes))
            pairs.append((debate, verdicts))
        pairs_of_runs.append(pairs)
        # Of copies, the same one counts in any order.
        in_order = sorted(debates, key=lambda pair: str(pair[1]))
        turns_by_content.append({content_of(debate.turns): turns for debate, turns in in_order})
    present, lost = present_debates(pairs_of_runs, criteria.unit)
    for run, pairs in enumerate(pairs_of_runs):
        with_debate = {debate.subject for debate, _ in pairs if debate.turns}
        lost[run] = max(lost[run], len(claims - with_debate))
    topics = sorted_topics(present, list(debates_of))
    counts, sizes, problems = count_verdicts(topics, list(debates_of), lost, criteria)
    expected = counts[..., 0, 1]
    turns_of: list[list[TurnAnswers]] = [[] for _ in debates_of]
    for claim, topic in enumerate(topics):
        for conversation in topic.conversations:
            for run in conversation.runs:
                if expected[claim, run]:
                    for turn in turns_by_content[run][content_of(conversation.turns)]:
                        turns_of[run].append(turn._replace(debate=claim))
    # A lost debate that other runs have is on no further claim.
    expected = expected[: len(np.trim_zeros(expected.sum(axis=1), "b"))]
    return topics, turns_of, expected.T, sizes, problems
