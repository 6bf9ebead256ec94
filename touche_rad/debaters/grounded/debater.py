"""The debater `grounded`: an argument against what the user just said, in its own words."""

from __future__ import annotations

import threading
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import Field

from touche_rad.debate import Argument, Debate, Response
from touche_rad.debaters.grounded.candidates import Candidate
from touche_rad.debaters.grounded.form import quotation
from touche_rad.debaters.grounded.profile import Library, sampled
from touche_rad.debaters.grounded.ranking import Ranked, ranking
from touche_rad.debaters.grounded.reading import Reading, read
from touche_rad.debaters.grounded.weights import weights
from touche_rad.errors import WorkError
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services
from touche_rad.text import count_words

FRAMES: Final = (
    "I disagree:",
    "On the contrary:",
    "I see it differently:",
    "I am not convinced:",
    "Not so:",
)
"""What may stand before the quotation: a stance and no claim, another one each turn."""
_LOOKED_AT: Final = 50
"""How many of the best candidates are tried for one that can be quoted and was not said before."""


class Grounded:
    """Quotes the argument that fits best against what the user just said, found without a model."""

    needs: ClassVar = ("index",)

    class Options(PluginOptions):
        """What can be set."""

        k: int = Field(40, ge=1, le=1_000, description="hits of each search that are looked at")
        max_words: int = Field(60, ge=1, le=1_000, description="the most words of a response")
        whole: int = Field(45, ge=1, le=1_000, description="quote texts up to so many words whole")
        frame: bool = Field(True, description="say a stance, such as 'I disagree:', before it")
        weights: Path | None = Field(None, description="a file of weights in place of ours")

    def __init__(self, options: Options, services: Services) -> None:
        """Read the weights; the index is learnt from when the first turn is answered."""
        self.options = options
        self.index = services.need_index("grounded")
        self.weights = weights(options.weights)
        self._seed = services.seed
        self._library: Library | None = None
        self._learning = threading.Lock()

    def answer(self, debate: Debate) -> Response:
        """Quote the best argument against the user's last message."""
        reading = read(debate)
        chosen, quoted = self._choice(self._ranked(reading), reading)
        content = f"{self._frame(debate, quoted)}{quoted}"
        return Response(content=content, arguments=(chosen,))

    def explain(self, debate: Debate) -> list[dict[str, Any]]:
        """Return one row a candidate, best first: its score, what adds to it, how it was found."""
        reading = read(debate)
        ranked = self._ranked(reading)
        chosen, quoted = self._choice(ranked, reading)
        return [
            self._row(rank, one, quoted if one.candidate.argument.id == chosen.id else "")
            for rank, one in enumerate(ranked, 1)
        ]

    def _row(self, rank: int, one: Ranked, quoted: str) -> dict[str, Any]:
        weight = self.weights.of(one.features)
        return {
            "rank": rank,
            "id": one.candidate.argument.id,
            "score": one.score,
            "chosen": bool(quoted),
            "quoted": quoted,
            "routes": dict(sorted(one.candidate.routes.items())),
            "features": {
                name: {"value": value, "weight": weight[name], "adds": weight[name] * value}
                for name, value in one.features.items()
            },
            "topic": one.candidate.argument.topic,
            "text": one.candidate.argument.text,
        }

    def _ranked(self, reading: Reading) -> list[Ranked]:
        ranked = ranking(self.index, reading, self._learnt(), self.weights, self.options.k)
        if ranked:
            return ranked
        some = islice(self.index.arguments(), self.options.k)
        return [Ranked(Candidate(argument, {"any": 0.0}), {}, 0.0) for argument in some]

    def _choice(self, ranked: list[Ranked], reading: Reading) -> tuple[Argument, str]:
        """The best that can be quoted in whole sentences and is new; failing that, the best."""
        said = " ".join(reading.own).lower()
        poorer: tuple[Argument, str] | None = None
        for one in ranked[:_LOOKED_AT]:
            argument = one.candidate.argument
            quoted = quotation(argument.text, self._room, self.options.whole)
            if quoted and not quoted.endswith("…") and quoted.lower() not in said:
                return argument, quoted
            poorer = poorer or ((argument, quoted) if quoted else None)
        if poorer is None:
            raise WorkError("the index holds no argument that can be quoted")
        return poorer

    @property
    def _room(self) -> int:
        longest = max(map(count_words, FRAMES)) if self.options.frame else 0
        return max(1, self.options.max_words - longest)

    def _frame(self, debate: Debate, quoted: str) -> str:
        frame = FRAMES[(len(debate.turns) - 1) % len(FRAMES)]
        fits = count_words(frame) + count_words(quoted) <= self.options.max_words
        return f"{frame} " if self.options.frame and fits else ""

    def _learnt(self) -> Library:
        with self._learning:
            if self._library is None:
                self._library = Library(sampled(self.index), self._seed)
            return self._library
