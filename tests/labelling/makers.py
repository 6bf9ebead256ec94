"""Runs, judges' verdicts and sessions for the tests of labelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.records import read_records, write_records
from touche_rad.criteria import Criteria, grice
from touche_rad.debate import Maxim
from touche_rad.labelling.exchanges import TurnPlace, read_exchanges, read_verdicts
from touche_rad.labelling.session import LabelSession

MAXIMS = ("Quantity", "Quality", "Relation", "Manner")
TURNS = 3


def write_run(
    path: str | Path = "run.jsonl", debates: int = 4, *, lost: Sequence[int] = ()
) -> Path:
    """Write a run; lost debates are empty records."""
    lines = [{} if number in lost else _debate(number) for number in range(debates)]
    return write_records(path, *lines)


def _debate(number: int) -> dict[str, object]:
    turns = [
        {
            "utterance": f"Claim {number}, user turn {turn}.",
            "systemResponse": {
                "utterance": f"Ferries run late in winter, case {number}.{turn}.",
                "response": {
                    "content": f"Ferries run late in winter, case {number}.{turn}.",
                    "arguments": [{"id": f"a{number}", "text": "Ferries run late in winter."}],
                },
            },
        }
        for turn in range(TURNS)
    ]
    return {"id": f"d{number}", "simulation": {"userTurns": turns}}


def write_verdicts(path: str | Path, run: str | Path, scores: Sequence[float]) -> Path:
    """Write evaluations with the same score for all maxims of a turn, in the order of the turns."""
    remaining = iter(scores)
    records = read_records(run)
    for record in records:
        record["userTurnsEvaluations"] = []
        for _ in record["simulation"]["userTurns"]:
            verdict = {"score": next(remaining), "explanation": "because"}
            record["userTurnsEvaluations"].append(dict.fromkeys(MAXIMS, verdict))
    return write_records(path, *records)


def open_session(
    run: Path | Sequence[Path],
    *evaluations: Path,
    output: str | Path = "labels.jsonl",
    annotator: str = "ana",
    others: Sequence[Path] = (),
    criteria: Criteria | None = None,
) -> LabelSession:
    """Open a session like the command."""
    runs = [run] if isinstance(run, Path) else run
    exchanges = read_exchanges(runs, criteria or grice())
    judges = read_verdicts(evaluations, exchanges, {}) if evaluations else {}
    return LabelSession(exchanges, judges, annotator, Path(output), others=others)


def answer(
    run: Path,
    answers: Iterable[tuple[TurnPlace | int, Maxim | None, int | None]],
    annotator: str = "ana",
    judges: Sequence[Path] = (),
) -> None:
    """Answer as an annotator: a turn or its number in the queue, a maxim or all, and the label."""
    opened = open_session(run, *judges, annotator=annotator)
    for turn, maxim, label in answers:
        place = opened.queue[turn] if isinstance(turn, int) else turn
        maxims = [maxim] if maxim else list(Maxim)
        for answered in maxims:
            opened.answer(place, answered, label)
    opened.log.close()
