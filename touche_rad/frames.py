"""The files of runs as pandas DataFrames, for notebooks.

    from touche_rad import frames

    verdicts = frames.verdicts("grounded.jsonl", "verbatim.jsonl")
    verdicts.groupby(["run", "criterion"])["yes"].mean()

Each frame has a row for each verdict, response, label, score, value or call. Its columns have the
same names and types also without rows. Runs are named after their files, and turns count from 1.
A debate has one name in all runs of a call: its id, or else its line in the run with the most
debates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from touche_rad import files
from touche_rad.criteria import Criteria, grice
from touche_rad.errors import UserError
from touche_rad.files import BadLines
from touche_rad.files.criteria import criteria_of
from touche_rad.files.simulations import fallback_of
from touche_rad.report.sources import Source, debates_of, read_sources
from touche_rad.score.conversations import DebateOfRun, sorted_topics
from touche_rad.score.evaluations import criteria_of_all
from touche_rad.score.judgements import score_judgements
from touche_rad.score.naming import named
from touche_rad.score.people import are_debaters, rows_of_labels
from touche_rad.score.reference import Policy
from touche_rad.score.reports import JudgementReport
from touche_rad.score.retrieval import MEASURES, score_retrieval
from touche_rad.score.shares import ShareReport, score_shares
from touche_rad.score.units import Row
from touche_rad.text import count_words

if TYPE_CHECKING:
    from pandas import DataFrame

File = str | Path
_TEXT: Final = "string"
_NUMBER: Final = "Float64"
_COUNT: Final = "Int64"
_TRUTH: Final = "boolean"
_CLAIM: Final = {"run": _TEXT, "debate": _TEXT, "claim": _TEXT, "turn": _COUNT}
_SCORE: Final = {"score": _NUMBER, "answer": _TEXT, "yes": _TRUTH}


def verdicts(*runs: File) -> DataFrame:
    """Return the verdicts of evaluations as `score` counts them.

    One that a run lacks, or of a lost debate, is a no without a score; of copies the first counts.
    """
    rows: Iterable[Row] = ()
    if runs:
        rows = _rows_of(score_shares([Path(run) for run in runs], samples=1))
    return _frame(
        rows, {**_CLAIM, "criterion": _TEXT, **_SCORE, "reason": _TEXT, "fallback": _TEXT}
    )


def responses(*runs: File) -> DataFrame:
    """Return the responses of simulations, evaluations and other files of debates.

    `cited` has the ids of the cited arguments, `fallback` the cause, if it is a fallback's answer.
    Lost debates and turns have no row, but `score` counts them.
    """
    rows = []
    for run, name, debate_of_run in _named_debates(runs):
        debate = debate_of_run.debate
        for at, turn in enumerate(debate.turns):
            if turn.response:
                rows.append(
                    {
                        "run": run,
                        "debate": name,
                        "claim": debate.subject,
                        "turn": at + 1,
                        "utterance": turn.utterance,
                        "response": turn.response.content,
                        "words": count_words(turn.response.content),
                        "cited": [argument.id for argument in turn.response.arguments],
                        "fallback": fallback_of(turn.response.extra),
                    }
                )
    return _frame(
        rows,
        {
            **_CLAIM,
            "utterance": _TEXT,
            "response": _TEXT,
            "words": _COUNT,
            "cited": "object",
            "fallback": _TEXT,
        },
    )


def labels(path: File, *, criteria: Criteria | None = None) -> DataFrame:
    """Return people's labels; a debate is the number of its line.

    Labels on other criteria than shipped ones need `criteria`. `answer` is the label, and `label`
    its place among the answers: 1 for yes.
    """
    criteria = criteria_of(criteria, Path(path))
    rows = []
    for number, turns in enumerate(files.read_labels(Path(path), criteria=criteria), 1):
        for turn, labels_of_turn in enumerate(turns, 1):
            for criterion in criteria:
                place = labels_of_turn.get(criterion.key)
                rows.append(
                    {
                        "debate": number,
                        "turn": turn,
                        "criterion": criterion.key,
                        "label": place,
                        "answer": None if place is None else criterion.answers.names[place],
                    }
                )
    return _frame(
        rows,
        {
            "debate": _TEXT,
            "turn": _COUNT,
            "criterion": _TEXT,
            "label": _COUNT,
            "answer": _TEXT,
        },
    )


def agreement(
    *runs: File, labels: File, debates: File | None = None, criteria: Criteria | None = None
) -> DataFrame:
    """Return each label with the verdict of each run on the same text, as `score` matches them.

    A debate is the number of its line in the labels. A verdict that a run lacks is a row without a
    score, and counts as no. `agree` says whether verdict and label are equal.

    With labels of several debaters, each run has the rows of its own debates. One that it lost has
    no label and no row, but `score` counts it as no.
    """
    paths = named([Path(run) for run in runs])
    truth = Path(labels)
    policy = Policy(debates=Path(debates) if debates else None)
    criteria = criteria_of_all(criteria, paths.values(), truth)
    if are_debaters(paths.values(), truth, policy, criteria):
        rows = rows_of_labels(paths, truth, criteria, policy)
    else:
        rows = _rows_of(score_judgements(paths, truth, criteria=criteria, policy=policy, samples=1))
    return _frame(
        rows,
        {
            **_CLAIM,
            "criterion": _TEXT,
            **_SCORE,
            "label": _COUNT if criteria.official else "object",
            "agree": _TRUTH,
        },
    )


def outcomes(*runs: File) -> DataFrame:
    """Return the scores of panels on whole debates, by run, debate, speaker and dimension."""
    rows = []
    for source in _read(runs):
        for judgement in source.judgements:
            outcome = judgement.outcome
            for speaker, scores in outcome.scores.items():
                for dimension, score in scores.items():
                    rows.append(
                        {
                            "run": source.name,
                            "debate": judgement.id,
                            "judge": judgement.judge,
                            "speaker": speaker,
                            "dimension": dimension,
                            "score": score,
                            "winner": outcome.winners.get(dimension, outcome.winner),
                            "reason": outcome.reason,
                        }
                    )
    columns = ("run", "debate", "judge", "speaker", "dimension", "score", "winner", "reason")
    return _frame(rows, {**dict.fromkeys(columns, _TEXT), "score": _NUMBER})


def retrieval(*runs: File, qrels: File, measures: Sequence[str] = MEASURES) -> DataFrame:
    """Return the measures of ir-measures of TREC runs, by run, query and measure."""
    report = score_retrieval([Path(run) for run in runs], Path(qrels), measures=measures)
    return _frame(
        report.unit_rows("query"),
        {"run": _TEXT, "query": _TEXT, "measure": _TEXT, "value": _NUMBER},
    )


def calls(*runs: File) -> DataFrame:
    """Return the model calls of runs that were made with `--trace`."""
    rows = []
    for run, name, debate_of_run in _named_debates(runs):
        for (debate, turn), calls_of_turn in debate_of_run.calls.items():
            if debate == debate_of_run.debate.key:
                for call in calls_of_turn:
                    rows.append({"run": run, "debate": name, "turn": turn + 1, **call})
    return _frame(
        rows,
        {
            "run": _TEXT,
            "debate": _TEXT,
            "turn": _COUNT,
            "step": _TEXT,
            "cached": _TRUTH,
            "seconds": _NUMBER,
            "prompt_tokens": _COUNT,
            "completion_tokens": _COUNT,
            "fault": _TEXT,
            "answer": _TEXT,
        },
    )


def _rows_of(report: JudgementReport | ShareReport) -> Iterator[Row]:
    """Return the rows of a report of verdicts; a run that cannot be scored is an error."""
    for error in report.refused.values():
        raise UserError(error)
    return report.unit_rows("turn")


def _named_debates(runs: Sequence[File]) -> Iterator[tuple[str, str, DebateOfRun]]:
    """Yield the debates of runs but for copies, with the names of the run and of the debate."""
    sources = _read(runs)
    names = [source.name for source in sources]
    debates = list(debates_of(sources, None, grice()))
    name_of = {}
    for topic in sorted_topics(debates, names):
        for conversation in topic.conversations:
            for place in conversation.runs.items():
                name_of[place] = topic.name
    for debate in debates:
        place = (debate.run, debate.line)
        if place in name_of:
            yield names[debate.run], name_of[place], debate


def _read(runs: Sequence[File]) -> list[Source]:
    """Read runs of one or several kinds; a bad line is an error."""
    paths = [Path(run) for run in runs]
    skipped = {path: BadLines() for path in paths}
    refused: dict[str, str] = {}
    sources = read_sources(named(paths), grice(), skipped, refused)
    for error in refused.values():
        raise UserError(error)
    return sources


def _frame(rows: Iterable[Row], columns: Mapping[str, str]) -> DataFrame:
    """Return rows with these columns and types."""
    import pandas as pd  # only here: the commands do not wait for it

    return pd.DataFrame(list(rows), columns=list(columns)).astype(dict(columns))
