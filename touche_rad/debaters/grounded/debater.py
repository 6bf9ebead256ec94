"""The debater `grounded`: an argument against what the user just said, in its own words."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import Field

from touche_rad.debate import Debate, Response, with_path
from touche_rad.debaters.grounded import quoting as choosing
from touche_rad.debaters.grounded.candidates import Candidate
from touche_rad.debaters.grounded.guard import GUARD, SURE, Guard, GuardName, Told, by_nli
from touche_rad.debaters.grounded.library import Library, sampled
from touche_rad.debaters.grounded.quoting import Chosen, Quotable, quotation
from touche_rad.debaters.grounded.ranking import (
    JUDGED,
    STANCE,
    Ranked,
    StanceName,
    ranking,
    sides,
    weights,
)
from touche_rad.debaters.grounded.reading import Reading, read
from touche_rad.errors import WorkError
from touche_rad.models import Model, ModelError
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services
from touche_rad.text import clean, count_words

log = logging.getLogger("touche_rad")

FRAMES: Final = tuple(choosing.FRAMES.values())
"""Another one each turn, where no model chooses."""
_LOOKED_AT: Final = 50
"""How many of the best candidates are tried for one that can be quoted and was not said before."""


class Grounded:
    """Quotes the argument that fits best against what the user just said; a model may choose it."""

    needs: ClassVar = ("index",)
    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """What can be set."""

        k: int = Field(40, ge=1, le=1_000, description="hits of each search that are looked at")
        max_words: int = Field(60, ge=1, le=1_000, description="the most words of a response")
        whole: int = Field(45, ge=1, le=1_000, description="quote texts up to so many words whole")
        frame: bool = Field(True, description="say a stance, such as 'I disagree:', before it")
        shown: int = Field(12, ge=2, le=100, description="candidates that a model chooses among")
        weights: Path | None = Field(None, description="a file of weights in place of ours")
        stance: StanceName = Field("words", description=STANCE)
        judged: int = Field(24, ge=1, le=1_000, description=JUDGED)
        guard: GuardName = Field("quotation", description=f"{GUARD}; quotation: no own words")
        sure: float = Field(0.9, ge=0.5, le=1, description=SURE)
        link: int = Field(12, ge=1, le=60, description="a model's own words, where guard may check")

    def __init__(self, options: Options, services: Services) -> None:
        """Read the weights; the index is learnt from when the first turn is answered."""
        self.options = options
        self.index = services.need_index("grounded")
        self.model = services.model
        self._nli = by_nli(options.guard, options.sure) if self.model is not None else None
        self.weights = weights(options.weights)
        self._sides = sides(options.stance, options.judged)
        self._seed = services.seed
        self._library: Library | None = None
        self._learning = threading.Lock()

    def answer(self, debate: Debate) -> Response | Awaitable[Response]:
        """Quote the best argument against the user's last message."""
        quotables = self.quotables(debate)
        if self.model is None or len(quotables) < 2:
            return self.quoting(debate, quotables[0])
        return self._asked(self.model, debate, quotables[: self.options.shown])

    async def _asked(self, model: Model, debate: Debate, quotables: Sequence[Quotable]) -> Response:
        """Let the model choose; where it cannot, the best by the features is as good as ever."""
        by = self.options.guard
        words = 0 if by == "quotation" else self.options.link
        try:
            found = await choosing.chosen(
                model, debate, quotables, link=words, vouched=by == "model"
            )
        except ModelError as error:
            log.info("grounded chose without its model: %s", error)
            found = None
        if found is None:
            return self.quoting(debate, quotables[0])
        link = await self._link(found) if found.link else ""
        return self.quoting(debate, found.quotable, found.frame, link)

    async def _link(self, found: Chosen) -> str:
        """The model's own words, as far as what is quoted bears them out."""
        guard = Guard(self._nli or Told(found.entailed), self.options.link)
        link = clean(found.link)
        link = link if link.endswith((".", "!", "?")) else f"{link}."
        said = " ".join((await guard.checked(link, (found.quotable.argument,))).stands)
        twice = said.rstrip(".!? ").lower() in found.quotable.quoted.lower()
        return "" if twice or count_words(said) > self.options.link else said

    def quotables(self, debate: Debate) -> list[Quotable]:
        """Return what can be quoted against the user's last message, best first; never nothing."""
        reading = read(debate)
        return self._quotables(self._ranked(reading), reading)

    def quoting(self, debate: Debate, one: Quotable, frame: str = "", link: str = "") -> Response:
        """Return an answer that quotes, after a frame and a link where there is room for them."""
        frame = frame or FRAMES[(len(debate.turns) - 1) % len(FRAMES)]
        content = one.quoted
        if self.options.frame and self._fits(frame, content):
            content = f"{frame} {content}"
        if link and self._fits(link, content):
            content = f"{content.removesuffix(one.quoted)}{link} {one.quoted}"
        return Response(content=content, arguments=(with_path(one.argument, one.path),))

    def _fits(self, before: str, content: str) -> bool:
        return count_words(before) + count_words(content) <= self.options.max_words

    def explain(self, debate: Debate) -> list[dict[str, Any]]:
        """Return one row a candidate, best first: its score, what adds to it, how it was found."""
        reading = read(debate)
        ranked = self._ranked(reading)
        best = self._quotables(ranked, reading)[0]
        return [
            self._row(rank, one, best.quoted if one.candidate.argument is best.argument else "")
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
        if ranked and self._sides is not None:
            return self._sides.read(ranked, reading, self.weights)
        if ranked:
            return ranked
        some = islice(self.index.arguments(), self.options.k)
        return [Ranked(Candidate(argument, {"any": 0.0}), {}, 0.0) for argument in some]

    def _quotables(self, ranked: list[Ranked], reading: Reading) -> list[Quotable]:
        """What can be quoted in whole sentences and is new; failing that, what can be quoted."""
        said = " ".join(reading.own).lower()
        good: list[Quotable] = []
        poorer: list[Quotable] = []
        for one in ranked[:_LOOKED_AT]:
            argument = one.candidate.argument
            quoted = quotation(argument.text, self._room, self.options.whole)
            if not quoted:
                continue
            whole = not quoted.endswith("…") and quoted.lower() not in said
            (good if whole else poorer).append(Quotable(argument, quoted, one.candidate.path))
        if not good and not poorer:
            raise WorkError("the index holds no argument that can be quoted")
        return good or poorer

    @property
    def _room(self) -> int:
        longest = max(map(count_words, FRAMES)) if self.options.frame else 0
        return max(1, self.options.max_words - longest)

    def _learnt(self) -> Library:
        with self._learning:
            if self._library is None:
                self._library = Library(sampled(self.index), self._seed)
            return self._library
