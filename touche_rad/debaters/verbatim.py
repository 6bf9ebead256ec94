"""The official baseline: the best hit of the attacks field, quoted whole."""

from __future__ import annotations

from touche_rad.debate import Debate, Hit, Response
from touche_rad.debaters._citing import EarlierCitations, earlier_citations
from touche_rad.errors import WorkError
from touche_rad.evidence.quotable import other_text
from touche_rad.plugins import ExplainedCandidate, Feature, Options, Services

_MOST = 100
"""Hits that are explained, or tried if the first one cannot be quoted."""


class Verbatim:
    """Quotes the argument that attacks a claim like the user's last message (official baseline)."""

    needs = ("index",)

    def __init__(self, options: Options, services: Services) -> None:
        """Keep the index; there are no options."""
        self.index = services.need_index("verbatim")

    def answer(self, debate: Debate) -> Response:
        """Quote the first hit that contradicts no earlier citation and names no other text whole.

        `key` and `score` are given as the official baseline does.
        """
        hits = self.index.search("attacks", debate.last.utterance, 1)
        if not hits:
            raise WorkError("the index has no argument that attacks a claim like the last message")
        earlier = earlier_citations(debate, self.index)
        if _fault(hits[0], earlier):
            more_hits = self.index.search("attacks", debate.last.utterance, _MOST)
            hits = [hit for hit in more_hits if not _fault(hit, earlier)] or hits
        first = hits[0]
        cited = first.argument.replace(key=1, score=first.score)
        return Response(content=first.argument.text, arguments=(cited,))

    def explain(self, debate: Debate) -> list[ExplainedCandidate]:
        """Return the best hits of the attacks field; the answer is the first without a fault."""
        earlier = earlier_citations(debate, self.index)
        explained = []
        rest = ""
        for hit in self.index.search("attacks", debate.last.utterance, _MOST):
            attacks = Feature(hit.score, phrase="attacks a claim with the words of your message")
            fault = _fault(hit, earlier)
            explained.append(
                ExplainedCandidate(
                    hit.argument.id,
                    hit.argument.text,
                    hit.score,
                    {"attacks": attacks},
                    topic=hit.argument.topic,
                    fault=fault or rest,
                )
            )
            if not fault:
                rest = "verbatim takes the first that fits"
        return explained


def _fault(hit: Hit, earlier: EarlierCitations) -> str:
    """Return why an argument cannot be quoted; "" if it can."""
    if earlier.contradicts(hit.argument):
        return "contradicts an earlier citation"
    return other_text(hit.argument.text) and "names another text"
