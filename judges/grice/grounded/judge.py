"""The judge: one look at a debate, four verdicts."""

from __future__ import annotations

from typing import Literal

from judges.grice.grounded import manner, quality, quantity, relation
from judges.grice.grounded.scene import scene
from judges.grice.grounded.scoring import weights
from touche_rad import plugins
from touche_rad.debate import Debate, Maxim, Response, Verdict
from touche_rad.plugins import Services


class GroundedJudge:
    """Checks each sentence against what is cited, and reads the rest off features anyone can see.

    It sees what the official annotators saw: the conversation up to the judged response, and the
    texts of the first two arguments. Where arguments say what they attack, that counts as evidence
    for Relation; without it the judge works as well.
    """

    class Options(plugins.Options):
        """What the judge is shown."""

        arguments: Literal["first-two", "all"] = "first-two"
        """Which cited arguments count: the first two, as annotators saw them, or all."""

    def __init__(self, options: Options, services: Services) -> None:
        self._all_arguments = options.arguments == "all"

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        response = debate.last.response if debate.turns else None
        if response is None:
            unanswered = Verdict(score=None, rationale="the last turn has no response")
            return dict.fromkeys(Maxim, unanswered)
        return self._judged(debate, response)

    def _judged(self, debate: Debate, response: Response) -> dict[Maxim, Verdict]:
        seen, weigh = scene(debate, response, all_arguments=self._all_arguments), weights()
        found = quality.findings(seen.sentences, seen.sources, weigh.quality)
        return {
            Maxim.QUANTITY: quantity.verdict(seen, found, weigh.quantity),
            Maxim.QUALITY: quality.verdict(found, len(seen.sources), weigh.quality, seen.addressed),
            Maxim.RELATION: relation.verdict(seen, found, weigh.relation),
            Maxim.MANNER: manner.verdict(seen, weigh.manner),
        }
