"""The debater `grounded`: quotes an argument against the user's last message."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BaseModel, Field

from touche_rad.calls import report_without_model
from touche_rad.debate import NOTHING_FOUND, Argument, Debate, Response, with_path
from touche_rad.debaters._asking import ask_about, narrowed
from touche_rad.debaters.grounded._polarity import content
from touche_rad.debaters.grounded.ranking import (
    AGAINST,
    PHRASES,
    RETRIEVER,
    SIDE,
    STANCE,
    Queries,
    Ranked,
    StanceName,
    StanceRanking,
    rank,
    rank_by,
    read,
)
from touche_rad.errors import WorkError
from touche_rad.evidence.quotable import clear, quotation
from touche_rad.evidence.support import Earlier
from touche_rad.models import Model, ModelError, Prompt
from touche_rad.models.prompts import render_dialogue
from touche_rad.plugins import ExplainedCandidate, Feature, RetrieverName, Services, make, setting
from touche_rad.plugins import Options as PluginOptions
from touche_rad.text import count_words, cut_to_words

MAX_LETTERS: Final = 1_500

Frame = Literal["disagree", "contrary", "differently", "unconvinced", "not so", "none"]
FRAMES: Final[dict[Frame, str]] = {
    "disagree": "I disagree:",
    "contrary": "On the contrary:",
    "differently": "I see it differently:",
    "unconvinced": "I am not convinced:",
    "not so": "Not so:",
    "none": "",
}
"""What can stand before the quotation: a stance without a claim, or nothing."""
STANCES: Final = tuple(words for words in FRAMES.values() if words)


@dataclass(frozen=True)
class Quotable:
    """An argument and its quotation."""

    argument: Argument
    quoted: str
    path: tuple[str, ...] = ()
    opposed: bool = False
    """Whether it is known that the argument opposes the user."""
    meant: bool = False
    """Whether the argument has the topic that the user means, also without common words."""


class Choice(BaseModel):
    """The model's answer; `number` 0 means that no argument can be used."""

    number: int = Field(ge=0)
    frame: Frame = "none"


FLOOR: Final = (
    "minimum word similarity of user and argument, else 'nothing found' (0 = off); not needed "
    "where vectors find the topic"
)

_MAX_TRIED: Final = 50
"""How many of the best candidates are tried as quotations."""
_LINKED: Final = 6
"""Best quotations among which the first one with enough common words is used."""
_PROMPTS: Final = 2
"""Prompts with quotations that a model gets at most, `shown` in each."""
_OPPOSED: Final = 1.0
"""Weighted side from which it is known that an argument opposes the user."""


class Grounded:
    """Quotes the argument that answers the user best; a model may choose among the best ones."""

    needs: ClassVar = ("index",)
    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """Options, and the details of search and quotation as settings."""

        profile: str = Field("default", description="a profile file may change the settings")
        k: int = Field(40, ge=1, le=1_000, description="hits per search")
        max_words: int = Field(60, ge=1, le=1_000, description="maximum words of a response")
        frame: bool = Field(True, description="begin with 'I disagree:' if the side is known")
        stance: StanceName = Field("words", description=STANCE)
        retriever: RetrieverName = Field(
            "", description=f"{RETRIEVER}; else the searches of its own"
        )
        floor: float = Field(0.05, ge=0, le=1, description=FLOOR)
        shown: int = setting(12, ge=2, le=100, description="candidates shown to the model")
        whole: int = setting(
            45, ge=1, le=1_000, description="texts of at most this many words are quoted whole"
        )
        judged: int = setting(
            24, ge=1, le=1_000, description="candidates that the stance model reads"
        )

    def __init__(self, options: Options, services: Services) -> None:
        """Load the model of the option `stance`, and the retriever."""
        self.options = options
        self.index = services.need_index("grounded")
        self.model = services.model
        self._retriever = (
            make("retriever", options.retriever, services) if options.retriever else None
        )
        self._stance = (
            None if options.stance == "words" else StanceRanking(options.stance, options.judged)
        )

    def answer(self, debate: Debate) -> Response | Awaitable[Response]:
        """Quote the best argument against the user's last message."""
        if self.model is None:
            return self.quote_best(debate, self.quotables(debate, _LINKED))
        quotables = self.quotables(debate, _PROMPTS * self.options.shown)
        if len(quotables) < 2:
            return self.quote_best(debate, quotables)
        return self._ask_model(self.model, debate, quotables)

    async def _ask_model(
        self, model: Model, debate: Debate, quotables: Sequence[Quotable]
    ) -> Response:
        """Let the model choose; if it fails or can use none, quote the one with the best score.

        It sees the best quotations and, if it can use none of them, once more the next ones.
        """
        count = self.options.shown
        try:
            for start in range(0, min(len(quotables), _PROMPTS * count), count):
                some = quotables[start : start + count]
                choice = await _choose(model, debate, some)
                if choice.number:
                    return self.quote(debate, some[choice.number - 1], FRAMES[choice.frame])
        except ModelError as error:
            report_without_model(error)
        return self.quote_best(debate, quotables)

    def quotables(self, debate: Debate, most: int = _MAX_TRIED) -> list[Quotable]:
        """Return at most `most` quotations against the user's last message, best first.

        None of them repeats a message of the debate. If none is clear, they are unclear or cut.
        """
        queries = read(debate)
        earlier = Earlier(queries.spoken)
        longest_frame = max(map(count_words, STANCES)) if self.options.frame else 0
        room = max(1, self.options.max_words - longest_frame)
        # A stance model knows it; words, if the user says nearly what the argument attacks.
        side, said = SIDE if self._stance is None else AGAINST, content(queries.message)
        by_fault: tuple[list[Quotable], ...] = ([], [], [])
        texts: set[str] = set()
        for one in self._ranked(queries)[:_MAX_TRIED]:
            quoted = quotation(one.argument.text, room, self.options.whole)
            if not quoted or earlier.has(quoted) or quoted.lower() in texts:
                continue
            texts.add(quoted.lower())
            fault = 2 if quoted.endswith("…") else int(not clear(quoted))
            attacked = content(one.argument.attacks) if side == SIDE else said
            is_near = 2 * len(said & attacked) >= max(len(said), len(attacked))
            opposed = is_near and one.features.get(side, 0.0) >= _OPPOSED
            by_fault[fault].append(Quotable(one.argument, quoted, one.path, opposed, one.meant))
            if len(by_fault[0]) == most:
                break
        return next((some[:most] for some in by_fault if some), [])

    def quote_best(self, debate: Debate, quotables: Sequence[Quotable]) -> Response:
        """Quote the first of the best quotations on what the user means, by words or by vectors.

        If there is none, say that no argument answers the user.
        """
        for one in quotables[:_LINKED]:
            if one.meant or self.link(debate, one.argument) >= self.options.floor:
                return self.quote(debate, one)
        return Response(content=cut_to_words(NOTHING_FOUND, self.options.max_words))

    def link(self, debate: Debate, argument: Argument) -> float:
        """Return how many words the user and an argument share, relative to their lengths.

        A single common word is chance, unless it is half of what the user says or in the topic.
        """
        user = content(read(debate).user)
        about = content(f"{argument.topic} {argument.attacks} {argument.text}")
        subject = content(argument.topic or " ".join(argument.text.split()[:3]))
        shared = user & about
        by_chance = len(shared) < 2 and not shared & subject and 2 * len(shared) < len(user)
        return len(shared) / sqrt(len(user) * len(about)) if shared and not by_chance else 0.0

    def quote(self, debate: Debate, one: Quotable, frame: str | None = None) -> Response:
        """Return a response that quotes, with a frame if there is room for it.

        By default the frame is a stance if the argument is known to oppose the user, or nothing.
        """
        if frame is None:
            frame = STANCES[(len(debate.turns) - 1) % len(STANCES)] if one.opposed else ""
        content = one.quoted
        framed = f"{frame} {content}"
        if frame and self.options.frame and count_words(framed) <= self.options.max_words:
            content = framed
        return Response(content=content, arguments=(with_path(one.argument, one.path),))

    def explain(self, debate: Debate) -> list[ExplainedCandidate]:
        """Return the ranked candidates with the parts of their scores."""
        return [
            ExplainedCandidate(
                one.argument.id,
                one.argument.text,
                one.score,
                {name: Feature(of, phrase=PHRASES[name]) for name, of in one.features.items()},
                one.routes,
                one.argument.topic,
            )
            for one in self._ranked(read(debate))
        ]

    def _ranked(self, queries: Queries) -> list[Ranked]:
        k = self.options.k
        ranked = (
            rank(self.index, queries, k)
            if self._retriever is None
            else rank_by(self._retriever, queries, k)
        )
        if ranked and self._stance is not None:
            return self._stance.rank(ranked, queries)
        if ranked:
            return ranked
        some = [Ranked(one) for one in islice(self.index.arguments(), k)]
        if not some:
            raise WorkError("the index has no argument that can be quoted")
        return some


async def _choose(model: Model, debate: Debate, quotables: Sequence[Quotable]) -> Choice:
    """Ask a model which quotation answers the user best."""
    number: object = Annotated[int, Field(ge=0, le=len(quotables))]
    return await ask_about(
        debate,
        model,
        Prompt.load(__package__, "choosing"),
        narrowed(Choice, number=number),
        step="grounded.choice_of_arguments",
        dialogue=render_dialogue(debate, max_letters=MAX_LETTERS),
        quotables=[one.quoted for one in quotables],
        frames=FRAMES,
    )
