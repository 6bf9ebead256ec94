"""Whole debates in the report: their speeches, and the verdicts of all panels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError

from touche_rad import files
from touche_rad.contest import TIE, Contest
from touche_rad.contests.two_sides import FALLBACK, debaters_of
from touche_rad.files import BadLines, Judgement, Kind
from touche_rad.report.boards import Board, csv_link, page_table
from touche_rad.report.sources import Source
from touche_rad.score import kind_of, words
from touche_rad.score.measures import mean
from touche_rad.score.tables import NONE, csv_rows
from touche_rad.text import map_texts

Entry = dict[str, Any]
"""What the page needs to list and filter a debate."""


def contest_records(
    sources: Sequence[Source], labels: Path | None, bad: BadLines
) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Yield each judged debate: what the page lists, and the debate with the panels' verdicts."""
    files_of_contests = [source.contests for source in sources]
    if labels and kind_of(labels) in (Kind.CONTESTS, *files.DEBATES):
        files_of_contests.append(list(files.read_contests(labels, bad)))
    contests: dict[str, Contest] = {}
    for of_file in files_of_contests:
        for number, contest in enumerate(of_file, 1):
            contests[contest.id or str(number)] = contest
    judgements: dict[str, list[tuple[str, str, Judgement]]] = {}
    for source in sources:
        for judgement in source.judgements:
            judge = source.origin.judge or judgement.judge
            judgements.setdefault(judgement.id, []).append((source.name, judge, judgement))
    for key in judgements or contests:
        contest_of_key = contests.get(key)
        names = _names_of_debaters(contest_of_key) if contest_of_key else {}
        yield _record(key, _renamed(contest_of_key, names), judgements.get(key, ()), names)


def _record(
    key: str,
    contest: Contest | None,
    judgements: Sequence[tuple[str, str, Judgement]],
    names: Mapping[str, str],
) -> tuple[Entry, dict[str, Any]]:
    """Return the entry and the record of a debate with its verdicts: run, judge and judgement."""
    sides: Mapping[str, str] = contest.sides if contest else {}
    speeches: list[tuple[str, str, str, Any]] = []
    gold: dict[str, list[str]] = {}
    if contest:
        for speech in contest.speeches:
            speeches.append(
                (speech.speaker, sides[speech.speaker], speech.text, speech.rest.get(FALLBACK))
            )
        for dimension, winners in contest.gold.items():
            names_of_winners = [winners] if isinstance(winners, str) else winners
            if isinstance(names_of_winners, list | tuple):
                gold[str(dimension)] = list(map(str, names_of_winners))

    right = [name for name in gold.get("general", ()) if name]
    dimensions = dict.fromkeys(gold)
    outcomes = [judgement.outcome for *_, judgement in judgements]
    for outcome in outcomes:
        for of_speaker in (outcome.winners, *outcome.scores.values()):
            dimensions |= dict.fromkeys(of_speaker)
    speakers = list(sides or outcomes[0].scores)
    results: list[list[Any]] = [
        [name, "human decision", " and ".join(gold.get(name, ()))] for name in dimensions if gold
    ]
    verdicts = []
    tags: dict[str, list[str]] = {"speaker": list(sides), "winner": [], "only": []}
    if any(by for _, _, _, by in speeches):
        tags["only"].append("a fallback answered")
    for run, judge, judgement in judgements:
        outcome = _renamed(judgement.outcome, names)
        swapped = _renamed(judgement.swapped, names)
        results.append(["winner", run, outcome.decision or "none"])
        if swapped:
            results.append(["sides swapped", run, swapped.decision or "none"])
        for name in dimensions:
            scores = [outcome.scores.get(speaker, {}).get(name) for speaker in speakers]
            results.append([name, run, outcome.winners.get(name), *scores])
        winner = outcome.decision or ""
        side = sides.get(winner, winner or "no winner")
        tags["winner"].append(side)
        if len(judgements) > 1:
            tags["winner"].append(f"{side} by {run}")
        if swapped and swapped.winner != outcome.winner:
            tags["only"].append("winner changes with the sides")
        if right and winner not in (*right, *map(sides.get, right)):
            tags["only"].append("differs from the human decision")
        verdicts.append(
            {
                "run": run,
                "judge": judge,
                "winner": outcome.decision,
                "reason": outcome.reason,
                "comment": outcome.comment,
                "graph": _graph_of(outcome.details),
                "timeline": _timeline_of(outcome.details),
                "tables": [page_table(*content) for content in _tables(outcome.details)],
            }
        )
    if len({verdict["winner"] for verdict in verdicts}) > 1:
        tags["only"].append("panels disagree")
    entry = {
        "id": key,
        "text": contest.motion if contest else key,
        "about": " against ".join(sides) or "its speeches are shown with --labels CONTESTS",
        "tags": tags,
    }
    record = {
        "sides": dict(sides),
        "speeches": speeches,
        "winners": _winners(results, sides, speakers) if results else None,
        "verdicts": verdicts,
    }
    return entry, record


def _winners(
    results: Sequence[Sequence[Any]], sides: Mapping[str, str], speakers: Sequence[str]
) -> Board:
    """Return a table of the winners, in the colour of their sides: dimensions by panels.

    A result has the dimension, the panel, the winner and the scores of the speakers.
    """
    cells: dict[str, dict[str, list[str]]] = {"winner": {}, "sides swapped": {}}
    for dimension, panel, winner, *scores in results:
        texts = [winner or ""]
        if {*scores} - {None}:
            texts.append(" : ".join(map(words.number, scores)))
        cells.setdefault(dimension, {})[panel] = [
            " ".join(texts).strip(),
            f"num side {sides.get(winner, '')}",
        ]
    panels = dict.fromkeys(panel for _, panel, *_ in results)
    rows = [[name, *map(of_panel.get, panels)] for name, of_panel in cells.items() if of_panel]
    return {
        **page_table(f"Winners (scores: {' : '.join(speakers)})", ["dimension", *panels], rows),
        "csv": csv_link(csv_rows([["dimension", "panel", "winner", *speakers], *results])),
    }


def _graph_of(details: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the graph of arguments in a panel's details, if there is one."""
    for value in details.values():
        if isinstance(value, Mapping) and value.get("nodes") and value.get("edges"):
            rows = [*value["nodes"], *value["edges"]]
            if all(isinstance(row, Mapping) for row in rows):
                return value
    return None


class _Mark(BaseModel):
    """A panel's mark of a speech, or of a piece of it, in a dimension."""

    speech: int
    speaker: str
    dimension: str
    score: float | None = None
    comment: str | None = None


_TIMELINE: Final = TypeAdapter(list[_Mark])


def _timeline_of(details: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the scores by speech, if the panel reports a `timeline`.

    A long speech is judged in pieces: it has the mean of their scores, and all comments.
    """
    try:
        timeline = _TIMELINE.validate_python(details.get("timeline"))
    except ValidationError:
        return None
    marks: dict[str, dict[int, list[_Mark]]] = {}
    speakers: dict[int, str] = {}
    for mark in timeline:
        speakers[mark.speech] = mark.speaker
        marks.setdefault(mark.dimension, {}).setdefault(mark.speech, []).append(mark)
    rows = []
    for name, of_speech in marks.items():
        cells: list[tuple[float | None, str]] = []
        for number in sorted(speakers):
            parts = of_speech.get(number, ())
            scores = [mark.score for mark in parts if mark.score is not None]
            comments = " ".join(mark.comment for mark in parts if mark.comment)
            cells.append((mean(scores), comments))
        rows.append((name, cells))
    return {"speeches": sorted(speakers.items()), "rows": rows} if rows else None


def _names_of_debaters(contest: Contest) -> dict[str, str]:
    """Return the debaters of a tournament by the speakers, who are shown as them."""
    debater_of = debaters_of(contest)
    names = {
        speaker: debater_of[speaker]
        for speaker in contest.sides
        if debater_of.get(speaker, TIE) != TIE
    }
    if len(set(names.values())) < len(names):  # a debater against itself
        for speaker, name in names.items():
            names[speaker] = f"{name} ({contest.sides[speaker]})"
    return names


def _renamed(record: Any, names: Mapping[str, str]) -> Any:
    """Replace speakers' names where they are a whole text or a key."""
    if not names or record is None:
        return record
    data = map_texts(record.model_dump(), lambda text: names.get(text, text), names=True)
    return record.model_validate(data)


def _tables(details: object, name: str = "") -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield each list of records in a panel's details as a table, but not the timeline."""
    if isinstance(details, Mapping):
        for key, value in details.items():
            if key != "timeline":
                yield from _tables(value, f"{name} {key}".strip())
    rows = details if isinstance(details, list) else []
    lines: list[dict[str, str]] = []
    nested_of_rows = []
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        texts = {}
        nested = {}  # a value with records in it becomes tables of its own
        for key, value in row.items():
            parts = value if isinstance(value, list) else [value]
            if any(isinstance(part, Mapping | list) for part in parts):
                nested[key] = value
            else:
                texts[key] = NONE if value is None else ", ".join(map(str, parts))
        lines.append(texts)
        nested_of_rows.append(nested)
    heads = list(dict.fromkeys(head for texts in lines for head in texts))
    if heads:
        yield name, heads, [[texts.get(head, NONE) for head in heads] for texts in lines]
    for number, nested in enumerate(nested_of_rows, 1):
        yield from _tables(nested, f"{name} {number}:")
