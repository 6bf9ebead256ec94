"""Step 3: select three arguments of each query. Step 4: select three of all.

`select_at_once` takes both steps in one call. `matched` finds the arguments that a model quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.sinai.step1_plan import Plan
from touche_rad.debaters.sinai.step2_search import Retrieved
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.models.output import Line, Page
from touche_rad.models.prompts import render_dialogue
from touche_rad.text import clean, content_words

MIN_SIMILARITY: Final = 0.8
"""Minimum similarity (0 to 1) of a quoted text and an argument."""


def matched(texts: Iterable[str], arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that texts quote, in the order of the texts, without repetition.

    A text matches exactly, or without case and punctuation, or by similarity. Texts that match no
    argument are ignored.
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
    nearest = max(arguments, key=lambda one: _similarity(plain, one), default=None)
    return (
        nearest if nearest is not None and _similarity(plain, nearest) >= MIN_SIMILARITY else None
    )


def _similarity(plain: str, argument: Argument) -> float:
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
    """Return the arguments that share words with a text, the largest share first."""
    words = set(content_words(content))
    shares = {
        argument.id: len(words & set(content_words(argument.text))) / (len(words) or 1)
        for argument in arguments
    }
    sharing = [argument for argument in arguments if shares[argument.id] > 0]
    return sorted(sharing, key=lambda argument: -shares[argument.id])


@dataclass(frozen=True)
class Shortlist:
    """The arguments of a query that step 3 selected."""

    retrieved: Retrieved
    arguments: tuple[Argument, ...]
    justification: str = ""

    @property
    def aspect(self) -> str:
        """What the arguments were searched for, as the prompt of step 4 names it."""
        return f"{self.retrieved.query.field_to_look} to {self.retrieved.query.opponent_idea}"


@dataclass(frozen=True)
class Selected:
    """An argument for the response."""

    argument: Argument
    aspect: str
    justification: str = ""


class Best(BaseModel):
    """The answer of step 3."""

    arguments: list[Page] = Field(json_schema_extra={"maxItems": 9})
    justification: Line


async def select_for_query(
    model: Model, debate: Debate, plan: Plan, retrieved: Retrieved, most: int
) -> Shortlist:
    """Step 3: select the best arguments of one query."""
    prompt = Prompt.load(__package__, "shortlist")
    values = {
        "most": most, "dialogue": render_dialogue(debate), "query": retrieved.query,
        "found": retrieved.by, "plan": plan,
    }  # fmt: skip
    answer = await model.ask(
        prompt.messages(**values), Best, step="sinai.shortlist",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    chosen = matched(answer.arguments, retrieved.all)[:most]
    return Shortlist(retrieved, tuple(chosen or retrieved.all[:most]), answer.justification)


async def select_of_all(
    model: Model, debate: Debate, shortlists: Sequence[Shortlist], most: int
) -> list[Selected]:
    """Step 4: select the best arguments of all queries."""
    prompt = Prompt.load(__package__, "selection")
    values = {"most": most, "dialogue": render_dialogue(debate), "shortlists": shortlists}
    answer = await model.ask(
        prompt.messages(**values), _choice(most), step="sinai.selection",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    return _selected(answer.model_dump(), shortlists, most) or select_by_rank(shortlists, most)


def _choice(most: int) -> type[BaseModel]:
    """Return the schema of step 4: three keys per argument; only the first argument is required."""
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


def select_by_rank(shortlists: Sequence[Shortlist], most: int) -> list[Selected]:
    """Select without a model: the best of each query, then the second best, and so on.

    Arguments that only the strategy TEXT found come last, because they may be on either side.
    """
    found: dict[str, Selected] = {}
    ranked = [_text_last(one) for one in shortlists]
    for rank in range(max(map(len, ranked), default=0)):
        for one, arguments in zip(shortlists, ranked, strict=True):
            for argument in arguments[rank : rank + 1]:
                found.setdefault(argument.id, Selected(argument, one.aspect))
    return list(found.values())[:most]


def _text_last(shortlist: Shortlist) -> list[Argument]:
    alike = {one.id for one in shortlist.retrieved.by.get("TEXT", ())}
    return sorted(shortlist.arguments, key=lambda one: one.id in alike)


class Numbered(BaseModel):
    """One selected argument, by its number in the prompt."""

    number: int
    justification: Line


class Numbers(BaseModel):
    """The answer of steps 3 and 4 in one call."""

    selected: list[Numbered] = Field(json_schema_extra={"minItems": 1, "maxItems": 9})


async def select_at_once(
    model: Model, debate: Debate, plan: Plan, found: Sequence[Retrieved], most: int
) -> list[Selected]:
    """Steps 3 and 4 in one call; arguments are selected by number and cannot be misquoted."""
    shortlists = [Shortlist(one, one.all) for one in found]
    listed: dict[str, Argument] = {}
    for one in shortlists:
        listed |= {argument.id: argument for argument in one.arguments if argument.id not in listed}
    everything = list(listed.values())
    prompt = Prompt.load(__package__, "at_once")
    numbers = {argument.id: number for number, argument in enumerate(everything, 1)}
    values = {
        "most": most, "dialogue": render_dialogue(debate), "plan": plan,
        "searches": [(one.aspect, new) for one, new in _without_repetition(shortlists) if new],
        "numbers": numbers,
    }  # fmt: skip
    answer = await model.ask(
        prompt.messages(**values), Numbers, step="sinai.selection",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    chosen: dict[str, Selected] = {}
    for choice in answer.selected:
        if 1 <= choice.number <= len(everything):
            argument = everything[choice.number - 1]
            aspect = _aspect(argument, shortlists)
            chosen.setdefault(argument.id, Selected(argument, aspect, choice.justification))
    return list(chosen.values())[:most] or select_by_rank(shortlists, most)


def _without_repetition(
    shortlists: Sequence[Shortlist],
) -> Iterator[tuple[Shortlist, list[tuple[str, Argument]]]]:
    """Yield the arguments of each query, by strategy, that no earlier query found."""
    shown: set[str] = set()
    for one in shortlists:
        fresh: dict[str, tuple[str, Argument]] = {}
        for strategy, arguments in one.retrieved.by.items():
            for argument in arguments:
                if argument.id not in shown:
                    fresh.setdefault(argument.id, (strategy, argument))
        shown |= fresh.keys()
        yield one, list(fresh.values())
