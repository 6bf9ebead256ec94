"""The Logic & Summarization Agent: predicates, a reasoning chain, and the flaws in it.

It reads all that the opponent said and never the retrieved evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, Field

from touche_rad.debate import Debate
from touche_rad.debaters.rdebater.budget import Allowance
from touche_rad.debaters.rdebater.history import opposing
from touche_rad.models import Model, Prompt
from touche_rad.models.output import Page
from touche_rad.text import clean

MOST_PREDICATES: Final = 24
"""Predicates of one utterance; the paper's example has 23 for two of them."""
MOST_FLAWS: Final = 8
_PREDICATE: Final = re.compile(r"^[\W\d]*([A-Za-z]\w*)\s*\((.+)\)\W*$")


Formula = Annotated[str, Field(json_schema_extra={"maxLength": 100})]
Flaw = Annotated[str, Field(json_schema_extra={"maxLength": 300})]


class Predicates(BaseModel):
    """What f_pred answers: one predicate a line."""

    predicates: list[Formula] = Field(json_schema_extra={"maxItems": MOST_PREDICATES})


class Chain(BaseModel):
    """What f_infer answers."""

    chain: Page


class Flaws(BaseModel):
    """What f_logic answers."""

    flaws: list[Flaw] = Field(json_schema_extra={"maxItems": MOST_FLAWS})


@dataclass(frozen=True)
class Predicate:
    """A pseudo-first-order predicate."""

    functor: str
    arguments: tuple[str, ...]
    raw: str


@dataclass(frozen=True)
class Logic:
    """The opponent's logic: P_opp, the chain drawn from it, and the flaws L."""

    predicates: tuple[Predicate, ...] = ()
    chain: str = ""
    flaws: tuple[str, ...] = ()


def predicates(said: Iterable[str]) -> tuple[Predicate, ...]:
    """Read predicates, each once; what has no predicate's form is left out.

    Where nothing has, the lines stand as they are: a plain claim can still be reasoned from.
    """
    found: dict[str, Predicate] = {}
    plain: dict[str, Predicate] = {}
    for line in said:
        raw = clean(line)
        match = _PREDICATE.match(raw)
        if match:
            one = Predicate(match[1], _parted(match[2]), f"{match[1]}({match[2]})")
            found.setdefault("".join(one.raw.lower().split()), one)
        elif raw:
            plain.setdefault(raw, Predicate("", (), raw))
    return tuple((found or plain).values())


def _parted(inner: str) -> tuple[str, ...]:
    """Split at the commas that no bracket encloses."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(inner):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(inner[start:place].strip())
            start = place + 1
    return (*parts, inner[start:].strip())


def flaws(said: Iterable[str]) -> tuple[str, ...]:
    """Return the flaws that say something, each once."""
    return tuple(dict.fromkeys(one for one in map(clean, said) if one))[:MOST_FLAWS]


async def logic(model: Model, debate: Debate, allowance: Allowance) -> Logic:
    """Take the three steps as the paper does: one call an utterance, then two over all of them.

    Raises:
        ModelError: A step has no answer.
    """
    found: list[str] = []
    for text in opposing(debate):
        allowance.take(keep=1)
        found += await f_pred(model, text)
    known = predicates(found)
    if not known:
        return Logic()
    allowance.take(keep=1)
    chain = await f_infer(model, known)
    if not chain:
        return Logic(known)
    allowance.take(keep=1)
    return Logic(known, chain, await f_logic(model, chain))


async def f_pred(model: Model, text: str) -> list[str]:
    """Return the predicates of one utterance."""
    messages = Prompt.load(__package__, "predicates").messages(most=MOST_PREDICATES, text=text)
    answer = await model.ask(messages, Predicates, step="rdebater.predicates")
    return answer.predicates[:MOST_PREDICATES]


async def f_infer(model: Model, found: Sequence[Predicate]) -> str:
    """Return the reasoning chain over all predicates."""
    messages = Prompt.load(__package__, "chain").messages(predicates=[one.raw for one in found])
    return clean((await model.ask(messages, Chain, step="rdebater.chain")).chain)


async def f_logic(model: Model, chain: str) -> tuple[str, ...]:
    """Return the flaws of the chain."""
    messages = Prompt.load(__package__, "flaws").messages(most=MOST_FLAWS, chain=chain)
    return flaws((await model.ask(messages, Flaws, step="rdebater.flaws")).flaws)
