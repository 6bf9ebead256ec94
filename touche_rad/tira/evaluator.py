"""The evaluator of a dataset: reads TIRA's folders and writes `evaluation.prototext`.

Runs of judges are scored against labels with the official measures. Runs of debaters have no
labels: a judge of ours scores each response, and the measures are its shares of yes. A missing
response counts as no, so that nobody gains from lost debates. Beside the verdicts lies their
status, as `judge` writes it, so that `score` and `report` know the judge and its index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain, starmap
from pathlib import Path
from statistics import fmean
from typing import Final

from touche_rad import files, session
from touche_rad.criteria import grice
from touche_rad.debate import Response, Verdicts
from touche_rad.errors import InputError
from touche_rad.files import DEBATES, Kind
from touche_rad.files.outputs import STATUS
from touche_rad.files.records import make_folder, numbered_lines, path_beside, write_text
from touche_rad.files.simulations import fallback_of
from touche_rad.plugins import Configured, LoadedJudge, Services
from touche_rad.runs.jobs import index_in_words
from touche_rad.runs.judging import JudgeJob
from touche_rad.runs.runner import run_work
from touche_rad.runs.work import RunOptions
from touche_rad.score import Policy, score_judgements
from touche_rad.score.evaluations import how_to_repair
from touche_rad.score.export import PROTOTEXT, measure, prototext
from touche_rad.score.rates import count_yes
from touche_rad.score.result import MEAN
from touche_rad.score.validation import ODD, odd_in
from touche_rad.score.words import number
from touche_rad.tira.input import configured_turns, find_input

"""Prints a warning on a run."""
EVALUATIONS: Final = "evaluations.jsonl"
_SAMPLES: Final = 100
"""Bootstrap samples; the measures on TIRA have no intervals."""


def evaluate_judges(
    run: Path, truths: Path, out: Path, warn: Callable[[str], None], *, strict: bool
) -> str:
    """Score a judge's evaluations against labels, write the measures, and return the mean F1.

    With `strict`, refuse what the official scorer refuses; otherwise a missing verdict is a no.
    """
    evaluations = find_input(run, {Kind.EVALUATIONS})
    labels = find_input(truths, {Kind.LABELS})
    count = len([*numbered_lines(evaluations)])
    expected = len([*numbered_lines(labels)])
    policy = Policy(strict=strict and count == expected)  # the texts are compared before the counts
    bad = files.BadLines(skip=not strict)
    report = score_judgements(
        [evaluations], labels, policy=policy, compare=False, samples=_SAMPLES, bad=bad
    )
    if count < expected:
        raise InputError(
            evaluations,
            f"expected {expected} lines, one for each debate, got {count}"
            + how_to_repair(evaluations, "--input", "JUDGED_DEBATES"),
        )
    _warn_of(bad, warn)
    for line in report.warnings():
        warn(line)
    if report.without_texts:
        warn("the run has no texts: matched by position")
    mean = next(row for row in report.rows if row.maxim == MEAN)
    write_text(out / PROTOTEXT, prototext(report, report.runs[0]) + measure("mean f1", mean.value))
    return (
        f"mean F1 {number(mean.value, 3)} over {report.turns} labelled turns of {expected} debates"
    )


def evaluate_debaters(
    run: Path,
    truths: Path,
    out: Path,
    judge: Configured[LoadedJudge],
    services: Services,
    warn: Callable[[str], None],
) -> str:
    """Let a judge score a debater's simulations, write its shares of yes, and return their mean."""
    simulations = find_input(run, DEBATES - {Kind.RESPONSES})
    path = find_input(truths, {Kind.CLAIMS})
    claims = [debate.claim for debate in files.read_claims(path)]
    bad = files.BadLines(skip=True)
    on_claims = False
    foreign: InputError | None = None
    for line, debate, _ in files.read_numbered(simulations, bad):
        if debate.claim and debate.claim not in claims:
            error = InputError(
                simulations, f"expected a claim of {path}, got {debate.claim!r}", line=line
            )
            bad.report(error)
            foreign = foreign or error
        elif debate.turns:
            on_claims = True
    if foreign and not on_claims:
        raise foreign
    _warn_of(bad, warn)
    turns = configured_turns(truths)
    if turns is None:
        raise InputError(truths, "expected the client's configuration with simulation.maxTurns")
    evaluations = out / EVALUATIONS
    criteria = grice()
    make_folder(out)
    work = JudgeJob(source=simulations, judge=judge).open(services)
    session.run(
        run_work,
        work,
        evaluations,
        RunOptions(
            bad=files.BadLines(skip=True),
            model=services.model,
            status_path=path_beside(evaluations, STATUS),
        ),
    )
    judged_by = f"{judge.tag} {index_in_words(work.identity)}".rstrip()
    # Debates and turns beyond the expected ones do not count, so that they hide no lost ones.
    verdicts: list[Verdicts] = []
    responses: list[Response] = []
    unplayed = Counter(claims)
    copies = 0
    for evaluation in files.read_evaluations(evaluations):
        debate = evaluation.debate
        claim = debate.claim or next(iter(+unplayed), "")
        if unplayed[claim] > 0 and debate.turns:
            unplayed[claim] -= 1
            verdicts += evaluation.turns[:turns]
            responses += [turn.response for turn in debate.turns[:turns] if turn.response]
        elif debate.turns and claim in unplayed:
            copies += 1
    if copies:
        warn(f"debates given twice, the first counts: {copies}")
    expected = turns * len(claims)
    yes = count_yes(verdicts, criteria)[:, 0].tolist()
    shares = {key: count / expected for key, count in zip(criteria.keys, yes, strict=True)}
    mean = fmean(shares.values())
    odd = Counter(chain.from_iterable(map(odd_in, responses)))
    counts = {
        "missing responses": max(0, expected - len(responses)),
        **{f"{what}s": odd[what] for what in ODD},
        "fallback responses": sum(bool(fallback_of(response.extra)) for response in responses),
    }
    for name, count in counts.items():
        if count:
            warn(f"{name}: {count} of {expected}")
    measures = {**shares, MEAN: mean, **counts, "judge": judged_by}
    write_text(out / PROTOTEXT, "".join(starmap(measure, measures.items())))
    return (
        f"mean share of yes {number(mean, 3)} over {expected} responses to {len(claims)} claims, "
        f"judged by {judged_by}"
    )


def _warn_of(bad: files.BadLines, warn: Callable[[str], None]) -> None:
    """Say how many lines of a run are invalid, or on other debates: they are lost debates."""
    if bad.count:
        warn(f"lines that count as lost debates: {bad}")
    if bad.empty:
        warn(f"empty lines left out: {bad.say_empty()}")
