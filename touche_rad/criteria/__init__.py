"""Criteria: the questions by which a response is judged, as a file gives them.

A value of `Criteria` is passed to what reads, judges, labels, scores or shows verdicts, so that no
code has the questions of one task in it. A file has a table for each question:

    name = "clarity"

    [clear]
    question = "Is the response clear?"
    answers = [[1, "hard to follow"], [2, "clear in parts"], [3, "clear"]]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    NonNegativeInt,
    StrictInt,
    StringConstraints,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from touche_rad.records import FrozenRecord
from touche_rad.text import digest_of_text, packaged_table

__all__ = [
    "Answers",
    "Choice",
    "Criteria",
    "CriteriaFile",
    "Criterion",
    "CriterionExample",
    "Sees",
    "Unit",
    "Value",
    "grice",
    "is_tag",
    "load_shipped",
    "shipped_names",
]

FORMAT: Final = 1
"""The version of the TOML file."""

Unit = Literal["response", "user", "debate"]
"""What one verdict is on: a response, a message of the user, or a whole debate."""
Text = Annotated[str, StringConstraints(strip_whitespace=True)]
Sentence = Annotated[Text, StringConstraints(min_length=1)]
Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


_LARGEST: Final = 1_000_000
"""The largest number of a scale."""
_MOST: Final = 100
"""Answers to a question."""
Value = StrictInt | Annotated[str, StringConstraints(pattern=r'^[^\s"]([^"\n\r\t]{0,58}[^\s"])?$')]
"""An answer as verdicts and labels have it: `yes`, `no`, a number of a scale, or a category."""


class Choice(FrozenRecord):
    """A possible answer to a question."""

    value: Value
    text: Text = ""
    """What the value means."""


class Answers(FrozenRecord):
    """All possible answers to a question; on a scale, from the worst to the best."""

    kind: Literal["yes-no", "scale", "categories"] = "yes-no"
    values: tuple[Choice, ...] = (Choice(value="no"), Choice(value="yes"))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The answers as texts, as models write them."""
        return tuple(str(choice.value) for choice in self.values)

    def parse(self, value: object) -> int | str | None:
        """Return the answer that a value or its text stands for, or None."""
        for choice in self.values:
            if str(choice.value) == str(value):
                return choice.value
        return None

    @cached_property
    def scores(self) -> dict[str, float]:
        """Each answer as a number from 0 to 1; empty for categories."""
        if self.kind == "categories":
            return {}
        numbers = [int(name) if self.kind == "scale" else name == "yes" for name in self.names]
        width = numbers[-1] - numbers[0]
        pairs = zip(self.names, numbers, strict=True)
        return {name: (number - numbers[0]) / width for name, number in pairs}

    def score(self, value: int | str) -> float | None:
        """Return an answer as a number from 0 to 1; None for a category."""
        return self.scores.get(str(value))

    def nearest(self, score: float) -> int | str | None:
        """Return the answer whose score is nearest, of two the better; None for categories."""
        names = reversed(self.scores)
        return self.parse(min(names, key=lambda name: abs(self.scores[name] - score), default=""))

    @property
    def fallback(self) -> int | str:
        """The answer if a judge gives none: yes, the middle of a scale, or the first category."""
        middle = self.nearest(0.5)
        return self.values[0].value if middle is None else middle


def _read_answers(value: object) -> object:
    """Return the answers of a file, whose kind their values show."""
    if not isinstance(value, list):
        return value
    choices = []
    for pair in value:
        answer, text = pair if isinstance(pair, list) and len(pair) == 2 else (pair, "")
        choices.append(Choice(value=answer, text=text))
    values = [choice.value for choice in choices]
    numbers = [number for number in values if isinstance(number, int)]
    if len(set(values)) < max(2, len(values)) or len(values) > _MOST:
        raise ValueError(f"expected at least two answers, at most {_MOST}, and each once")
    if not numbers:
        if set(values) != {"no", "yes"}:
            return Answers(kind="categories", values=tuple(choices))
        return Answers(values=tuple(sorted(choices, key=lambda choice: str(choice.value))))
    is_scale = len(numbers) == len(values) and numbers == sorted(numbers)
    if not is_scale or max(map(abs, numbers)) > _LARGEST:
        raise ValueError(f"expected only whole numbers up to {_LARGEST}, from the lowest")
    return Answers(kind="scale", values=tuple(choices))


def _read_again(answers: Answers) -> object:
    """Return the answers as from a file; a status has them in full, and may be a stranger's."""
    return _read_answers([[choice.value, choice.text] for choice in answers.values])


Answered = Annotated[
    Answers,
    BeforeValidator(_read_answers, json_schema_input_type=list[Value | tuple[Value, Text]]),
    AfterValidator(_read_again),
]
"""Answers as a file has them: a list, in which each may be a pair of the answer and its meaning."""


class CriterionExample(FrozenRecord):
    """A text with the right answer on it."""

    text: Sentence
    answer: Value
    why: Text = ""


class Criterion(FrozenRecord, use_attribute_docstrings=True):
    """One question, which a verdict answers."""

    key: SkipJsonSchema[Key]
    """Its name in evaluations, labels, tables and options."""
    title: Sentence = ""
    """Its name on pages; by default the name of the table."""
    column: Sentence = ""
    """A short head of a table's column; by default the title."""
    reminder: Sentence = ""
    """The question as a person who labels reads it beside each response; by default `question`."""
    question: Sentence
    """The question, as judges that ask a model put it."""
    text: Text = ""
    """What each answer means, such as when the answer is yes, and when it is no."""
    evidence: Text = ""
    """What a model quotes before its verdict."""
    answers: Answered = Answers()
    """No and yes (the default), whole numbers from the worst to the best, or categories; each may
    be a pair of the answer and what it means."""
    each: Literal["sentence", "argument"] | None = None
    """A model answers `question` on each sentence or cited argument; the score is the share of yes,
    or of the first of `each_answers`. People read `reminder`, and give the share by `answers`."""
    each_answers: Answered | None = None
    """The answers of a model on each part; by default yes and no."""
    expect: Mapping[
        Literal["repeat", "order", "padding", "injection", "empty", "off-topic", "uncited"], Value
    ] = {}
    """The answer that a change of the response must lead to, by the name of the audit's probe."""
    notes: Text = ""
    """Further advice for people who label."""
    examples: tuple[CriterionExample, ...] = ()
    """Examples for people and for models."""


class Sees(FrozenRecord):
    """What a judge sees besides the text that it judges."""

    conversation: bool = True
    """The messages before it."""
    arguments: NonNegativeInt = 2
    """The number of cited arguments, if it judges a response."""
    motion: bool = False
    """What the debate is about: the motion, or the user's first message."""


_NOT_OF_VERDICTS: Final[Mapping[str, Any]] = {
    "official": True,
    "source": True,
    "criteria": {"__all__": {"title", "column", "reminder", "expect", "notes"}},
}
"""What no judge sees."""
_NOT_OF_LABELS: Final[Mapping[str, Any]] = {
    "official": True,
    "source": True,
    "criteria": {"__all__": {"column", "evidence", "each", "each_answers", "expect"}},
}
"""What people who label do not see."""


class Criteria(FrozenRecord):
    """Criteria in the order of columns, prompts and answers."""

    name: str
    source: str
    """The publication that the questions are from."""
    criteria: tuple[Criterion, ...]
    unit: Unit = "response"
    sees: Sees = Sees()
    official: bool = False
    """Whether they are those of the Touché task, whose evaluations are official files."""

    # Not cached: a copy with fewer criteria would keep the cached value.
    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the criteria."""
        return tuple(criterion.key for criterion in self.criteria)

    @property
    def answers_of(self) -> dict[str, Answers]:
        """The possible answers, by key."""
        return {criterion.key: criterion.answers for criterion in self.criteria}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the verdicts in evaluations: titles in official files, else keys."""
        if self.official:
            return tuple(criterion.title for criterion in self.criteria)
        return self.keys

    @cached_property
    def tag(self) -> str:
        """The name, and a digest of what decides verdicts; evaluations have it."""
        return self._tag(_NOT_OF_VERDICTS)

    @cached_property
    def label_tags(self) -> tuple[str, str]:
        """The name, and a digest of what people see; and the tag of labels of version 0.1.0."""
        return self._tag(_NOT_OF_LABELS), self._tag({"official": True})

    def _tag(self, exclude: Mapping[str, Any]) -> str:
        # Comments, the order of a table's fields, and fields that older files lack do not count.
        content = self.model_dump_json(exclude=dict(exclude), exclude_none=True)
        return f"{self.name} {digest_of_text(content, 12)}"

    def __hash__(self) -> int:
        return hash(self.tag)

    def __iter__(self) -> Iterator[Criterion]:  # type: ignore[override]
        return iter(self.criteria)

    def __len__(self) -> int:
        return len(self.criteria)


class CriteriaFile(BaseModel, frozen=True, extra="allow", use_attribute_docstrings=True):
    """A file of criteria: what all have in common, and a table for each question."""

    __pydantic_extra__: dict[str, Criterion] = Field(init=False)

    format: Literal[1] = FORMAT
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]
    source: Text = ""
    """The publication that the questions are from."""
    unit: Unit = "response"
    """What one verdict is on."""
    sees: Sees = Sees()

    @model_validator(mode="before")
    @classmethod
    def _name_tables(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Add to the table of each question its key, and the names that it leaves out."""
        named = dict(content)
        for key, table in content.items():
            if isinstance(table, dict) and key not in cls.model_fields:
                title = table.get("title", key.replace("_", " ").capitalize())
                reminder = table.get("question", "-")
                names = {"key": key, "title": title, "column": title, "reminder": reminder}
                if "each" in table:
                    names["each_answers"] = ["no", "yes"]
                named[key] = names | table
        return named

    def criteria(self) -> Criteria:
        """Return the criteria in the order of the file."""
        return Criteria(
            name=self.name,
            source=self.source,
            criteria=tuple(self.__pydantic_extra__.values()),
            unit=self.unit,
            sees=self.sees,
        )


def is_tag(value: object) -> bool:
    """Whether a field of a file has the name and the digest of criteria."""
    return isinstance(value, str) and _TAG.fullmatch(value) is not None


_TAG: Final = re.compile(r"[\w-]{1,40} [0-9a-f]{12}")


@cache
def load_shipped(name: str) -> Criteria:
    """Return shipped criteria by their name."""
    criteria = CriteriaFile.model_validate(packaged_table(__package__, f"{name}.toml")).criteria()
    return criteria.replace(official=name == "grice")


@cache
def shipped_names() -> tuple[str, ...]:
    """Return the names of the shipped criteria."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.toml")))


grice: Final = partial(load_shipped, "grice")
"""Returns the criteria of the Touché task.

Only what knows that it deals with this task asks for them: official files, commands, the server of
the task, and public functions that are called without criteria.
"""
