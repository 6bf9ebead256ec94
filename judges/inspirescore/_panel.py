"""The panel `inspirescore`: six dimensions of each speaker, a total, and a computed winner."""

from __future__ import annotations

from typing import ClassVar, Final

import anyio

from judges.inspirescore._facts import EvidenceSearch, FactChecker
from judges.inspirescore._logic import LogicChecker
from judges.inspirescore._options import InspireScoreOptions
from judges.inspirescore._outcome import Findings, outcome
from judges.inspirescore._responses import responses_of, speakers_of
from judges.inspirescore._subjective import score_units, units_of
from judges.inspirescore.aggregation import SUBJECTIVE
from judges.inspirescore.fol import Solver, solver_is_installed
from retrieval.web import web_search
from touche_rad.contest import Contest, Outcome
from touche_rad.events import log
from touche_rad.plugins import Services
from touche_rad.text import clean
from touche_rad.users.contest_views import SAMPLED

LONGEST_INFO: Final = 2_000
"""Characters of the motion and of the background information."""


class InspireScore:
    """Scores a debate by six dimensions: four judged, facts looked up, logic decided twice."""

    needs: ClassVar = ("model",)
    uses: ClassVar = ("index",)
    Options = InspireScoreOptions

    def __init__(self, options: InspireScoreOptions, services: Services) -> None:
        self.options = options
        self.model = services.need_model("panel inspirescore")
        index = services.index if "index" in options.sources else None
        web = web_search(options.web) if "web" in options.sources else None
        if "fact_authenticity" in options.selected and index is None and web is None:
            log.warning(
                "inspirescore has no source of evidence: facts are judged from the model's own "
                "knowledge (-O web=URL names a SearXNG server or a folder of texts)"
            )
        self._facts = FactChecker(self.model, EvidenceSearch(index, web, options), options)
        solves = options.logic == "solver" or (options.cross_check and solver_is_installed())
        self._logic = LogicChecker(self.model, Solver() if solves else None, options)

    async def judge(self, contest: Contest) -> Outcome:
        """Score each speaker; a failed step costs only its own dimensions."""
        options = self.options
        speakers = speakers_of(contest)
        responses = responses_of(contest, speakers, options.max_characters)
        if options.speeches == "last" or SAMPLED in contest.rest:
            last = {response.speaker: response for response in responses}
            responses = list(last.values())
        spoken = [response for response in responses if not response.empty]
        motion = clean(contest.motion)[:LONGEST_INFO]
        info = clean(contest.info)[:LONGEST_INFO]
        findings = Findings(list(speakers.values()), responses)

        async def score() -> None:
            units = units_of(spoken, options.subjective_scope)
            findings.subjective = await score_units(self.model, motion, info, units, options)

        async def check_facts() -> None:
            findings.facts, findings.search_faults = await self._facts.check(motion, spoken)

        async def check_logic() -> None:
            findings.logic = await self._logic.check(motion, spoken)

        async with anyio.create_task_group() as group:
            if set(options.selected) & set(SUBJECTIVE):
                group.start_soon(score)
            if "fact_authenticity" in options.selected:
                group.start_soon(check_facts)
            if "logical_validity" in options.selected:
                group.start_soon(check_logic)
        return outcome(findings, options, self._facts.evidence.sources)
