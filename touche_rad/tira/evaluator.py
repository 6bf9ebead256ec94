"""The evaluator of a dataset: reads TIRA's folders and writes `evaluation.prototext`.

Runs of judges are scored against labels with the official measures. Runs of debaters have no
labels: a judge of ours scores each response, and the measures are its shares of yes. A missing
response counts as no, so that nobody gains from lost debates.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

from touche_rad import files, session
from touche_rad.criteria import grice
from touche_rad.errors import InputError
from touche_rad.files import DEBATES, Kind
from touche_rad.files.records import numbered_lines, write_text
from touche_rad.plugins import LoadedJudge
from touche_rad.runs import judging
from touche_rad.runs.runner import run_work
from touche_rad.score import Policy, score_judgements
from touche_rad.score.export import PROTOTEXT, measure, prototext
from touche_rad.score.rates import count_yes
from touche_rad.score.result import MEAN
from touche_rad.score.validation import WORDS
from touche_rad.text import count_words
from touche_rad.tira.input import configured_turns, find_input

EVALUATIONS: Final = "evaluations.jsonl"
_SAMPLES: Final = 100
"""Bootstrap samples; the measures on TIRA have no intervals."""


def has_labels(truths: Path) -> bool:
    """Whether a folder of truths is that of judges."""
    return any(files.detect_kind(path) == Kind.LABELS for path in truths.glob("*.jsonl"))


def evaluate_judges(run: Path, truths: Path, out: Path, *, strict: bool = False) -> Path:
    """Score a judge's evaluations against labels; macro F1 follows the twelve official measures.

    With `strict`, refuse what the official scorer refuses; otherwise a missing verdict is a no.
    """
    evaluations = find_input(run, {Kind.EVALUATIONS})
    labels = find_input(truths, {Kind.LABELS})
    count, expected = (sum(1 for _ in numbered_lines(path)) for path in (evaluations, labels))
    policy = Policy(strict=strict and count == expected)  # the texts are compared before the counts
    report = score_judgements([evaluations], labels, policy=policy, compare=False, samples=_SAMPLES)
    if count != expected:
        fix = "repair it with `touche-rad check RUN --input SIMULATIONS --fix -o NEW`"
        raise InputError(
            evaluations, f"expected {expected} lines, one for each debate, got {count}: {fix}"
        )
    for line in report.warnings():
        judging.log.warning(line)
    mean = next(row for row in report.rows if row.maxim == MEAN)
    measures = prototext(report, report.runs[0]) + measure("mean f1", mean.f1)
    write_text(out / PROTOTEXT, measures)
    return out / PROTOTEXT


def evaluate_debaters(run: Path, truths: Path, out: Path, by: LoadedJudge, name: str) -> Path:
    """Let a judge score a debater's simulations, and write its shares of yes."""
    simulations = find_input(run, DEBATES)
    path = find_input(truths, {Kind.CLAIMS})
    claims = list(files.read_claims(path))
    known = {one.claim for one in claims} | {""}
    for number, debate, _ in files.read_numbered(simulations, files.BadLines(skip=True)):
        if debate.claim not in known:
            raise InputError(
                simulations,
                f"expected a claim of {path}, got {debate.claim!r}: the run is on other debates",
                line=number,
            )
    turns = configured_turns(truths)
    if turns is None:
        raise InputError(truths, "expected the client's configuration with simulation.maxTurns")
    expected = turns * len(claims)
    evaluations = out / EVALUATIONS
    criteria = grice()
    out.mkdir(parents=True, exist_ok=True)
    work = judging.work(simulations, by, criteria, identity={"judge": name})
    session.run(run_work, work, evaluations)
    judged = islice(files.read_evaluations(evaluations), len(claims))
    verdicts = (of_turn for evaluation in judged for of_turn in evaluation.turns[:turns])
    yes = count_yes(verdicts, criteria)[:, 0].tolist()
    shares = {key: count / expected for key, count in zip(criteria.keys, yes, strict=True)}
    debates = files.read_debates(simulations, files.BadLines(skip=True))
    responses = [turn.response for debate in debates for turn in debate.turns if turn.response]
    values = {
        **shares,
        MEAN: sum(shares.values()) / len(shares),
        "missing responses": max(0, expected - len(responses)),
        "responses over 60 words": sum(count_words(one.content) > WORDS for one in responses),
        "responses without citation": sum(not one.arguments for one in responses),
    }
    write_text(out / PROTOTEXT, "".join(measure(*pair) for pair in values.items()))
    return out / PROTOTEXT
