"""The Logic & Summarization Agent and the keyword agent, in separate calls or in one.

The first one finds predicates, a reasoning chain, and the flaws in it. It reads all utterances of
the opponent, and never the retrieved evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel

from touche_rad.debate import Debate
from touche_rad.debaters._asking import ask_about, at_most, narrowed
from touche_rad.frozen import frozen
from touche_rad.lists import unique
from touche_rad.models import Model, Prompt
from touche_rad.models.errors import OverBudget
from touche_rad.models.output import Page, Remark, schema_limits
from touche_rad.models.prompts import Thesis, render_dialogue
from touche_rad.text import clean, content_words, plain_words
from touche_rad.users.contest_views import opens, speaks_first

MAX_LETTERS: Final = 4_000


class Allowance:
    """The call budget of a turn."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.remaining = calls

    def take(self, calls: int = 1, *, keep: int = 0) -> None:
        """Take calls from the budget before they are made; `keep` must remain for later steps."""
        if self.remaining - calls < keep:
            raise OverBudget(f"the turn's {self.calls} calls are spent")
        self.remaining -= calls


def opponent_texts(debate: Debate) -> list[str]:
    """Return the opponent's utterances, oldest first."""
    turns = debate.turns[speaks_first(debate) :]
    return list(filter(None, [clean(turn.utterance)[:MAX_LETTERS] for turn in turns]))


def history_text(debate: Debate) -> str:
    """Return the history as one text, newest first, because an encoder cuts the end.

    The debater that opens has only the motion.
    """
    texts = [text for _, text in debate.spoken]
    spoken = texts[speaks_first(debate) :] or texts
    return "\n".join(clean(text)[:MAX_LETTERS] for text in reversed(spoken))


def sided_values(debate: Debate) -> dict[str, Any]:
    """Return the side and the history for agents that speak for the debater."""
    return {
        "side": debate.side,
        "opening": opens(debate),
        "dialogue": _dialogue(debate, "Opponent", "You"),
    }


def neutral_values(debate: Debate) -> dict[str, Any]:
    """Return the motion and the history for agents that take no side: Pro-1 and Con-1.

    In the prompts, `own` is the debater's name, and `other` its opponent's.
    """
    name = "Pro-1" if debate.side == "pro" else "Con-1"
    opponent = "Con-1" if debate.side == "pro" else "Pro-1"
    return {
        "motion": Thesis.of(debate).text,
        "own": name,
        "other": opponent,
        "opening": opens(debate),
        "dialogue": _dialogue(debate, opponent, name),
    }


def _dialogue(debate: Debate, opponent: str, debater: str) -> list[str]:
    """Return one line per utterance; the motion that a debater opens with is none."""
    return render_dialogue(debate, user=opponent, system=debater)[speaks_first(debate) :]


MOST_PREDICATES: Final = 24
"""Maximum predicates of one utterance; the paper's example has 23 for two utterances."""
MOST_FLAWS: Final = 8
_PREDICATE_TOKENS: Final = 1_536
_PREDICATE: Final = re.compile(r"^[\W\d]*([A-Za-z]\w*)\s*\((.+)\)\W*$")


class Predicates(BaseModel):
    """The answer of f_pred."""

    predicates: list[Annotated[str, schema_limits(maxLength=100)]] = schema_limits(
        maxItems=MOST_PREDICATES
    )


class Chain(BaseModel):
    """The answer of f_infer."""

    chain: Page


class Flaws(BaseModel):
    """The answer of f_logic."""

    flaws: list[Remark] = schema_limits(maxItems=MOST_FLAWS)


@frozen
class Logic:
    """The opponent's logic: the predicates P_opp, the reasoning chain, and the flaws L."""

    predicates: Sequence[str] = ()
    chain: str = ""
    flaws: Sequence[str] = ()


def predicates(lines: Iterable[str]) -> list[str]:
    """Parse predicates and remove repeated ones; lines of another form are ignored.

    If no line is a predicate, all lines are used as they are.
    """
    cleaned = list(filter(None, map(clean, lines)))
    parsed = [f"{match[1]}({match[2]})" for match in filter(None, map(_PREDICATE.match, cleaned))]
    formulas = unique(parsed, key=lambda predicate: "".join(predicate.lower().split()))
    return formulas or unique(cleaned)


def flaws(lines: Iterable[str]) -> list[str]:
    """Return the flaws as sentences, without empty and repeated ones."""
    sentences = [f"{line[:1].upper()}{line[1:]}" for line in map(clean, lines) if line]
    return unique(sentences)[:MOST_FLAWS]


async def ask_logic(model: Model, debate: Debate, allowance: Allowance, *, keep: int) -> Logic:
    """Take the three steps of the paper: one call per utterance, then two calls over all."""
    # f_pred: the predicates of each utterance.
    lines: list[str] = []
    for text in opponent_texts(debate):
        allowance.take(keep=keep)
        messages = Prompt.load(__package__, "predicates").messages(most=MOST_PREDICATES, text=text)
        read = await model.ask(
            messages, Predicates, step="rdebater.predicates", max_tokens=_PREDICATE_TOKENS
        )
        lines += read.predicates[:MOST_PREDICATES]
    union = predicates(lines)
    if not union:
        return Logic()

    # f_infer: the reasoning chain over all predicates.
    allowance.take(keep=keep)
    messages = Prompt.load(__package__, "chain").messages(predicates=union)
    chain = clean((await model.ask(messages, Chain, step="rdebater.chain_of_reasons")).chain)
    if not chain:
        return Logic(union)

    # f_logic: the flaws of the chain.
    allowance.take(keep=keep)
    messages = Prompt.load(__package__, "flaws").messages(most=MOST_FLAWS, chain=chain)
    answer = await model.ask(messages, Flaws, step="rdebater.flaws")
    return Logic(union, chain, flaws(answer.flaws))


Keyword = Annotated[str, schema_limits(maxLength=60)]


class Keywords(BaseModel):
    """The answer of the keyword agent."""

    keywords: list[Keyword]


def different(keywords: Iterable[str], most: int) -> list[str]:
    """Return the keywords without empty, repeated and additional ones."""
    return unique(filter(content_words, map(clean, keywords)), key=plain_words)[:most]


def plain_keywords(debate: Debate, most: int) -> list[str]:
    """Return the most frequent words of the last message, which are used without a model."""
    message = content_words(clean(debate.last.utterance)) or content_words(clean(debate.thesis))
    return [word for word, _ in Counter(message).most_common(most)]


async def ask_keywords(
    model: Model, debate: Debate, most: int, allowance: Allowance, *, keep: int
) -> list[str]:
    """Ask for keywords from the utterances of both sides."""
    allowance.take(keep=keep)
    answer = await ask_about(
        debate,
        model,
        __package__,
        "keywords",
        narrowed("Keywords", Keywords, keywords=at_most(most, list[Keyword])),
        step="rdebater.keywords",
        most=most,
        **neutral_values(debate),
    )
    return different(answer.keywords, most) or plain_keywords(debate, most)


class Reading(BaseModel):
    """The answer of both agents in one call, without what no later step reads."""

    flaws: list[Remark] = schema_limits(maxItems=3)
    keywords: list[Keyword]


async def read_at_once(
    model: Model, debate: Debate, most: int, allowance: Allowance, *, keep: int
) -> tuple[Logic, list[str]]:
    """Ask for the flaws of the opponent's logic and for the keywords in one call."""
    allowance.take(keep=keep)
    values = neutral_values(debate)
    answer = await ask_about(
        debate,
        model,
        __package__,
        "reading",
        narrowed("Reading", Reading, keywords=at_most(most, list[Keyword])),
        step="rdebater.reading",
        most=most,
        **values,
    )
    of_opponent = [flaw.replace(values["other"], "the opponent") for flaw in answer.flaws]
    logic = Logic(flaws=flaws(of_opponent))
    return logic, different(answer.keywords, most) or plain_keywords(debate, most)
