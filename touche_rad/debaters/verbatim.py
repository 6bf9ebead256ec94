"""The official baseline: what attacks the user's words best, quoted whole."""

from __future__ import annotations

from touche_rad.debate import Debate, Response
from touche_rad.errors import WorkError
from touche_rad.plugins import Options, Services


class Verbatim:
    """Quote the top hit of the attacks field whole (the official baseline)."""

    needs = ("index",)

    def __init__(self, options: Options, services: Services) -> None:
        self.index = services.need_index("verbatim")

    def answer(self, debate: Debate) -> Response:
        """Answer the user's last message with the argument that attacks it best."""
        hits = self.index.search("attacks", debate.last.utterance, 1)
        if not hits:
            raise WorkError("no argument attacks anything like the user's words")
        best = hits[0]
        cited = best.argument.model_copy(update={"key": 1, "score": best.score})
        return Response(content=cited.text, arguments=(cited,))
