"""The panel `inspirescore`: six dimensions of each speaker, a total, and a winner by code."""

from __future__ import annotations

from typing import ClassVar

import anyio

from judges.inspirescore.aggregation import SUBJECTIVE
from judges.inspirescore.facts import Checking, Evidence
from judges.inspirescore.fol import Solver, solver_is_here
from judges.inspirescore.logic import Reasoning
from judges.inspirescore.options import InspireScoreOptions
from judges.inspirescore.outcome import Findings, outcome
from judges.inspirescore.responses import Response, responses_of, speakers_of
from judges.inspirescore.showing import shown
from judges.inspirescore.subjective import scored, units_of
from retrieval.web import web_search
from touche_rad.contest import Contest, Outcome
from touche_rad.plugins import Services
from touche_rad.text import clean

LONGEST_INFO = 2_000


class InspireScore:
    """Scores a debate by six dimensions: four judged, facts looked up, logic decided twice."""

    needs: ClassVar = ("model",)
    uses: ClassVar = ("index",)
    Options = InspireScoreOptions

    def __init__(self, options: InspireScoreOptions, services: Services) -> None:
        self.options = chosen = options
        self.model = services.need_model("panel inspirescore")
        detailed = chosen.profile == "paper"
        web = web_search(chosen.web) if "web" in chosen.sources else None
        self._checking = Checking(
            self.model,
            Evidence(
                services.index if "index" in chosen.sources else None, web, chosen.hits,
                chosen.evidence, chosen.searches,
            ),
            size=chosen.batch, at_once=not detailed, most_facts=chosen.facts,
            most_queries=chosen.queries, without=chosen.without_evidence,
        )  # fmt: skip
        solves = chosen.logic == "solver" or (chosen.cross_check and solver_is_here())
        self._reasoning = Reasoning(
            self.model, Solver() if solves else None, size=chosen.batch, by=chosen.logic,
            both=chosen.cross_check, detailed=detailed, most_premises=chosen.premises,
            most_conclusions=chosen.conclusions,
        )  # fmt: skip

    @staticmethod
    def drawing(outcome: Outcome, contest: Contest | None) -> str:
        """Show what was checked, for the report."""
        return shown(outcome)

    @staticmethod
    def drawing_style() -> str:
        """The page's own will do."""
        return ""

    @staticmethod
    def drawing_script() -> str:
        """Nothing moves."""
        return ""

    async def judge(self, contest: Contest) -> Outcome:
        """Score each speaker; what fails costs the dimension that it is for, and not the others."""
        responses = responses_of(contest, self.options.longest)
        said = [one for one in responses if not one.empty]
        motion = clean(contest.motion)[:LONGEST_INFO]
        findings = Findings(speakers_of(contest), responses)
        async with anyio.create_task_group() as group:
            if set(self.options.wanted) & set(SUBJECTIVE):
                group.start_soon(self._score, contest, responses, motion, findings)
            if "fact_authenticity" in self.options.wanted:
                group.start_soon(self._check, said, motion, findings)
            if "logical_validity" in self.options.wanted:
                group.start_soon(self._decide, said, motion, findings)
        return outcome(findings, self.options, self._checking.evidence.sources)

    async def _score(
        self, contest: Contest, responses: tuple[Response, ...], motion: str, findings: Findings
    ) -> None:
        units = units_of(responses, self.options.subjective_scope)
        findings.scored = await scored(
            self.model, motion, clean(contest.info)[:LONGEST_INFO], units,
            size=max(1, self.options.batch // max(1, len(contest.sides))),
            detailed=self.options.profile == "paper",
        )  # fmt: skip

    async def _check(self, said: list[Response], motion: str, findings: Findings) -> None:
        findings.checked, findings.source_faults = await self._checking.checked(motion, said)

    async def _decide(self, said: list[Response], motion: str, findings: Findings) -> None:
        findings.formalised = await self._reasoning.decided(motion, said)
