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
from touche_rad.contests.two_sides import FALLBACK, debaters_of
from touche_rad.files import BadLines, Judgement, Kind
from touche_rad.plots.svg import line_plot
from touche_rad.report.sources import Source
from touche_rad.score import kind_of
from touche_rad.score.tables import NONE


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
        speakers = [speaker for _, speaker, _ in self.speeches]
        series: dict[str, list[float | None]] = {
            speaker: [None] * len(speakers) for speaker in speakers
        }
        for at, speaker in enumerate(speakers):
            scores = [scores[at].score for _, scores in self.rows]
            known = [score for score in scores if score is not None]
            if known:
                series[speaker][at] = fmean(known)
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
        scores = self.outcome.scores
        winners = self.outcome.winners
        dimensions: dict[str, None] = {}
        for scores_of_speaker in scores.values():
            dimensions |= dict.fromkeys(scores_of_speaker)
        rows = []
        for name in dimensions | dict.fromkeys(winners):
            of_speakers = [scores.get(speaker, {}).get(name) for speaker in self.speakers]
            rows.append((name, of_speakers, winners.get(name)))
        return rows

    @property
    def timeline(self) -> Timeline | None:
        """The scores by speech, if the panel reports a `timeline`."""
        timeline = self.outcome.details.get("timeline")
        sides: Mapping[str, Side] = self.contest.sides if self.contest else {}
        pieces: dict[str, dict[int, list[Mapping[str, Any]]]] = {}
        speakers: dict[int, str] = {}
        if not isinstance(timeline, list):
            return None
        for row in timeline:
            if not isinstance(row, Mapping):
                continue
            number = row.get("speech")
            speaker = row.get("speaker")
            name = row.get("dimension")
            if not (isinstance(number, int) and isinstance(speaker, str) and isinstance(name, str)):
                return None
            speakers[number] = speaker
            pieces.setdefault(name, {}).setdefault(number, []).append(row)
        if not pieces:
            return None
        speeches = []
        for number, speaker in sorted(speakers.items()):
            speeches.append((number, speaker, sides.get(speaker, "pro")))
        rows = []
        for name, of_speech in pieces.items():
            rows.append((name, [_speech_score(of_speech.get(at, ())) for at, *_ in speeches]))
        return Timeline(speeches, rows)

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
        for verdict in self.verdicts:
            winner = verdict.outcome.decision or ""
            side = sides.get(winner, winner or "none")
            wrong = bool(gold) and winner not in (*gold, *map(sides.get, gold))
            verdicts.append([verdict.run, winner, side, verdict.flipped, wrong])
        return {
            "id": self.id,
            "motion": self.contest.motion if self.contest else self.id,
            "sides": list(sides),
            "fallback": any((speech.model_extra or {}).get(FALLBACK) for speech in speeches),
            "verdicts": verdicts,
        }


def contest_sections(
    sources: Sequence[Source], labels: Path | None, bad: BadLines
) -> Iterator[ContestSection]:
    """Yield each judged debate with the verdicts of all runs."""
    files_of_contests = [source.contests for source in sources]
    if labels is not None and kind_of(labels) in (Kind.CONTESTS, *files.DEBATES):
        files_of_contests.append(list(files.read_contests(labels, bad)))
    contests: dict[str, Contest] = {}
    for of_file in files_of_contests:
        for number, contest in enumerate(of_file, 1):
            contests[contest.id or str(number)] = contest
    judgements: dict[str, list[tuple[str, Judgement]]] = {}
    for source in sources:
        for judgement in source.judgements:
            judgements.setdefault(judgement.id, []).append((source.name, judgement))
    for key in judgements or contests:
        # The speakers of a tournament are shown by their debaters.
        shown_contest = None
        debaters: dict[str, str] = {}
        if key in contests:
            contest = contests[key]
            debater_of = debaters_of(contest)
            for speaker in contest.sides:
                if debater_of.get(speaker, TIE) != TIE:
                    debaters[speaker] = debater_of[speaker]
            if len(set(debaters.values())) < len(debaters):  # a debater against itself
                for speaker, name in debaters.items():
                    debaters[speaker] = f"{name} ({contest.sides[speaker]})"
            shown_contest = _renamed(contest, debaters)
        verdicts = []
        for run, judgement in judgements.get(key, ()):
            outcome = _renamed(judgement.outcome, debaters)
            swapped = _renamed(judgement.swapped, debaters)
            verdicts.append(PanelVerdict(run, judgement.judge, outcome, swapped, shown_contest))
        yield ContestSection(key, shown_contest, verdicts)


def _renamed(value: object, names: Mapping[str, str]) -> Any:
    """Replace speakers' names where they are a whole text or a key."""
    if not names:
        return value
    if isinstance(value, BaseModel):
        return value.model_validate(_renamed(value.model_dump(), names))
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {names.get(key, key): _renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(inner, names) for inner in value]
    return value


def _tables(details: object, name: str = "") -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield each list of records in a panel's details as a table; `_timeline` shows one of them."""
    if isinstance(details, Mapping):
        for key, value in details.items():
            if key != "timeline":
                yield from _tables(value, f"{name} {key}".strip())
    rows: list[Mapping[str, object]] = []
    if isinstance(details, list):
        rows = [row for row in details if isinstance(row, Mapping)]
    # A value with records in it becomes tables of its own.
    heads: dict[str, None] = {}
    lines = []
    nested_of_rows = []
    for row in rows:
        texts = {}
        nested = {}
        for key, value in row.items():
            inner = value if isinstance(value, list) else ()
            if isinstance(value, Mapping) or any(
                isinstance(part, Mapping | list) for part in inner
            ):
                nested[key] = value
            else:
                heads[key] = None
            if isinstance(value, list):
                texts[key] = ", ".join(map(str, value))
            else:
                texts[key] = NONE if value is None else str(value)
        lines.append(texts)
        nested_of_rows.append(nested)
    if heads:
        yield name, list(heads), [[texts.get(head, NONE) for head in heads] for texts in lines]
    for number, nested in enumerate(nested_of_rows, 1):
        yield from _tables(nested, f"{name} {number}:")


def _speech_score(pieces: Sequence[Mapping[str, Any]]) -> SpeechScore:
    scores = [piece["score"] for piece in pieces if isinstance(piece.get("score"), int | float)]
    comments = [str(piece.get("comment") or "") for piece in pieces]
    return SpeechScore(fmean(scores) if scores else None, " ".join(filter(None, comments)))
