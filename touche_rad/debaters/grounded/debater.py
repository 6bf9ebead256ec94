"""The debater `grounded`: quotes an argument against the user's last message."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from itertools import islice
from typing import Annotated, ClassVar, Final

from pydantic import BaseModel, Field

from touche_rad.calls import report_without_model
from touche_rad.debate import NOTHING_FOUND, Argument, Debate, Response, with_path
from touche_rad.debaters._asking import ask_about, narrowed
from touche_rad.debaters._citing import earlier_citations
from touche_rad.debaters.grounded._polarity import content
from touche_rad.debaters.grounded.opening import STANCES, openings, stance_of
from touche_rad.debaters.grounded.ranking import (
    AGAINST,
    PHRASES,
    RETRIEVER,
    SIDE,
    STANCE,
    Queries,
    RankedCandidate,
    StanceName,
    StanceRanking,
    likeness_of,
    rank,
    rank_by,
    read,
)
from touche_rad.errors import WorkError
from touche_rad.evidence.quotable import clear, quotation
from touche_rad.evidence.support import Earlier
from touche_rad.frozen import frozen
from touche_rad.lists import in_parts
from touche_rad.models import Model, ModelError
from touche_rad.models.output import Line
from touche_rad.models.prompts import render_dialogue
from touche_rad.plugins import ExplainedCandidate, Feature, RetrieverName, Services, Setting, make
from touche_rad.plugins import Options as PluginOptions
from touche_rad.records import UpTo1000
from touche_rad.text import count_words, cut_to_words, plain_words

MAX_LETTERS: Final = 1_500


@frozen
class Quotable:
    """An argument and its quotation."""

    argument: Argument
    quoted: str
    path: tuple[str, ...]
    opposed: bool
    """Whether it is known that the argument opposes the user."""
    on_topic: bool
    """Whether it is on what the user means, by words or by vectors."""


@frozen
class Selection:
    """What can be quoted of the ranked candidates."""

    ranked: Sequence[RankedCandidate]
    quotables: Sequence[Quotable]
    """The quotations of the best of them, best first."""
    faults: Mapping[str, str]
    """What speaks against the candidates that were tried, by the id of the argument."""


class QuotationChoice(BaseModel):
    """The model's answer; `number` 0 means that no argument can be used."""

    number: int = Field(ge=0)
    span: Line = ""
    clause: bool = False
    agrees: bool = False


FLOOR: Final = (
    "minimum word similarity of user and argument, else 'nothing found' (0 = off); not needed "
    "where vectors find the topic"
)

_MAX_TRIED: Final = 50
"""How many of the best candidates are tried as quotations."""
_MOST_LINKED: Final = 6
"""Best quotations among which the first one with enough common words is used."""
_MAX_PROMPTS: Final = 2
"""Prompts with quotations that a model gets at most, `shown` in each."""
_OPPOSING_SIDE: Final = 1.0
"""Weighted side from which it is known that an argument opposes the user."""
_FAULTS: Final = (
    "",
    "unclear without its context",
    "too long to be quoted whole",
    "contradicts an earlier citation",
)
"""What speaks against quotations; those with the first of these that any has are used."""


class Grounded:
    """Quotes the argument that answers the user best; a model may choose among the best ones."""

    needs: ClassVar = ("index",)
    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """Options, and the details of search and quotation as settings."""

        profile: str = "default"
        """a profile file may change the settings"""
        k: UpTo1000 = 40
        """hits per search"""
        max_words: UpTo1000 = 60
        """maximum words of a response"""
        frame: bool = True
        """name what is answered, or a stance, first"""
        stance: StanceName = Field("words", description=STANCE)
        retriever: RetrieverName = Field(
            "", description=f"{RETRIEVER}; else the searches of its own"
        )
        floor: float = Field(0.05, ge=0, le=1, description=FLOOR)
        shown: Setting[Annotated[int, Field(ge=2, le=100)]] = 12
        """candidates shown to the model"""
        whole: Setting[UpTo1000] = 45
        """texts of at most this many words are quoted whole"""
        judged: Setting[UpTo1000] = 24
        """candidates that the stance model reads"""

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
            return self.quote_best(debate, self.select(debate, _MOST_LINKED).quotables)
        quotables = self.select(debate, _MAX_PROMPTS * self.options.shown).quotables
        if len(quotables) < 2:
            return self.quote_best(debate, quotables)
        return self._ask_model(self.model, debate, quotables)

    async def _ask_model(
        self, model: Model, debate: Debate, quotables: Sequence[Quotable]
    ) -> Response:
        """Let the model choose; if it fails or can use none, quote the one with the best score.

        It sees the best quotations and, if it can use none of them, once more the next ones.
        """
        try:
            for offered in in_parts(quotables, self.options.shown):
                number: object = Annotated[int, Field(ge=0, le=len(offered))]
                choice = await ask_about(
                    debate,
                    model,
                    __package__,
                    "choosing",
                    narrowed("Choice", QuotationChoice, number=number),
                    step="grounded.choice_of_arguments",
                    dialogue=render_dialogue(debate, max_letters=MAX_LETTERS),
                    quotables=[quotable.quoted for quotable in offered],
                )
                if choice.number:
                    frames = openings(
                        debate, choice.span, is_clause=choice.clause, agrees=choice.agrees
                    )
                    return self.quote(debate, offered[choice.number - 1], frames)
        except ModelError as error:
            report_without_model(error)
        return self.quote_best(debate, quotables)

    def select(self, debate: Debate, most: int = _MAX_TRIED) -> Selection:
        """Return at most `most` quotations against the user's last message, best first.

        None of them repeats a message of the debate. If none is clear, they are unclear or cut;
        if there are no others, they contradict what was cited in earlier turns.
        """
        queries = read(debate)
        earlier = Earlier(queries.spoken)
        citations = earlier_citations(debate, self.index)
        longest_frame = max(map(count_words, STANCES)) if self.options.frame else 0
        room = max(1, self.options.max_words - longest_frame)
        # Whether an argument opposes the user: a stance model knows it of every argument, the
        # words only of one that attacks nearly what the user says.
        side = AGAINST if self._stance else SIDE
        message = content(queries.message)
        by_fault: tuple[list[Quotable], ...] = ([], [], [], [])
        faults: dict[str, str] = {}
        quoted_before: set[str] = set()
        ranked = self._ranked(queries)
        tried = ranked[:_MAX_TRIED]
        likeness = likeness_of(queries.user, [candidate.argument for candidate in tried])
        for candidate in tried:
            argument = candidate.argument
            quoted = quotation(argument.text, room, self.options.whole)
            if not quoted or earlier.has(quoted) or plain_words(quoted) in quoted_before:
                faults[argument.id] = "repeats the debate or a better candidate"
                continue
            quoted_before.add(plain_words(quoted))
            fault = 2 if quoted.endswith("…") else int(not clear(quoted))
            if citations.contradicts(argument):
                fault = 3
            faults[argument.id] = _FAULTS[fault]
            attacked = content(argument.attacks) if side == SIDE else message
            is_near = 2 * len(message & attacked) >= max(len(message), len(attacked))
            opposed = is_near and candidate.features.get(side, 0.0) >= _OPPOSING_SIDE
            # By words, user and argument must have enough of them in common, and not by chance.
            alike = likeness[argument.id]
            on_topic = candidate.meant or alike >= self.options.floor
            if not on_topic:
                faults[argument.id] = (
                    f"too few common words: similarity {alike:.2f}, below {self.options.floor:.2f}"
                )
            by_fault[fault].append(Quotable(argument, quoted, candidate.path, opposed, on_topic))
            if len(by_fault[0]) == most:
                break
        best = next((quotables[:most] for quotables in by_fault if quotables), [])
        return Selection(ranked, best, faults)

    def quote_best(self, debate: Debate, quotables: Sequence[Quotable]) -> Response:
        """Quote the first of the best quotations on what the user means.

        If there is no such quotation, say that no argument answers the user.
        """
        for quotable in quotables[:_MOST_LINKED]:
            if quotable.on_topic:
                return self.quote(debate, quotable)
        return Response(content=cut_to_words(NOTHING_FOUND, self.options.max_words))

    def quote(self, debate: Debate, quotable: Quotable, frames: Sequence[str] = ()) -> Response:
        """Return a response that quotes, with the first of the frames for which there is room.

        By default the frame is a stance if the argument is known to oppose the user, or nothing.
        """
        if not frames and quotable.opposed:
            frames = (stance_of(debate),)
        if not self.options.frame:
            frames = ()
        quoted = quotable.quoted
        for frame in frames:
            framed = f"{frame} {quotable.quoted}"
            if count_words(framed) <= self.options.max_words:
                quoted = framed
                break
        return Response(content=quoted, arguments=(with_path(quotable.argument, quotable.path),))

    def explain(self, debate: Debate) -> list[ExplainedCandidate]:
        """Return the ranked candidates with the parts of their scores, and their faults."""
        selection = self.select(debate, _MOST_LINKED)
        explained = []
        for candidate in selection.ranked:
            features = {
                name: Feature(value, phrase=PHRASES[name])
                for name, value in candidate.features.items()
            }
            argument = candidate.argument
            explained.append(
                ExplainedCandidate(
                    argument.id,
                    argument.text,
                    candidate.score,
                    features,
                    candidate.routes,
                    argument.topic,
                    selection.faults.get(argument.id, ""),
                )
            )
        return explained

    def _ranked(self, queries: Queries) -> list[RankedCandidate]:
        """Return the candidates, best first; if the searches have none, any arguments."""
        k = self.options.k
        if self._retriever is None:
            ranked = rank(self.index, queries, k)
        else:
            ranked = rank_by(self._retriever, queries, k)
        if ranked and self._stance:
            return self._stance.rank(ranked, queries)
        ranked = ranked or [
            RankedCandidate(argument) for argument in islice(self.index.arguments(), k)
        ]
        if not ranked:
            raise WorkError("the index has no argument that can be quoted")
        return ranked
