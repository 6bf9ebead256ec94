"""The panel judge `debatrix`: columns side by side, then the panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import anyio
from pydantic import Field, field_validator, model_validator

from judges.debatrix import panel
from judges.debatrix.column import Column, Context, Found
from judges.debatrix.dimensions import GENERAL, Dimension, chosen, known
from judges.debatrix.panel import by_score
from judges.debatrix.questions import Questions, Ruling
from judges.debatrix.speeches import Case
from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.models import Model
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services

_PAPER: Mapping[str, Any] = {"chunk_words": "0", "overlong": "incomplete"}


class Debatrix:
    """Judges a whole debate speech by speech, in several dimensions, and as a panel of them."""

    needs: ClassVar = ("model",)

    class Options(PluginOptions):
        """The paper's variants; each of its ablations is one of these."""

        profile: Literal["lean", "paper"] = Field(
            "lean", description="lean asks for comment and number in one answer, paper in two"
        )
        context: Context = Field(
            "full", description="looks back on its analyses (full), on speeches (half), on "
            "nothing (none), or judges all at once (direct)"
        )  # fmt: skip
        columns: Literal["multi", "single"] = Field(
            "multi", description="a column for each dimension, or one general column"
        )
        dimensions: str = Field(
            "argument,source,language,clash",
            description="the columns, NAME or NAME=WEIGHT; weight 0 leaves one out",
        )
        combine: Literal["summary", "discussion", "none"] = Field(
            "summary", description="how the panel comes to its verdict; none counts the columns'"
        )
        rounds: int = Field(1, ge=1, le=5, description="how often each column speaks (discussion)")
        decision: Literal["winner", "score"] = Field(
            "winner", description="who won is asked for, or follows from the scores"
        )
        own_verdicts: bool = Field(
            True, description="each dimension gives a verdict of its own besides the panel's"
        )
        tie_margin: int | None = Field(
            None, ge=0, le=9, description="how far scores may lie apart and tie, for every "
            "dimension [default: 3 for source and language, else 0]"
        )  # fmt: skip
        ties: Literal["auto", "yes", "no"] = Field(
            "auto", description="whether there may be a tie; auto: with two debaters"
        )
        chunk_words: int = Field(
            1_500, ge=0, description="longer speeches are analysed in pieces; 0: never (paper)"
        )
        overlong: Literal["shorten", "incomplete"] = Field(
            "shorten", description="what does not fit the model goes without its oldest part, or "
            "counts as not judged (paper)"
        )  # fmt: skip

        @model_validator(mode="before")
        @classmethod
        def _of_profile(cls, given: Any) -> Any:
            return {**_PAPER, **given} if given.get("profile") == "paper" else given

        @field_validator("dimensions")
        @classmethod
        def _known(cls, said: str) -> str:
            chosen(said)
            return said

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.model: Model = services.need_model("panel debatrix")
        single = options.columns == "single"
        self.dimensions = (known()[GENERAL],) if single else chosen(options.dimensions)

    async def judge(self, contest: Contest) -> Outcome:
        """Judge the debate; what fails is left out, and the reason says what."""
        case = Case(contest, self.options.chunk_words)
        if not case.speeches:
            return Outcome(winner=None, reason="the debate has no speech")
        asked = {one.name: self._questions(case, one) for one in self.dimensions}
        found = await self._columns(case, asked)
        if self.options.overlong == "incomplete" and any(one.overlong for one in found):
            told = next(reason for one in found if one.overlong for reason in one.reasons)
            return self._outcome(case, found, "", Ruling(reason=told))
        alone = len(self.dimensions) == 1
        text, ruling = "", found[0].ruling or Ruling(reason="; ".join(found[0].reasons))
        if not alone:
            text, ruling = await self._panel(case, asked, found)
        return self._outcome(case, found, text, ruling)

    async def _columns(self, case: Case, asked: Mapping[str, Questions]) -> list[Found]:
        """All columns at once: nothing in one needs another."""
        made: dict[str, Found] = {}
        own = self.options.own_verdicts or len(asked) == 1 or self.options.combine == "none"

        async def run(dimension: Dimension) -> None:
            column = Column(dimension, asked[dimension.name], self.options.context)
            made[dimension.name] = await column.judge(case, rules=own)

        async with anyio.create_task_group() as group:
            for dimension in self.dimensions:
                group.start_soon(run, dimension)
        return [made[dimension.name] for dimension in self.dimensions]

    async def _panel(
        self, case: Case, asked: Mapping[str, Questions], found: Sequence[Found]
    ) -> tuple[str, Ruling]:
        chair = self._questions(case, None)
        if self.options.combine == "none":
            return "", panel.counted(found, chair.codes, ties=chair.ties)
        if not panel.seen(found):
            reasons = "; ".join(reason for one in found for reason in one.reasons[:1])
            return "", Ruling(reason=reasons or "no dimension has a view of the debate")
        if self.options.combine == "discussion":
            return await panel.discussion(chair, asked, found, self.options.rounds)
        return await panel.summary(chair, found)

    def _questions(self, case: Case, dimension: Dimension | None) -> Questions:
        ties = {"yes": True, "no": False, "auto": not case.teams}[self.options.ties]
        return Questions(
            self.model, case.header(dimension), tuple(one.code for one in case.debaters),
            decides=dimension.decides if dimension else "", ties=ties,
            whole=self.options.profile == "lean", shortens=self.options.overlong == "shorten",
        )  # fmt: skip

    def _outcome(self, case: Case, found: Sequence[Found], text: str, ruling: Ruling) -> Outcome:
        ties = {"yes": True, "no": False, "auto": not case.teams}[self.options.ties]
        rulings = {one.dimension.name: one.ruling for one in found if one.ruling is not None}
        margins = {one.dimension.name: one.dimension.tie_margin for one in found}
        rulings[GENERAL] = ruling
        scores: dict[str, dict[str, float | None]] = {name: {} for name in case.contest.sides}
        asked: dict[str, str | None] = {}
        scored: dict[str, str | None] = {}
        for name, one in rulings.items():
            marks = {
                case.speaker_of[code]: one.marks[code].score if code in one.marks else None
                for code in case.code_of.values()
            }
            for speaker, score in marks.items():
                scores[speaker][name] = score
            margin = self.options.tie_margin
            margin = margins.get(name, 0) if margin is None else margin
            asked[name] = _speaker(case, one.winner)
            scored[name] = by_score(marks, margin=margin, ties=ties)
        winners = asked if self.options.decision == "winner" else scored
        reasons = [reason for one in found for reason in one.reasons]
        reasons += [ruling.reason] if ruling.reason else []
        return Outcome(
            winner=winners[GENERAL], scores=scores, winners=winners, comment=ruling.comment,
            reason="; ".join(dict.fromkeys(reasons))[:500],
            details={
                "by_verdict": asked, "by_score": scored, "timeline": _timeline(case, found),
                "debate": {one.dimension.name: one.analysis for one in found},
                "comments": _comments(case, rulings), "panel": text,
            },
        )  # fmt: skip


def _speaker(case: Case, winner: str | None) -> str | None:
    return winner if winner in (None, TIE) else case.speaker_of[winner]


def _timeline(case: Case, found: Sequence[Found]) -> list[dict[str, Any]]:
    """Every speech with what each dimension made of it, in the order of the debate."""
    rows = []
    for place, entry in enumerate(case.speeches):
        for one in found:
            mark = one.marks.get(place)
            rows.append({
                "speech": entry.number, "speaker": case.speaker_of[entry.code],
                "dimension": one.dimension.name, "analysis": one.analyses.get(place, ""),
                "comment": mark.comment if mark else "", "score": mark.score if mark else None,
            })  # fmt: skip
    return rows


def _comments(case: Case, rulings: Mapping[str, Ruling]) -> dict[str, dict[str, str]]:
    """What was said of each debater, by dimension."""
    return {
        speaker: {
            name: one.marks[code].comment for name, one in rulings.items() if code in one.marks
        }
        for speaker, code in case.code_of.items()
    }
