"""Step 3: select arguments of each query. Step 4: select arguments of all. Or both in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters._asking import ask_about, limited
from touche_rad.debaters.sinai._step1_plan import Plan
from touche_rad.debaters.sinai._step2_search import Retrieved, text_key
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
    matches = (_match(text, arguments) for text in texts if text.strip())
    return list({one.id: one for one in matches if one is not None}.values())


def _match(text: str, arguments: Sequence[Argument]) -> Argument | None:
    plain = _plain(text)
    exact = (one for one in arguments if text == one.text)
    alike = (one for one in arguments if plain and plain == _plain(one.text))
    match = next(exact, None) or next(alike, None)
    if match is not None:
        return match
    nearest = max(arguments, key=lambda one: _similarity(plain, one), default=None)
    near = nearest is not None and _similarity(plain, nearest) >= MIN_SIMILARITY
    return nearest if near else None


def _similarity(plain: str, argument: Argument) -> float:
    other = _plain(argument.text)
    if len(plain) >= 20 and plain in other:
        return 1.0
    return SequenceMatcher(None, plain[:1000], other[:1000], autojunk=False).ratio()


def _plain(text: str) -> str:
    lower = " ".join(clean(text).lower().split())
    return "".join(letter for letter in lower if letter.isalnum() or letter == " ")


def used(content: str, arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that share words with a text, those with the most words first."""
    words = set(content_words(content))
    shared = {one.id: len(words & set(content_words(one.text))) for one in arguments}
    sharing = [one for one in arguments if shared[one.id]]
    return sorted(sharing, key=lambda one: -shared[one.id])


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
        limited(Best, list[Page], arguments=most),
        step="sinai.shortlist",
        max_tokens=COPYING,
        most=most,
        query=retrieved.query,
        found=retrieved.by,
        meanings=retrieved.meanings,
        plan=plan,
    )
    best = matched(answer.arguments, retrieved.all)[:most]
    if answer.arguments and not best:  # it misquotes all
        best = list(retrieved.all[:most])
    return Shortlist(retrieved, tuple(best), answer.justification)


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
    choices = answer.model_dump()
    everything = [one for shortlist in shortlists for one in shortlist.arguments]
    selected: dict[str, Selected] = {}
    for number in range(1, most + 1):
        for one in matched([choices[f"retrieved_argument_{number}"]], everything):
            reason = choices[f"justification_argument_{number}"]
            selected.setdefault(one.id, Selected(one, _aspect(one, shortlists), reason))
    texts = [choices[f"retrieved_argument_{number}"] for number in range(1, most + 1)]
    if not selected and any(text.strip() for text in texts):
        return select_by_rank(shortlists, most)  # it misquotes all
    return list(selected.values())


def _choice(most: int) -> type[BaseModel]:
    """Return the schema of step 4: three keys per argument; only the first text is required."""
    fields: dict[str, Any] = {}
    for number in range(1, most + 1):
        fields[f"aspect_argument_{number}"] = (Page, "")
        fields[f"retrieved_argument_{number}"] = (Page, ... if number == 1 else "")
        fields[f"justification_argument_{number}"] = (Line, "")
    return create_model("Choice", **fields)


def _aspect(argument: Argument, shortlists: Sequence[Shortlist]) -> str:
    return next(
        (one.aspect for one in shortlists if any(argument.id == x.id for x in one.arguments)), ""
    )


def select_by_rank(shortlists: Sequence[Shortlist], most: int) -> list[Selected]:
    """Select without a model: the best of each query, then the second best, and so on.

    Arguments that only the strategy TEXT found come last, because they may be on either side.
    """
    selected: dict[str, Selected] = {}
    for best in zip_longest(*map(_text_last, shortlists)):
        for one, argument in zip(shortlists, best, strict=True):
            if argument is not None:
                selected.setdefault(argument.id, Selected(argument, one.aspect))
    return list(selected.values())[:most]


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


async def select_at_once(
    model: Model, debate: Debate, plan: Plan, retrieved: Sequence[Retrieved], most: int
) -> list[Selected]:
    """Steps 3 and 4 in one call, by number, so that no text is misquoted.

    An empty list means that no argument can be used.
    """
    shortlists = [Shortlist(one, one.all) for one in retrieved]
    searches, listed = _numbered(retrieved)
    number: Any = (int, Field(json_schema_extra={"minimum": 1, "maximum": len(listed)}))
    numbered = create_model("Numbered", __base__=Numbered, number=number)
    answer = await ask_about(
        debate,
        model,
        Prompt.load(__package__, "at_once"),
        limited(Numbers, list[numbered], selected=most),
        step="sinai.selection",
        most=most,
        count=len(listed),
        plan=plan,
        searches=searches,
    )
    selected: dict[str, Selected] = {}
    for choice in answer.selected:
        if 1 <= choice.number <= len(listed):
            argument = listed[choice.number - 1]
            aspect = _aspect(argument, shortlists)
            selected.setdefault(argument.id, Selected(argument, aspect, choice.justification))
    if answer.selected and not selected:  # it gives numbers that do not exist
        return select_by_rank(shortlists, most)
    return list(selected.values())[:most]


@dataclass(frozen=True)
class _Search:
    """The arguments of a query that no earlier query found, with their numbers."""

    idea: str
    groups: dict[str, list[tuple[int, Argument]]]
    """Numbered arguments by how they were found."""


def _numbered(retrieved: Sequence[Retrieved]) -> tuple[list[_Search], list[Argument]]:
    """Return the arguments of all queries as they are shown, and in the order of their numbers."""
    listed: dict[str, Argument] = {}
    searches: list[_Search] = []
    for one in retrieved:
        search = _Search(one.query.opponent_idea, {})
        for strategy in sorted(one.by, key=lambda strategy: strategy == "TEXT"):
            for argument in one.by[strategy]:
                if text_key(argument) not in listed:
                    listed[text_key(argument)] = argument
                    group = search.groups.setdefault(one.meanings[strategy], [])
                    group.append((len(listed), argument))
        if search.groups:
            searches.append(search)
    return searches, list(listed.values())
