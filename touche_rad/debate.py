"""The vocabulary: what every file, request, plugin and report here is made of.

A debate is a list of turns. In each turn the user says something and the system may have answered
it with a response that cites arguments. A judge gives each response a verdict on each of Grice's
maxims. Everything is frozen, so that what a plugin was shown cannot change under another's feet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Role = Literal["user", "assistant"]


class Maxim(StrEnum):
    """Grice's maxims, as the task names them."""

    QUANTITY = "quantity"
    QUALITY = "quality"
    RELATION = "relation"
    MANNER = "manner"

    @property
    def key(self) -> str:
        """The capitalised name that the official evaluation files use as a key."""
        return self.value.capitalize()


def _none_to_empty(value: object) -> object:
    return () if value is None else value


class Record(BaseModel):
    """A frozen record that keeps the fields it has no name for."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Argument(Record):
    """An argument of the collection: `text` argues against `attacks` and for `supports`."""

    id: str
    text: str
    topic: str = ""
    tags: Annotated[tuple[str, ...], BeforeValidator(_none_to_empty)] = ()
    attacks: str = ""
    supports: str = ""
    references: Annotated[tuple[str, ...], BeforeValidator(_none_to_empty)] = ()
    original: str | None = None


class Response(Record):
    """What the system answers: the words, and the arguments they stand on, first used first."""

    content: str
    arguments: Annotated[tuple[Argument, ...], BeforeValidator(_none_to_empty)] = ()


class Turn(Record):
    """One user utterance and, once given, the system's response to it."""

    utterance: str
    response: Response | None = None


class Debate(Record):
    """A conversation: the user's claim and the turns, in order."""

    id: str = ""
    claim: str = ""
    description: str = ""
    user: str = ""
    turns: tuple[Turn, ...] = ()
    wire: Mapping[str, Any] = Field(default_factory=dict, repr=False)
    """What the file said besides, by place, so that writing it back loses nothing. The files layer
    alone reads and writes it; no plugin may look here."""

    @property
    def key(self) -> str:
        """What it is told from others by: its id, or how it began."""
        return self.id or (self.turns[0].utterance if self.turns else self.claim)[:60]

    @property
    def last(self) -> Turn:
        """The turn that is being answered or judged."""
        return self.turns[-1]

    @property
    def system_texts(self) -> tuple[str, ...]:
        """What the system has said so far, oldest first."""
        return tuple(turn.response.content for turn in self.turns if turn.response)

    def view(self, turn: int) -> Self:
        """Return what a judge of the response in turn `turn` sees: the debate up to that response.

        The task's annotators saw the conversation up to the judged response and the text of its
        first two cited arguments, in order, and nothing later. Judges get the same conversation
        from files and from the server, with all cited arguments; each judge limits itself to the
        first two by default.
        """
        return self._cut(self.turns[: turn + 1])

    def before_response(self, turn: int) -> Self:
        """The debate as it stood when the user had just spoken in turn `turn`."""
        last = self.turns[turn].model_copy(update={"response": None})
        return self._cut((*self.turns[:turn], last))

    def with_response(self, response: Response) -> Self:
        """The same debate with the last turn answered."""
        last = self.last.model_copy(update={"response": response})
        return self._cut((*self.turns[:-1], last))

    def with_utterance(self, utterance: str) -> Self:
        """The same debate with one more user turn, not yet answered."""
        return self._cut((*self.turns, Turn(utterance=utterance)))

    def _cut(self, turns: tuple[Turn, ...]) -> Self:
        return self.model_copy(update={"turns": turns})


class Verdict(Record):
    """A judge's word on one maxim: a score in 0..1, where 0.5 and more means yes.

    `score` is None when no verdict could be had; `rationale` then says why.
    """

    score: float | None
    rationale: str = ""

    @property
    def yes(self) -> bool:
        """Whether the score says yes, as the official scorer reads it."""
        return self.score is not None and self.score >= 0.5


Verdicts = Mapping[Maxim, Verdict]


class Hit(Record):
    """An argument that a search found, with the path by which it was reached."""

    argument: Argument
    score: float
    rank: int = 0
    path: tuple[str, ...] = ()

    @property
    def cited(self) -> Argument:
        """The argument as it is cited, with its path."""
        return with_path(self.argument, self.path)


MOST_STEPS, LONGEST_STEP = 6, 300
"""What a citation keeps of a path: the client sends it again with every request to a judge."""


def with_path(argument: Argument, path: Iterable[str]) -> Argument:
    """Return an argument with the path by which it was reached.

    It is a further field of the citation, which the official format lets through.
    """
    steps = [step if len(step) <= LONGEST_STEP else f"{step[:LONGEST_STEP]}…" for step in path]
    return argument.model_copy(update={"path": steps[:MOST_STEPS]}) if steps else argument


def path_of(argument: Argument) -> tuple[str, ...]:
    """Return the path of a citation, bounded; anybody may have written it."""
    told = (argument.model_extra or {}).get("path")
    if not isinstance(told, list | tuple):
        return ()
    steps = [step[: LONGEST_STEP + 1] for step in told if isinstance(step, str)]
    return tuple(steps[:MOST_STEPS])
