"""Step 3: select arguments of each query. Step 4: select arguments of all. Or both in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from operator import attrgetter
from typing import Any, Final

from pydantic import BaseModel, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters._asking import ask_about, at_most, named, narrowed
from touche_rad.debaters.sinai._step1_plan import Plan
from touche_rad.debaters.sinai._step2_search import Retrieved, text_key
from touche_rad.evidence.quotable import text_with_claim
from touche_rad.frozen import frozen
from touche_rad.lists import T, alternate, unique
from touche_rad.models import Model
from touche_rad.models.output import Line, Page, numbers_to
from touche_rad.text import plain_words

PER_QUERY: Final = 3
"""Arguments of a query that step 3 selects at most."""
SHOWN_PER_QUERY: Final = 4
"""Arguments of a query in the one prompt of steps 3 and 4."""
MIN_SIMILARITY: Final = 0.8
"""Minimum similarity (0 to 1) of a quoted text and an argument."""
COPYING: Final = 2_048
"""Token limit of an answer that copies the texts of arguments."""


@frozen
class Shortlist:
    """The arguments of a query that step 3 selected."""

    retrieved: Retrieved
    arguments: Sequence[Argument]
    justification: str = ""

    @property
    def aspect(self) -> str:
        """What the arguments were searched for, as the prompts of steps 4 and 5 name it."""
        query = self.retrieved.query
        if self.retrieved.options.turned:
            return f'against the idea "{query.opponent_idea}"'
        return f"{query.field_to_look} to {query.opponent_idea}"

    @property
    def shown(self) -> dict[str, object]:
        """The texts for the prompt of step 4."""
        return {
            "aspect": self.aspect,
            "arguments": [argument.text for argument in self.arguments],
            "justification": self.justification,
        }


@frozen
class Selected:
    """An argument for the response."""

    argument: Argument
    aspect: str
    justification: str = ""

    @property
    def shown(self) -> dict[str, str]:
        """The texts for the prompt of step 5."""
        return {
            "aspect": self.aspect,
            "argument": self.argument.text,
            "justification": self.justification,
        }


def numbered(
    groups: Mapping[T, Iterable[Argument]],
) -> tuple[dict[T, list[tuple[int, Argument]]], list[Argument]]:
    """Number the arguments of all groups; a text that an earlier group has is left out.

    Returns:
        The numbered arguments of each group that has any, and all arguments in this order.
    """
    by_text: dict[str, Argument] = {}
    sections: dict[T, list[tuple[int, Argument]]] = {}
    for name, arguments in groups.items():
        for argument in arguments:
            if text_key(argument) not in by_text:
                by_text[text_key(argument)] = argument
                sections.setdefault(name, []).append((len(by_text), argument))
    return sections, list(by_text.values())


class ShortlistAnswer(BaseModel):
    """The answer of step 3."""

    arguments: list[int]
    justification: Line = ""


async def select_for_query(
    model: Model, debate: Debate, plan: Plan, retrieved: Retrieved
) -> Shortlist:
    """Step 3: select the best arguments of one query."""
    sections, listed = numbered(retrieved.by_strategy)
    by_strategy: dict[str, list[str]] = {}
    for strategy, section in sections.items():
        by_strategy[strategy] = [f"{number}. {argument.text}" for number, argument in section]
    answer = await ask_about(
        debate,
        model,
        __package__,
        "shortlist",
        narrowed("Best", ShortlistAnswer, arguments=at_most(PER_QUERY, numbers_to(len(listed)))),
        step="sinai.shortlist_of_arguments",
        most=PER_QUERY,
        query=retrieved.query,
        found=by_strategy,
        meanings=retrieved.meanings,
        plan=plan,
    )
    best = named(answer.arguments, listed)
    if answer.arguments and not best:  # none of the numbers exists
        best = list(retrieved.arguments)
    return Shortlist(retrieved, best[:PER_QUERY], answer.justification)


async def select_of_all(
    model: Model, debate: Debate, shortlists: Sequence[Shortlist], most: int
) -> list[Selected]:
    """Step 4: select the best arguments of all queries; none if none can be used."""
    # Three keys per argument; only the first text is required.
    fields: dict[str, Any] = {}
    for number in range(1, most + 1):
        fields[f"aspect_argument_{number}"] = (Page, "")
        fields[f"retrieved_argument_{number}"] = (Page, ... if number == 1 else "")
        fields[f"justification_argument_{number}"] = (Line, "")
    answer = await ask_about(
        debate,
        model,
        __package__,
        "selection",
        create_model("Choice", **fields),
        step="sinai.selection_of_arguments",
        max_tokens=COPYING,
        most=most,
        shortlists=[shortlist.shown for shortlist in shortlists],
    )
    choices = answer.model_dump()
    by_rank = select_by_rank(shortlists)
    offered = {candidate.argument.id: candidate for candidate in by_rank}
    selected: dict[str, Selected] = {}
    names_any = False
    for number in range(1, most + 1):
        text = choices[f"retrieved_argument_{number}"]
        names_any |= bool(text.strip())
        argument = quoted_by(text, [candidate.argument for candidate in by_rank])
        if argument:
            selected.setdefault(
                argument.id,
                Selected(
                    argument,
                    offered[argument.id].aspect,
                    choices[f"justification_argument_{number}"],
                ),
            )
    if names_any and not selected:  # all texts are misquoted
        return by_rank[:most]
    return list(selected.values())


def quoted_by(text: str, arguments: Sequence[Argument]) -> Argument | None:
    """Return the argument that a text quotes: exactly, by its words, or by similarity."""
    quoted = plain_words(text)
    exact = (argument for argument in arguments if text == argument.text)
    alike = (argument for argument in arguments if quoted and quoted == text_key(argument))
    match = next(exact, None) or next(alike, None)
    if match or not quoted:
        return match
    nearest = max(arguments, key=lambda argument: _similarity(quoted, argument), default=None)
    if not nearest or _similarity(quoted, nearest) < MIN_SIMILARITY:
        return None
    return nearest


def _similarity(quoted: str, argument: Argument) -> float:
    known = text_key(argument)
    if len(quoted) >= 20 and quoted in known:
        return 1.0
    return SequenceMatcher(None, quoted[:1000], known[:1000], autojunk=False).ratio()


def select_by_rank(shortlists: Sequence[Shortlist]) -> list[Selected]:
    """Order without a model: the best of each query, then the second best, and so on.

    Arguments that only the strategy TEXT found come last, because they may be on either side.
    """
    return unique(alternate(map(_text_last, shortlists)), key=attrgetter("argument.id"))


def _text_last(shortlist: Shortlist) -> list[Selected]:
    alike = {argument.id for argument in shortlist.retrieved.by_strategy.get("TEXT", ())}
    ordered = sorted(shortlist.arguments, key=lambda argument: argument.id in alike)
    return [Selected(argument, shortlist.aspect) for argument in ordered]


class Numbers(BaseModel):
    """The answer of steps 3 and 4 in one call; no argument may be selected."""

    selected: list[int]


async def select_at_once(
    model: Model, debate: Debate, shortlists: Sequence[Shortlist], most: int
) -> list[Selected]:
    """Steps 3 and 4 in one call, by number; an empty list if no argument can be used."""
    by_idea = {
        shortlist.retrieved.query.opponent_idea: shortlist.arguments[:SHOWN_PER_QUERY]
        for shortlist in shortlists
    }
    sections, listed = numbered(by_idea)
    searches: dict[str, list[tuple[int, str]]] = {}
    for idea, section in sections.items():
        searches[idea] = [(number, text_with_claim(argument)) for number, argument in section]
    answer = await ask_about(
        debate,
        model,
        __package__,
        "at_once",
        narrowed("Numbers", Numbers, selected=at_most(most, numbers_to(len(listed)))),
        step="sinai.selection_of_arguments",
        most=most,
        searches=searches,
    )
    # Without copies, the prompt of step 5 has no aspects.
    selected = [Selected(argument, "") for argument in named(answer.selected, listed)]
    if answer.selected and not selected:  # none of the numbers exists
        return select_by_rank(shortlists)[:most]
    return selected[:most]
