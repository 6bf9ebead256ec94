"""Step 3: select three arguments of each query. Step 4: select three of all.

`select_at_once` takes both steps in one call. `matched` finds the arguments that a model quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, Final, TypeVar

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.asking import ask_about
from touche_rad.debaters.sinai.step1_plan import Plan
from touche_rad.debaters.sinai.step2_search import Retrieved, text_key
from touche_rad.models import Model, Prompt
from touche_rad.models.output import Line, Page
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
        """What the arguments were searched for, as the prompts of steps 4 and 5 name it."""
        query = self.retrieved.query
        if self.retrieved.how.turned:
            return f'against the idea "{query.opponent_idea}"'
        return f"{query.field_to_look} to {query.opponent_idea}"


@dataclass(frozen=True)
class Selected:
    """An argument for the response."""

    argument: Argument
    aspect: str
    justification: str = ""


COPYING: Final = 2_048
"""Token limit of an answer that copies the texts of arguments."""

M = TypeVar("M", bound=BaseModel)


@lru_cache(64)
def limited(schema: type[M], kind: Any = list[Page], **most: int) -> type[M]:
    """Return a schema whose list has at most this many items."""
    fields: dict[str, Any] = {
        name: (kind, Field(json_schema_extra={"maxItems": limit})) for name, limit in most.items()
    }
    return create_model(schema.__name__, __base__=schema, **fields)


class Best(BaseModel):
    """The answer of step 3."""

    arguments: list[Page]
    justification: Line = ""


async def select_for_query(
    model: Model, debate: Debate, plan: Plan, retrieved: Retrieved, most: int
) -> Shortlist:
    """Step 3: select the best arguments of one query."""
    answer = await ask_about(
        debate,
        model,
        Prompt.load(__package__, "shortlist"),
        limited(Best, arguments=most),
        step="sinai.shortlist",
        max_tokens=COPYING,
        most=most,
        query=retrieved.query,
        found=retrieved.by,
        meanings=retrieved.meanings,
        plan=plan,
    )
    chosen = matched(answer.arguments, retrieved.all)[:most]
    if answer.arguments and not chosen:  # it misquotes all
        chosen = list(retrieved.all[:most])
    return Shortlist(retrieved, tuple(chosen), answer.justification)


async def select_of_all(
    model: Model, debate: Debate, shortlists: Sequence[Shortlist], most: int
) -> list[Selected]:
    """Step 4: select the best arguments of all queries; none if none can be used."""
    answer = await ask_about(
        debate,
        model,
        Prompt.load(__package__, "selection"),
        _choice(most),
        step="sinai.selection",
        max_tokens=COPYING,
        most=most,
        shortlists=shortlists,
    )
    said = answer.model_dump()
    selected = _selected(said, shortlists, most)
    if not selected and any(said[f"retrieved_argument_{n}"].strip() for n in range(1, most + 1)):
        return select_by_rank(shortlists, most)  # it misquotes all
    return selected


@lru_cache(64)
def _choice(most: int) -> type[BaseModel]:
    """Return the schema of step 4: three keys per argument; only the first text is required."""
    fields: dict[str, Any] = {}
    for number in range(1, most + 1):
        fields[f"aspect_argument_{number}"] = (Page, "")
        fields[f"retrieved_argument_{number}"] = (Page, ... if number == 1 else "")
        fields[f"justification_argument_{number}"] = (Line, "")
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
    justification: Line = ""


class Numbers(BaseModel):
    """The answer of steps 3 and 4 in one call; no argument may be selected."""

    selected: list[Numbered]


@lru_cache(64)
def _numbers(count: int, most: int) -> type[Numbers]:
    """Return the schema of the answer about a number of arguments."""
    limits: Any = {"json_schema_extra": {"minimum": 1, "maximum": count}}
    numbered = create_model("Numbered", __base__=Numbered, number=(int, Field(**limits)))
    return limited(Numbers, list[numbered], selected=most)


async def select_at_once(
    model: Model, debate: Debate, plan: Plan, found: Sequence[Retrieved], most: int
) -> list[Selected]:
    """Steps 3 and 4 in one call, by number, so that no text is misquoted.

    An empty list means that no argument can be used.
    """
    shortlists = [Shortlist(one, one.all) for one in found]
    searches, listed = _numbered(found)
    answer = await ask_about(
        debate,
        model,
        Prompt.load(__package__, "at_once"),
        _numbers(len(listed), most),
        step="sinai.selection",
        most=most,
        count=len(listed),
        plan=plan,
        searches=searches,
    )
    chosen: dict[str, Selected] = {}
    for choice in answer.selected:
        if 1 <= choice.number <= len(listed):
            argument = listed[choice.number - 1]
            aspect = _aspect(argument, shortlists)
            chosen.setdefault(argument.id, Selected(argument, aspect, choice.justification))
    if answer.selected and not chosen:  # it gives numbers that do not exist
        return select_by_rank(shortlists, most)
    return list(chosen.values())[:most]


@dataclass(frozen=True)
class _Shown:
    """The arguments of a query that no earlier query found, with their numbers."""

    idea: str
    groups: dict[str, list[tuple[int, Argument]]]
    """Numbered arguments by how they were found."""


def _numbered(found: Sequence[Retrieved]) -> tuple[list[_Shown], list[Argument]]:
    """Return the arguments of all queries as they are shown, and in the order of their numbers."""
    listed: dict[str, Argument] = {}
    searches: list[_Shown] = []
    for one in found:
        shown = _Shown(one.query.opponent_idea, {})
        for strategy in sorted(one.by, key=lambda strategy: strategy == "TEXT"):
            for argument in one.by[strategy]:
                if text_key(argument) not in listed:
                    listed[text_key(argument)] = argument
                    group = shown.groups.setdefault(one.meanings[strategy], [])
                    group.append((len(listed), argument))
        if shown.groups:
            searches.append(shown)
    return searches, list(listed.values())
