"""Whole debates in the report: verdicts, scores by speech, details and exported files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from markupsafe import Markup
from pydantic import BaseModel

from touche_rad import files
from touche_rad.contest import TIE, Contest, Outcome, Side
from touche_rad.contests.tournament.result import debaters_of
from touche_rad.contests.two_sides import FALLBACK
from touche_rad.files import BadLines, Judgement, Kind
from touche_rad.plots.svg import line_plot
from touche_rad.report._sources import Source
from touche_rad.score import kind_of


@dataclass(frozen=True)
class SpeechScore:
    """A score of a speech in a dimension; of a long speech, the mean of its pieces."""

    score: float | None
    comment: str

    @property
    def shade(self) -> int:
        """Colour strength of the cell, from 0 to 10."""
        return round(min(max(self.score or 0, 0.0), 10))


@dataclass(frozen=True)
class Timeline:
    """Scores by speech and dimension."""

    speeches: list[tuple[int, str, Side]]
    rows: list[tuple[str, list[SpeechScore]]]

    @property
    def plot(self) -> Markup:
        """Plot the mean score of each speech, a line for each speaker."""
        series: dict[str, list[float | None]] = {who: [] for _, who, _ in self.speeches}
        for at, (_, speaker, _) in enumerate(self.speeches):
            scores = [scores[at].score for _, scores in self.rows]
            known = [score for score in scores if score is not None]
            for who, line in series.items():
                line.append(fmean(known) if known and who == speaker else None)
        return line_plot("Mean score by speech", series, axis=(0.0,))


@dataclass(frozen=True)
class PanelVerdict:
    """A panel's verdict on a debate, and what the report shows of it."""

    run: str
    judge: str
    outcome: Outcome
    swapped: Outcome | None
    contest: Contest | None

    @property
    def flipped(self) -> bool:
        """Whether the winner changes when the sides are swapped."""
        return self.swapped is not None and self.swapped.winner != self.outcome.winner

    @property
    def speakers(self) -> list[str]:
        """The columns of the table."""
        return list(self.contest.sides if self.contest else self.outcome.scores)

    @property
    def table(self) -> list[tuple[str, list[float | None], str | None]]:
        """The scores of the speakers and the winner of each dimension."""
        scores, winners = self.outcome.scores, self.outcome.winners
        names = dict.fromkeys([*(name for marks in scores.values() for name in marks), *winners])
        return [
            (name, [scores.get(who, {}).get(name) for who in self.speakers], winners.get(name))
            for name in names
        ]

    @property
    def timeline(self) -> Timeline | None:
        """The scores by speech, if the panel reports a `timeline`."""
        timeline = self.outcome.details.get("timeline")
        sides: Mapping[str, Side] = self.contest.sides if self.contest else {}
        pieces: dict[str, dict[int, list[Mapping[str, Any]]]] = {}
        speakers: dict[int, str] = {}
        for row in timeline if isinstance(timeline, list) else ():
            if not isinstance(row, Mapping):
                continue
            number, speaker, name = row.get("speech"), row.get("speaker"), row.get("dimension")
            if not (isinstance(number, int) and isinstance(speaker, str) and isinstance(name, str)):
                return None
            speakers[number] = speaker
            pieces.setdefault(name, {}).setdefault(number, []).append(row)
        if not pieces:
            return None
        numbers = sorted(speakers)
        return Timeline(
            [(number, speakers[number], sides.get(speakers[number], "pro")) for number in numbers],
            [
                (name, [_speech_score(of_speech.get(number, ())) for number in numbers])
                for name, of_speech in pieces.items()
            ],
        )

    @property
    def details(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Tables of the panel's details: name, heads and rows."""
        return list(_tables(self.outcome.details))


@dataclass(frozen=True)
class ContestSection:
    """A debate with the verdicts of all runs."""

    id: str
    contest: Contest | None
    verdicts: list[PanelVerdict]

    @property
    def gold(self) -> dict[str, list[str]]:
        """The human winners by dimension."""
        winners: dict[str, list[str]] = {}
        for name, won in (self.contest.gold if self.contest else {}).items():
            if isinstance(won, str):
                winners[str(name)] = [won]
            elif isinstance(won, list | tuple):
                winners[str(name)] = list(map(str, won))
        return winners

    @property
    def entry(self) -> dict[str, Any]:
        """What the page needs to list and filter the debate."""
        sides: Mapping[str, str] = self.contest.sides if self.contest else {}
        speeches = self.contest.speeches if self.contest else ()
        gold = [name for name in self.gold.get("general", ()) if name]
        verdicts = []
        for one in self.verdicts:
            winner = one.outcome.decision or ""
            wrong = bool(gold) and winner not in (*gold, *map(sides.get, gold))
            verdicts.append(
                [one.run, winner, sides.get(winner, winner or "none"), one.flipped, wrong]
            )
        return {
            "id": self.id,
            "motion": self.contest.motion if self.contest else self.id,
            "sides": list(sides),
            "fallback": any((one.model_extra or {}).get(FALLBACK) for one in speeches),
            "verdicts": verdicts,
        }


def contest_sections(
    sources: Sequence[Source], labels: Path | None, bad: BadLines
) -> Iterator[ContestSection]:
    """Yield each judged debate with the verdicts of all runs."""
    lists = [source.contests for source in sources]
    if labels is not None and kind_of(labels) in (Kind.CONTESTS, *files.DEBATES):
        lists.append(list(files.read_contests(labels, bad)))
    contests = {
        contest.id or str(number): contest
        for of_file in lists
        for number, contest in enumerate(of_file, 1)
    }
    judgements: dict[str, list[tuple[str, Judgement]]] = {}
    for source in sources:
        for one in source.judgements:
            judgements.setdefault(one.id, []).append((source.name, one))
    for key in judgements or contests:
        named, debaters = None, dict[str, str]()
        if key in contests:
            of_speakers, sides = debaters_of(contests[key]), contests[key].sides
            debaters = {who: of_speakers[who] for who in sides if of_speakers.get(who, TIE) != TIE}
            if len(set(debaters.values())) < len(debaters):
                debaters = {who: f"{name} ({sides[who]})" for who, name in debaters.items()}
            named = _renamed(contests[key], debaters)
        verdicts = [
            PanelVerdict(
                run,
                judgement.judge,
                _renamed(judgement.outcome, debaters),
                _renamed(judgement.swapped, debaters),
                named,
            )
            for run, judgement in judgements.get(key, ())
        ]
        yield ContestSection(key, named, verdicts)


def _renamed(value: object, names: Mapping[str, str]) -> Any:
    """Replace speakers' names where they are a whole text or a key."""
    if not names:
        return value
    if isinstance(value, BaseModel):
        return value.model_validate(_renamed(value.model_dump(), names))
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {names.get(key, key): _renamed(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(one, names) for one in value]
    return value


def _tables(details: object, name: str = "") -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield each list of records in a panel's details as a table; `_timeline` shows one of them."""
    if isinstance(details, Mapping):
        for key, value in details.items():
            if key != "timeline":
                yield from _tables(value, f"{name} {key}".strip())
    rows = [one for one in details if isinstance(one, Mapping)] if isinstance(details, list) else []
    flat = [{key: one for key, one in row.items() if _is_flat(one)} for row in rows]
    heads = list(dict.fromkeys(key for row in flat for key in row))
    if heads:
        yield name, heads, [[_cell(row.get(head)) for head in heads] for row in flat]
    for number, row in enumerate(rows, 1):
        nested = {key: value for key, value in row.items() if not _is_flat(value)}
        yield from _tables(nested, f"{name} {number}:")


def _is_flat(value: object) -> bool:
    return not isinstance(value, Mapping | list) or (
        isinstance(value, list) and not any(isinstance(one, Mapping | list) for one in value)
    )


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "–" if value is None else str(value)


def _speech_score(pieces: Sequence[Mapping[str, Any]]) -> SpeechScore:
    scores = [one["score"] for one in pieces if isinstance(one.get("score"), int | float)]
    comments = [str(one.get("comment") or "") for one in pieces]
    return SpeechScore(fmean(scores) if scores else None, " ".join(filter(None, comments)))
