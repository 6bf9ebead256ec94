"""The files of runs as pandas DataFrames, for notebooks.

    from touche_rad import frames

    verdicts = frames.verdicts("grounded.jsonl", "verbatim.jsonl")
    verdicts.groupby(["run", "criterion"])["yes"].mean()

Each frame has a row for each verdict, response, label, score, value or call. Its columns have the
same names and types also without rows. Runs are named after their files, and turns count from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from touche_rad import files
from touche_rad.criteria import Criteria, grice
from touche_rad.errors import UserError
from touche_rad.files import BadLines
from touche_rad.files.criteria import criteria_of
from touche_rad.files.simulations import fallback_of
from touche_rad.report.sources import Source, debates_of, origins_of, read_sources
from touche_rad.score.naming import names
from touche_rad.score.retrieval import MEASURES, score_retrieval
from touche_rad.score.units import verdict_rows
from touche_rad.text import count_words

if TYPE_CHECKING:
    from pandas import DataFrame

File = str | Path
_TEXT: Final = "string"
_NUMBER: Final = "Float64"
_COUNT: Final = "Int64"
_TRUTH: Final = "boolean"
_PLACE: Final = {"run": _TEXT, "debate": _TEXT, "turn": _COUNT}


def verdicts(*runs: File) -> DataFrame:
    """Return the verdicts of evaluations, by run, debate, turn and criterion."""
    criteria = criteria_of(None, *map(Path, runs))
    sources = _read(runs, criteria)
    rows: list[Mapping[str, Any]] = []
    for debate in debates_of(sources, None, criteria):
        name = sources[debate.run].name
        rows += verdict_rows(name, debate.debate, debate.verdicts, criteria)
    columns = {"criterion": _TEXT, "score": _NUMBER, "answer": _TEXT, "yes": _TRUTH}
    return _frame(rows, {**_PLACE, **columns, "reason": _TEXT, "fallback": _TEXT})


def responses(*runs: File) -> DataFrame:
    """Return the responses of simulations, evaluations and other files of debates.

    `cited` has the ids of the cited arguments, `fallback` the cause, if it is a fallback's answer.
    """
    sources = _read(runs)
    rows = []
    for debate_of_run in debates_of(sources, None, grice()):
        debate = debate_of_run.debate
        for at, turn in enumerate(debate.turns):
            if turn.response is not None:
                rows.append(
                    {
                        "run": sources[debate_of_run.run].name,
                        "debate": debate.id,
                        "turn": at + 1,
                        "claim": debate.claim,
                        "utterance": turn.utterance,
                        "response": turn.response.content,
                        "words": count_words(turn.response.content),
                        "cited": [argument.id for argument in turn.response.arguments],
                        "fallback": fallback_of(turn.response.extra),
                    }
                )
    texts = {"claim": _TEXT, "utterance": _TEXT, "response": _TEXT, "words": _COUNT}
    return _frame(rows, {**_PLACE, **texts, "cited": "object", "fallback": _TEXT})


def labels(
    path: File, debates: File | None = None, *, criteria: Criteria | None = None
) -> DataFrame:
    """Return people's labels; the debates in the same order give them their ids.

    Without debates, a debate is the number of its line. Labels on other criteria than shipped ones
    need `criteria`. `answer` is the label, and `label` its place among the answers: 1 for yes.
    """
    criteria = criteria_of(criteria, Path(path))
    names_of_debates: Iterable[str] = ()
    if debates is not None:
        names_of_debates = (debate.id for debate in files.read_debates(Path(debates)))
    rows = []
    pairs = zip_longest(files.read_labels(Path(path), criteria=criteria), names_of_debates)
    for number, (turns, name) in enumerate(pairs, 1):
        if turns is None or (name is None and debates is not None):
            raise UserError(f"{path} and {debates} have different numbers of debates")
        for turn, labels_of_turn in enumerate(turns, 1):
            for criterion in criteria:
                row = {"debate": name or str(number), "turn": turn, "criterion": criterion.key}
                place = labels_of_turn.get(criterion.key)
                answer = None if place is None else criterion.answers.names[place]
                rows.append({**row, "label": place, "answer": answer})
    columns = {"debate": _TEXT, "turn": _COUNT, "criterion": _TEXT, "label": _COUNT}
    return _frame(rows, {**columns, "answer": _TEXT})


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
    columns = {"run": _TEXT, "query": _TEXT, "measure": _TEXT, "value": _NUMBER}
    return _frame(report.unit_rows("query"), columns)


def calls(*runs: File) -> DataFrame:
    """Return the model calls of runs that were made with `--trace`."""
    sources = _read(runs)
    columns = {"step": _TEXT, "cached": _TRUTH, "seconds": _NUMBER, "tokens": _TEXT}
    rows = []
    for debate_of_run in debates_of(sources, None, grice()):
        for (debate, turn), calls_of_turn in debate_of_run.calls.items():
            if debate == debate_of_run.debate.key:
                for call in calls_of_turn:
                    place = {"run": sources[debate_of_run.run].name, "debate": debate}
                    rows.append({**place, "turn": turn + 1, **call})
    return _frame(rows, {**_PLACE, **columns, "fault": _TEXT, "answer": _TEXT})


def _read(runs: Sequence[File], criteria: Criteria | None = None) -> list[Source]:
    """Read runs of one or several kinds; a bad line is an error."""
    paths = [Path(run) for run in runs]
    by_name = dict(zip(names(paths), paths, strict=True))
    skipped = {path: BadLines() for path in paths}
    refused: dict[str, str] = {}
    sources = read_sources(by_name, criteria or grice(), origins_of(paths), skipped, refused)
    for error in refused.values():
        raise UserError(error)
    return sources


def _frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> DataFrame:
    """Return rows with these columns and types."""
    import pandas as pd  # only here: the commands do not wait for it

    return pd.DataFrame(list(rows), columns=list(columns)).astype(dict(columns))
