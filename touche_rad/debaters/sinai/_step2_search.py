"""Step 2: up to three queries; and their search: six arguments per query, two per strategy.

TEXT searches for texts that say the same as the query's idea. ATTACK and SUPPORT search the fields
of these names. The strategy of the two that is not the query's goal is chained: instead of the
arguments that it finds, other arguments are taken, by default those that attack them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate, with_path
from touche_rad.debaters._asking import ask_about, at_most, narrowed
from touche_rad.debaters._citing import NO_CITATIONS, EarlierCitations
from touche_rad.debaters.sinai._step1_plan import Plan, parameters
from touche_rad.evidence.quotable import missing_context
from touche_rad.frozen import frozen
from touche_rad.lists import alternate, unique
from touche_rad.models import Model
from touche_rad.models.output import Line, Paragraph
from touche_rad.models.prompts import Thesis
from touche_rad.plugins import TOPIC_DEPTH, ArgumentIndex, Retriever
from touche_rad.text import clean, plain_words

MAX_LETTERS: Final = 600


class Query(BaseModel):
    """One search: an idea of the opponent, and the field to search."""

    opponent_idea: Paragraph = Field(min_length=1)
    field_to_look: Literal["SUPPORT", "ATTACK"] = "ATTACK"
    justification: Line = ""


def last_message(debate: Debate) -> Query:
    """Return the query that is used if the model gives none: an attack on the last message."""
    return Query(
        opponent_idea=clean(debate.last.utterance)[:MAX_LETTERS] or clean(debate.thesis) or "this",
        justification="it is the opponent's last message",
    )


async def ask_queries(
    model: Model, debate: Debate, plan: Plan, most: int, *, turned: bool
) -> list[Query]:
    """Ask for the queries."""
    # SEARCH_1 is required, the others are optional.
    fields: dict[str, Any] = {"SEARCH_1": Query}
    fields |= {f"SEARCH_{number}": (Query | None, None) for number in range(2, most + 1)}
    answer = await ask_about(
        debate,
        model,
        __package__,
        "queries",
        create_model("Searches", **fields),
        step="sinai.queries",
        most=most,
        turned=turned,
        plan=plan,
        meaning=parameters()["approach_strategy"][plan.approach_strategy],
    )
    return [query for _, query in answer if query]


class Ideas(BaseModel):
    """The answer of step 2 without a plan."""

    ideas: list[Paragraph]


async def ask_ideas(model: Model, debate: Debate, most: int) -> list[Query]:
    """Return queries with the thesis and the ideas that the model names besides it."""
    ideas_asked = max(1, most - 1)
    answer = await ask_about(
        debate,
        model,
        __package__,
        "ideas",
        narrowed("Ideas", Ideas, ideas=at_most(ideas_asked, list[Paragraph])),
        step="sinai.ideas",
        most=ideas_asked,
    )
    ideas = [Thesis.of(debate).text[:MAX_LETTERS], *answer.ideas]
    return [Query(opponent_idea=idea) for idea in ideas if clean(idea)][:most]


Strategy = Literal["TEXT", "ATTACK", "SUPPORT"]
PER_STRATEGY: Final = 2
FIELDS: Final[Mapping[Strategy, str]] = {"TEXT": "text", "ATTACK": "attacks", "SUPPORT": "supports"}
PATHS: Final[Mapping[Strategy, str]] = {
    "TEXT": "says the like of",
    "ATTACK": "attacks the like of",
    "SUPPORT": "supports the like of",
}
"""The description of each strategy in the path of a citation."""


@frozen
class SearchOptions:
    """How to search."""

    turned: bool = True
    """Whether as in the paper's figures: a SUPPORT query finds attacks on the supports of the
    opponent's idea, and what attacks a chained argument is taken. Else as in its section 2.1: it
    finds supports, and what supports the claim that a chained argument attacks is taken."""
    earlier: EarlierCitations = NO_CITATIONS
    """Citations that are not repeated and not contradicted; a link of a chain may contradict."""
    topics: Set[str] = frozenset()
    """The topics of the debate, if arguments on others are left out."""
    spare: int = 0
    """Additional hits per search, to replace cited, repeated and unclear arguments.

    An argument that needs another text is only taken if no argument of the query stands alone.
    """


@frozen
class Retrieved:
    """The arguments of a query, by strategy."""

    query: Query
    by_strategy: Mapping[Strategy, Sequence[Argument]] = field(default_factory=dict)
    options: SearchOptions = SearchOptions()

    @property
    def goal(self) -> Literal["SUPPORT", "ATTACK"]:
        """Which of the two strategies is not chained."""
        return "ATTACK" if self.options.turned else self.query.field_to_look

    @property
    def meanings(self) -> dict[Strategy, str]:
        """What the arguments of each strategy are, for a prompt."""
        meanings: dict[Strategy, str] = {
            "TEXT": "texts like the idea, on either side",
            "ATTACK": "arguments against the idea",
            "SUPPORT": "arguments for the idea",
        }
        chained: Strategy = "SUPPORT" if self.goal == "ATTACK" else "ATTACK"
        if self.options.turned:
            meanings[chained] = f"arguments that attack {meanings[chained]}"
        else:
            meanings[chained] = f"arguments that support what {meanings[chained]} attack"
        return meanings

    @property
    def arguments(self) -> list[Argument]:
        """All arguments without repetition, ordered by their rank in each strategy."""
        return unique(alternate(self.by_strategy.values()), key=text_key)


def search(
    index: ArgumentIndex, attacks: Retriever, query: Query, options: SearchOptions
) -> Retrieved:
    """Search with all strategies for one query."""
    goal = Retrieved(query, options=options).goal
    idea = query.opponent_idea
    by_strategy: dict[Strategy, Sequence[Argument]] = {}
    # A collection can have one text under several ids.
    seen: set[str] = set()

    def take(field: str, text: str, count: int, path: Sequence[str] = ()) -> list[Argument]:
        k = TOPIC_DEPTH if options.topics else count + options.spare
        hits = attacks.search(text, k) if field == "attacks" else index.search(field, text, k)
        arguments = [
            with_path(hit.argument, path)
            for hit in hits
            if not options.topics or hit.argument.topic in options.topics
        ]
        if options.spare:
            usable = [
                argument
                for argument in arguments
                if argument.id not in options.earlier.ids
                and text_key(argument) not in seen
                # Only a link, which is not cited, has no path.
                and not (path and options.earlier.contradicts(argument))
            ]
            arguments = sorted(
                unique(usable, key=text_key),
                key=lambda argument: bool(missing_context(argument.text)),
            )
        return arguments[:count]

    for strategy, field_name in FIELDS.items():
        path = f"{PATHS[strategy]}: {idea}"
        # The strategy that is neither TEXT nor the goal is chained.
        if strategy in ("TEXT", goal):
            arguments = take(field_name, idea, PER_STRATEGY, (path,))
            seen.update(map(text_key, arguments))
        else:
            arguments = []
            for link in take(field_name, idea, PER_STRATEGY):
                first_step = f"{link.id} {path}"
                if options.turned:
                    steps = (first_step, "attacks the like of what that says")
                    arguments += take("attacks", link.text, 1, steps)
                else:
                    steps = (first_step, "supports the like of what that attacks")
                    arguments += take("supports", link.attacks, 1, steps)
                seen.update(map(text_key, arguments))
        by_strategy[strategy] = arguments
    if options.spare:
        # Leave out the arguments that need another text, unless there are no others.
        clear: dict[Strategy, Sequence[Argument]] = {}
        for strategy, taken in by_strategy.items():
            clear[strategy] = [argument for argument in taken if not missing_context(argument.text)]
        if any(clear.values()):
            by_strategy = clear
    return Retrieved(query, by_strategy, options)


def text_key(argument: Argument) -> str:
    """Return what equal arguments have in common: their text, without case and punctuation."""
    return plain_words(argument.text)
