"""Steps 3 and 4: choose three arguments per query, then three of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.sinai.plan import Plan, dialogue
from touche_rad.debaters.sinai.retrieval import Retrieved
from touche_rad.models import Model, Prompt, dropping_oldest
from touche_rad.models.output import Line, Page
from touche_rad.text import clean, content_words

ALIKE: Final = 0.8
"""From how alike on two texts are taken for the same; nothing is matched below it."""


def matched(texts: Iterable[str], arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that texts are, in the texts' order, each once.

    Exactly, then without regard to case and marks, then the nearest above a bound; a text that is
    none of them is dropped.
    """
    found: dict[str, Argument] = {}
    for text in texts:
        one = _matched(text, arguments)
        if one is not None:
            found.setdefault(one.id, one)
    return list(found.values())


def _matched(text: str, arguments: Sequence[Argument]) -> Argument | None:
    if not text.strip():
        return None
    for argument in arguments:
        if text == argument.text:
            return argument
    plain = _plain(text)
    for argument in arguments:
        if plain and plain == _plain(argument.text):
            return argument
    nearest = max(arguments, key=lambda one: _likeness(plain, one), default=None)
    return nearest if nearest is not None and _likeness(plain, nearest) >= ALIKE else None


def _likeness(plain: str, argument: Argument) -> float:
    other = _plain(argument.text)
    if plain and len(plain) >= 20 and plain in other:
        return 1.0
    return SequenceMatcher(None, plain[:1000], other[:1000], autojunk=False).ratio()


def _plain(text: str) -> str:
    return "".join(
        letter
        for letter in " ".join(clean(text).lower().split())
        if letter.isalnum() or letter == " "
    )


def used(content: str, arguments: Sequence[Argument]) -> list[Argument]:
    """Order arguments by how much of a text is theirs; those that share no word with it go."""
    words = set(content_words(content))
    shares = {
        argument.id: len(words & set(content_words(argument.text))) / (len(words) or 1)
        for argument in arguments
    }
    telling = [argument for argument in arguments if shares[argument.id] > 0]
    return sorted(telling, key=lambda argument: -shares[argument.id])


@dataclass(frozen=True)
class Shortlist:
    """What is left of a query's arguments."""

    retrieved: Retrieved
    arguments: tuple[Argument, ...]
    justification: str = ""

    @property
    def aspect(self) -> str:
        """What the arguments were searched for, as step 4 names it."""
        return f"{self.retrieved.query.field_to_look} to {self.retrieved.query.opponent_idea}"


@dataclass(frozen=True)
class Selected:
    """An argument that the answer is made of."""

    argument: Argument
    aspect: str
    justification: str = ""


class Best(BaseModel):
    """The answer of step 3."""

    arguments: list[Page] = Field(json_schema_extra={"maxItems": 9})
    justification: Line


async def shortlist(
    model: Model, debate: Debate, plan: Plan, retrieved: Retrieved, most: int
) -> Shortlist:
    """Step 3: the best arguments of one query."""
    prompt = Prompt.load(__package__, "shortlist")
    values = {
        "most": most, "dialogue": dialogue(debate), "query": retrieved.query,
        "found": retrieved.by, "plan": plan,
    }  # fmt: skip
    answer = await model.ask(
        prompt.messages(**values), Best, step="sinai.shortlist",
        shorten=dropping_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    chosen = matched(answer.arguments, retrieved.all)[:most]
    return Shortlist(retrieved, tuple(chosen or retrieved.all[:most]), answer.justification)


async def selection(
    model: Model, debate: Debate, shortlists: Sequence[Shortlist], most: int
) -> list[Selected]:
    """Step 4: the best arguments of all."""
    prompt = Prompt.load(__package__, "selection")
    values = {"most": most, "dialogue": dialogue(debate), "shortlists": shortlists}
    answer = await model.ask(
        prompt.messages(**values), _choice(most), step="sinai.selection",
        shorten=dropping_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    return _selected(answer.model_dump(), shortlists, most) or unasked(shortlists, most)


def _choice(most: int) -> type[BaseModel]:
    """Return the schema of step 4: nine keys for three arguments; only the first must be there."""
    fields: dict[str, Any] = {}
    for number in range(1, most + 1):
        default: Any = ... if number == 1 else ""
        for name in ("aspect_argument", "retrieved_argument", "justification_argument"):
            kind = Line if name.startswith("justification") else Page
            fields[f"{name}_{number}"] = (kind, default)
    return create_model("Choice", **fields)


def _selected(
    answer: Mapping[str, str], shortlists: Sequence[Shortlist], most: int
) -> list[Selected]:
    everything = [one for shortlist in shortlists for one in shortlist.arguments]
    found: dict[str, Selected] = {}
    for number in range(1, most + 1):
        for one in matched([answer[f"retrieved_argument_{number}"]], everything):
            reason = answer[f"justification_argument_{number}"]
            found.setdefault(one.id, Selected(one, _aspect(one, shortlists), reason))
    return list(found.values())


def _aspect(argument: Argument, shortlists: Sequence[Shortlist]) -> str:
    return next(
        (one.aspect for one in shortlists if any(argument.id == x.id for x in one.arguments)), ""
    )


def unasked(shortlists: Sequence[Shortlist], most: int) -> list[Selected]:
    """What is selected where the model did not say: the best of each query, then the next best.

    What was found by likeness alone comes last: it may be on either side.
    """
    found: dict[str, Selected] = {}
    ranked = [_sided(one) for one in shortlists]
    for rank in range(max(map(len, ranked), default=0)):
        for one, arguments in zip(shortlists, ranked, strict=True):
            for argument in arguments[rank : rank + 1]:
                found.setdefault(argument.id, Selected(argument, one.aspect))
    return list(found.values())[:most]


def _sided(shortlist: Shortlist) -> list[Argument]:
    alike = {one.id for one in shortlist.retrieved.by.get("TEXT", ())}
    return sorted(shortlist.arguments, key=lambda one: one.id in alike)


class Numbered(BaseModel):
    """One choice of the lean profile's selection."""

    number: int
    justification: Line


class Numbers(BaseModel):
    """The answer of the lean profile's selection."""

    selected: list[Numbered] = Field(json_schema_extra={"minItems": 1, "maxItems": 9})


async def at_once(
    model: Model, debate: Debate, plan: Plan, found: Sequence[Retrieved], most: int
) -> list[Selected]:
    """Steps 3 and 4 in one call: arguments are named by number, so that none can be misquoted."""
    shortlists = [Shortlist(one, one.all) for one in found]
    listed: dict[str, Argument] = {}
    for one in shortlists:
        listed |= {argument.id: argument for argument in one.arguments if argument.id not in listed}
    everything = list(listed.values())
    prompt = Prompt.load(__package__, "at_once")
    numbers = {argument.id: number for number, argument in enumerate(everything, 1)}
    values = {
        "most": most, "dialogue": dialogue(debate), "plan": plan,
        "searches": [(one.aspect, fresh) for one, fresh in _each_once(shortlists) if fresh],
        "numbers": numbers,
    }  # fmt: skip
    answer = await model.ask(
        prompt.messages(**values), Numbers, step="sinai.selection",
        shorten=dropping_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    chosen: dict[str, Selected] = {}
    for choice in answer.selected:
        if 1 <= choice.number <= len(everything):
            argument = everything[choice.number - 1]
            aspect = _aspect(argument, shortlists)
            chosen.setdefault(argument.id, Selected(argument, aspect, choice.justification))
    return list(chosen.values())[:most] or unasked(shortlists, most)


def _each_once(
    shortlists: Sequence[Shortlist],
) -> Iterator[tuple[Shortlist, list[tuple[str, Argument]]]]:
    """Yield what each search found, by strategy, that none before it did."""
    shown: set[str] = set()
    for one in shortlists:
        fresh: dict[str, tuple[str, Argument]] = {}
        for strategy, arguments in one.retrieved.by.items():
            for argument in arguments:
                if argument.id not in shown:
                    fresh.setdefault(argument.id, (strategy, argument))
        shown |= fresh.keys()
        yield one, list(fresh.values())
