"""The data model of debates, used by all files, requests, plugins and reports.

A debate is a list of turns. Each turn has a user utterance and, once answered, the system's
response with its cited arguments. A judge gives each response one verdict per maxim of Grice.
All records are frozen, so that a plugin cannot change what another plugin sees.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from touche_rad.criteria import Unit
from touche_rad.errors import nearest
from touche_rad.records import BaseRecord, FrozenRecord


class Maxim(StrEnum):
    """Grice's maxims, as the task names them."""

    QUANTITY = "quantity"
    QUALITY = "quality"
    RELATION = "relation"
    MANNER = "manner"

    @cached_property
    def key(self) -> str:
        """The capitalised name that the official evaluation files use as a key."""
        return self.value.capitalize()


_NONE_IS_EMPTY: Final = BeforeValidator(lambda value: () if value is None else value)


class OpenRecord(BaseRecord, extra="allow"):
    """A record that keeps unknown fields."""

    @property
    def rest(self) -> dict[str, Any]:
        """The fields that the model does not have."""
        return self.model_extra or {}


class Record(OpenRecord, frozen=True):
    """A frozen record that keeps unknown fields."""


class Result(FrozenRecord):
    """A frozen record that plugins make: a field that it does not have is an error."""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, data: object) -> Any:
        """Refuse an unknown field like Python refuses an unknown argument, with the nearest name.

        Raises:
            TypeError: A field is unknown.
        """
        if not isinstance(data, dict):
            return data
        fields = cls.__pydantic_fields__
        for name in data:
            if name not in fields:
                raise TypeError(f"{cls.__name__} has no field {name!r}{nearest(str(name), fields)}")
        return data

    def __hash__(self) -> int:
        """Return a hash without the further fields, which may hold lists and objects."""
        return hash(tuple(value for name, value in self.__dict__.items() if name != "extra"))


LONGEST_ID: Final = 512
"""Maximum bytes of an argument's id in an index."""


def may_be_id(name: str) -> bool:
    """Whether an argument in an index can have this id."""
    try:
        return 0 < len(name.encode()) <= LONGEST_ID and "\0" not in name
    except UnicodeEncodeError:  # a lone surrogate
        return False


class Argument(Record):
    """An argument of the collection: `text` argues against `attacks` and for `supports`."""

    id: str
    text: str
    topic: str = ""
    tags: Annotated[tuple[str, ...], _NONE_IS_EMPTY] = ()
    attacks: str = ""
    supports: str = ""
    references: Annotated[tuple[str, ...], _NONE_IS_EMPTY] = ()
    original: str | None = None

    def text_of(self, field: str) -> str:
        """Return one of its texts: text, topic, attacks or supports."""
        text: str = getattr(self, field)
        return text


class Response(Result):
    """The system's answer: its text and the cited arguments, in the order of use."""

    content: str
    arguments: Annotated[tuple[Argument, ...], _NONE_IS_EMPTY] = ()
    extra: Mapping[str, Any] = Field(default_factory=dict)
    """Further fields of the official record, such as a debater's reasoning."""


FALLBACK: Final = "fallback"
"""The field with the cause, of a response, a user turn or a verdict that is a fallback."""

MOST_CHARACTERS: Final = 20_000
"""Characters of a text that debaters and judges get: fifty times the longest allowed answer."""

NOTHING_FOUND: Final = "I have found no argument in my collection that answers this point."
"""The answer, without a citation, of a debater that has no argument for the user."""


USER: Final = "user"
SYSTEM: Final = "system"


class Turn(Record):
    """One user utterance and the system's response, if there is one yet."""

    utterance: str
    response: Response | None = None

    @property
    def answer(self) -> str:
        """The text of the response; empty without one."""
        return self.response.content if self.response else ""


class Debate(Record):
    """A conversation: the turns, in order, and what a file says about them."""

    id: str = ""
    claim: str = ""
    """The user's claim in a file. Users and reports read it; debaters and judges get none, because
    the official client sends none."""
    description: str = ""
    user: str = ""
    motion: str = ""
    """In a debate between two debaters: the claim that both debate; empty in the shared task."""
    turns: tuple[Turn, ...] = ()
    side: Literal["pro", "con"] = "con"
    """The system's side of the claim: always `con` in the shared task. Between two debaters it is
    also `pro`, for debaters that set `takes_sides`."""
    wire: Mapping[str, Any] = Field(default_factory=dict, repr=False)
    """The record as it was read, so that writing it back loses nothing. Only touche_rad.files reads
    and writes it; plugins must not use it."""

    @property
    def key(self) -> str:
        """The id, or the beginning of the debate if it has none."""
        return self.id or (self.turns[0].utterance if self.turns else self.claim)[:60]

    @property
    def last(self) -> Turn:
        """The turn to answer or judge."""
        return self.turns[-1]

    @property
    def thesis(self) -> str:
        """What the debate is about: the motion of two debaters, or the user's first message."""
        return self.motion or (self.turns[0].utterance if self.turns else "")

    @property
    def subject(self) -> str:
        """By which debates of several files are compared: the claim, or else the thesis."""
        return self.claim or self.thesis

    @property
    def spoken(self) -> list[tuple[str, str]]:
        """What was said so far, oldest first, each text with its speaker: `user` or `system`."""
        texts = []
        for turn in self.turns:
            texts.append((USER, turn.utterance))
            if turn.response:
                texts.append((SYSTEM, turn.response.content))
        return texts

    @property
    def user_texts(self) -> tuple[str, ...]:
        """The motion of two debaters, and the user's utterances."""
        return (self.motion, *(turn.utterance for turn in self.turns))

    @property
    def system_texts(self) -> tuple[str, ...]:
        """The texts of the system's responses so far, oldest first."""
        return tuple(turn.response.content for turn in self.turns if turn.response)

    def view(self, turn: int) -> Self:
        """Return what a judge of the response in turn `turn` sees: the debate up to that response.

        The task's annotators saw the conversation up to the judged response and the text of its
        first two cited arguments, in order, and nothing later. Judges get the same conversation
        from files and from the server, with all cited arguments; each judge limits itself to the
        first two by default.
        """
        return self.replace(turns=self.turns[: turn + 1])

    def views(self, unit: Unit = "response") -> list[Self]:
        """Return what a judge sees for each of its verdicts.

        That is the debate up to each response, up to each message of the user, or the whole debate.
        """
        if unit == "debate":
            return [self] if self.turns else []
        if unit == "user":
            return [self.before_response(at) for at in range(len(self.turns))]
        return [self.view(at) for at, turn in enumerate(self.turns) if turn.response]

    def as_served(self, characters: int = MOST_CHARACTERS) -> Self:
        """Return the debate that debaters and judges get, with each text cut.

        It is the same from a file and from the official client, which sends only the messages. No
        text can take all of their time.
        """
        if self.claim or self.description or self.user:
            return self.replace(claim="", description="", user="").as_served(characters)
        texts = [self.motion, *(turn.utterance for turn in self.turns)]
        for turn in self.turns:
            if turn.response:
                texts.append(turn.response.content)
                texts += [argument.text for argument in turn.response.arguments]
        if max(map(len, texts)) <= characters:
            return self
        turns: list[Turn] = []
        for turn in self.turns:
            fields: dict[str, object] = {"utterance": turn.utterance[:characters]}
            if turn.response:
                content = turn.response.content[:characters]
                arguments = tuple(
                    argument.replace(text=argument.text[:characters])
                    for argument in turn.response.arguments
                )
                fields["response"] = turn.response.replace(content=content, arguments=arguments)
            turns.append(turn.model_copy(update=fields))
        return self.replace(turns=tuple(turns), motion=self.motion[:characters])

    def before_response(self, turn: int = -1) -> Self:
        """Return the debate up to the user utterance of turn `turn`, by default the last."""
        last = self.turns[turn].replace(response=None)
        return self.replace(turns=(*self.turns[:turn], last))

    def with_response(self, response: Response) -> Self:
        """Return the debate with this response in its last turn."""
        return self.replace(turns=(*self.turns[:-1], self.last.replace(response=response)))

    def with_utterance(self, utterance: str, **fields: str) -> Self:
        """Return the debate with one more user turn, without a response."""
        return self.replace(turns=(*self.turns, Turn(utterance=utterance, **fields)))


class Verdict(Result):
    """A judge's verdict on one criterion: a score in 0..1; 0.5 and more means yes.

    `score` is None for a category, which only `answer` names, or if the judge has no verdict;
    `rationale` then says why.
    """

    score: float | None = None
    answer: int | str | None = None
    """The answer, if the criteria are not the task's: `yes`, `no`, a number of a scale or a
    category. A judge may give the score or the answer, or both."""
    rationale: str = ""
    extra: Mapping[str, Any] = Field(default_factory=dict)
    """Further fields of the official record."""
    fallback: str = ""
    """Why the verdict is a fallback's, or was made without the judge's model; empty for others.
    Judges do not set it."""

    @property
    def yes(self) -> bool:
        """Whether the official scorer counts the score as yes."""
        return self.score is not None and self.score >= 0.5


Verdicts = Mapping[str, Verdict]
"""The verdicts on a response, by the key of the criterion."""


class Hit(Result):
    """A search result: an argument, with the chain of arguments that led to it."""

    argument: Argument
    score: float
    rank: int = 0
    path: tuple[str, ...] = ()


MOST_STEPS: Final = 6
LONGEST_STEP: Final = 300
"""Limits of a path in a citation: the client sends it with every request to a judge."""


def with_path(argument: Argument, path: Iterable[str]) -> Argument:
    """Return an argument with the path that led to it, as an extra field of the citation.

    The official format accepts extra fields.
    """
    steps = [step if len(step) <= LONGEST_STEP else f"{step[:LONGEST_STEP]}…" for step in path]
    return argument.replace(path=steps[:MOST_STEPS]) if steps else argument


def path_of(argument: Argument) -> tuple[str, ...]:
    """Return the path of a citation, within the limits, from any source."""
    path = argument.rest.get("path")
    if not isinstance(path, list | tuple):
        return ()
    steps = [step[: LONGEST_STEP + 1] for step in path if isinstance(step, str)]
    return tuple(steps[:MOST_STEPS])


def writable(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a strict JSON file can hold."""
    valid: dict[str, Any] = {}
    for key, value in fields.items():
        with suppress(TypeError, ValueError):
            json.dumps({key: value}, allow_nan=False, ensure_ascii=False).encode()
            valid[key] = value
    return valid
