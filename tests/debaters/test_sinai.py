"""SINAI's debater: the paper's steps in the paper's order, and a valid answer whatever the model says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import with_cases
from tests.debaters.world import (
    ARGUMENTS,
    CHARITY,
    JARS,
    LOUD,
    PENNY,
    QUIET,
    ROUNDED,
    WORTH,
    WORTHLESS,
    BothSides,
    answering_as,
    argument,
    assert_valid,
    cited_texts,
    debate,
)
from tests.models.by_schema import answering, called, last_message, prompts
from tests.models.scripted import Scripted
from tests.records import read_cases
from touche_rad.debate import Hit, Response, path_of
from touche_rad.text import count_words

ANSWERS = read_cases("debaters/sinai_answers.json")
"""What a model answers to some schemas."""
WRITTEN = ANSWERS["Written"]
IDEA = "The penny is worthless and should be abolished."
CASH = "Cash prices would be rounded up."


def query(idea: str, field: str = "ATTACK") -> dict[str, str]:
    return {"opponent_idea": idea, "field_to_look": field, "justification": f"WHY {idea}"}


TWO = {"SEARCH_1": query(IDEA), "SEARCH_2": query(CASH, "SUPPORT")}


def numbered(prompt: str) -> dict[str, int]:
    """The numbers of the arguments that a prompt shows."""
    lines = (line.partition(". ") for line in prompt.splitlines() if line[:1].isdigit())
    return {text: int(number) for number, _, text in lines}


def best(prompt: str) -> dict[str, Any]:
    shown = numbered(prompt)
    known = [shown[text] for text in (ROUNDED, CHARITY) if text in shown]
    return {"arguments": known, "justification": "B-REASON"}


PAPER = {**ANSWERS, "Searches": TWO, "Best": best}
ASKED = debate("Pennies are fine.", "Are they?", "The penny is worthless. Abolish it.")


@pytest.fixture
def server(server: Scripted) -> Scripted:
    answering(server, PAPER)
    return server


answer = answering_as("sinai", ASKED)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_turn_of_the_paper_costs_four_calls_and_one_a_query(server: Scripted, count: int) -> None:
    searches = {f"SEARCH_{n}": query(IDEA) for n in range(1, count + 1)}
    answering(server, {**PAPER, "Searches": searches})
    response = answer(server, profile="paper")
    assert called(server) == ["Plan", "Searches", *["Best"] * count, "Choice", "Written"]
    assert response.content == WRITTEN["response"]
    assert cited_texts(response) == [CHARITY], "of two that were selected, what the model names"


def lean(ideas: list[str], *numbers: int) -> dict[str, Any]:
    """What the model answers in the lean profile."""
    return {
        "Ideas": {"ideas": ideas},
        "Numbers": {"selected": numbers},
        "Written": {**WRITTEN, "arguments": [1]},
    }


def test_the_lean_profile_asks_three_times_and_for_no_reasons(server: Scripted) -> None:
    answering(server, lean([IDEA, CASH], 1))
    answer(server)
    assert called(server) == ["Ideas", "Numbers", "Written"]
    asked = str(server.asked)
    assert not [word for word in ("REASON", "justification", "approach") if word in asked]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_thesis_is_searched_first_in_each_turn_and_counts(server: Scripted, most: int) -> None:
    ideas = [IDEA, CASH][: max(1, most - 1)]
    answering(server, lean(ideas, 1))
    index = BothSides()
    answer(server, debate(WORTH, "Is it?", "It is."), index, queries=str(most))
    searched = [words for field, words, _ in index.searched if field == "supports"]
    assert searched == [WORTH, *ideas][:most]


def test_an_idea_is_searched_once_and_an_argument_shown_once(server: Scripted) -> None:
    index = BothSides()
    answering(server, lean([IDEA.upper(), CASH], 1))
    answer(server, debate(IDEA), index)
    assert (
        sum(
            words.lower() == IDEA.lower()
            for field, words, _ in index.searched
            if field not in {"all", "topics"}
        )
        == 3
    )
    (prompt,) = prompts(server, "Numbers")
    shown = prompt.partition("Search 1")[2]
    assert all(shown.count(argument.text) <= 1 for argument in ARGUMENTS)
    assert shown.count(ROUNDED) == 1


@pytest.mark.parametrize(("on_topic", "shown"), [("yes", False), ("no", True)])
def test_an_idea_that_leads_elsewhere_is_searched_on_the_topic_of_the_debate(
    server: Scripted, on_topic: str, shown: bool
) -> None:
    answering(server, lean([QUIET], 1))
    pointing = argument(9, PENNY, QUIET, LOUD, "Charities need coins, and this coin fills tins.")
    answer(server, debate(IDEA), BothSides([*ARGUMENTS, pointing]), on_topic=on_topic)
    (prompt,) = prompts(server, "Numbers")
    assert (ARGUMENTS[4].text in prompt) == shown
    assert f'{pointing.text} (attacks: "{QUIET}")' in prompt


def test_numbers_run_in_the_order_in_which_arguments_are_shown(server: Scripted) -> None:
    answering(server, lean([IDEA, CASH], 1))
    answer(server, debate(WORTH))
    (prompt,) = prompts(server, "Numbers")
    assert f"Search 1: {WORTH}\n" in prompt
    numbers = [*numbered(prompt).values()]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert len(numbers) > 2


def test_where_no_argument_can_be_used_the_response_has_none(server: Scripted) -> None:
    uncited = {"response": "But who decides what a coin is worth?", "justification": ""}
    answering(server, {**lean([IDEA, CASH]), "Uncited": uncited})
    response = answer(server)
    assert response == Response(content=uncited["response"])
    assert "No retrieved argument can be used" in prompts(server, "Uncited")[0]
    none = dict.fromkeys(ANSWERS["Choice"])
    answering(server, {**PAPER, "Choice": none | {"retrieved_argument_1": ""}, "Uncited": uncited})
    assert answer(server, profile="paper") == response


def test_if_the_model_fails_after_it_selected_none_an_argument_is_quoted(server: Scripted) -> None:
    answering(server, {**lean([IDEA, CASH]), "Uncited": RuntimeError()})
    response = answer(server)
    assert response.content == response.arguments[0].text


def test_what_needs_its_context_comes_after_what_does_not_in_the_lean_profile(
    server: Scripted,
) -> None:
    unclear = [
        argument(n, PENNY, WORTHLESS, WORTH, f"These advantages of the worthless penny are {n}.")
        for n in range(50, 53)
    ]
    clear = [
        argument(n, PENNY, WORTHLESS, WORTH, f"The penny helps charity number {n}.")
        for n in range(60, 66)
    ]
    answering(server, lean([IDEA], 1))
    answer(server, index=BothSides([*unclear, *clear]))
    (prompt,) = prompts(server, "Numbers")
    shown = prompt.partition("Search 1")[2]
    assert shown.count("charity") > 2
    assert "These advantages" not in shown, "though they have more words of the idea"


def test_where_the_numbers_do_not_exist_what_attacks_goes_before_what_is_only_alike(
    server: Scripted,
) -> None:
    answering(server, lean([IDEA], 99))
    tags = argument(8, PENNY, WORTHLESS, WORTH, "Shops would have to reprint each price tag.")
    answer(server, index=BothSides([*ARGUMENTS, tags]))
    (prompt,) = prompts(server, "Written")
    assert ROUNDED in numbered(prompt)
    assert JARS not in numbered(prompt), "only TEXT found it"


CHAINED = {"attacks": "text", "supports": "attacks"}
"""The field that a chained search looks at, and the part of the found argument that it looks for."""


@with_cases(("profile", "query_field", "fields", "links"), "debaters/searches_of_a_query.json")
def test_a_query_makes_five_searches_of_which_two_are_chained(
    server: Scripted, profile: str, query_field: str, fields: str, links: str
) -> None:
    index = BothSides()
    answering(server, {**PAPER, "Searches": {"SEARCH_1": query(IDEA, query_field)}})
    answer(server, index=index, profile=profile)
    searched = [field if k == 2 else f"{field}:{k}" for field, _, k in index.searched]
    assert searched == fields.split()
    assert all(words == IDEA for _, words, k in index.searched if k == 2)
    chained = [(field, words) for field, words, k in index.searched if k == 1]
    hits = [hit.argument for hit in BothSides().search(links, IDEA, 2)]
    part = CHAINED[chained[0][0]]
    assert [words for _, words in chained] == [getattr(argument, part) for argument in hits]


def test_a_citation_tells_how_it_was_reached(server: Scripted) -> None:
    answering(server, {**PAPER, "Searches": {"SEARCH_1": query(IDEA, "SUPPORT")}})
    cited = answer(server, profile="paper").arguments
    paths = {argument.id: path_of(argument) for argument in cited}
    first_steps = {
        path[0].removeprefix(f"{path[0].split()[0]} ") for path in paths.values() if path[1:]
    }
    assert first_steps <= {f"attacks the like of: {IDEA}"}
    only_steps = {path[0] for path in paths.values() if not path[1:]}
    assert only_steps <= {f"says the like of: {IDEA}", f"supports the like of: {IDEA}"}
    assert all(paths.values())


def test_what_was_used_first_is_cited_first_and_at_most_two(server: Scripted) -> None:
    both = {**WRITTEN, "arguments": [ROUNDED.upper(), CHARITY, "No such argument anywhere at all."]}
    answering(server, {**PAPER, "Written": both})
    assert cited_texts(answer(server, profile="paper", cited="2")) == [
        ROUNDED,
        CHARITY,
    ]
    assert cited_texts(answer(server, profile="paper", cited="1")) == [ROUNDED]


def test_arguments_that_are_named_wrongly_are_found_by_their_words(server: Scripted) -> None:
    answering(server, {**PAPER, "Written": {**WRITTEN, "arguments": ["Something else."]}})
    assert answer(server, profile="paper").arguments[0].text == CHARITY


def test_a_long_answer_is_asked_for_again_once_and_then_cut(server: Scripted) -> None:
    long = "The penny helps charities a lot. " * 15
    answering(server, {**PAPER, "Written": {**WRITTEN, "response": long}})
    response = answer(server, profile="paper", shorter_attempts="1")
    assert called(server)[-2:] == ["Written", "Written"]
    assert "60 words" in last_message(server.asked[-1])
    assert count_words(response.content) <= 60
    assert response.content.endswith(".")


class NeverTheSame(BothSides):
    """Finds other arguments at each search."""

    def __init__(self) -> None:
        super().__init__(
            [argument(n, PENNY, WORTHLESS, WORTH, f"Text {n} on a penny.") for n in range(40)]
        )
        self._next = self.arguments()

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        return [Hit(argument=next(self._next), score=1.0, rank=rank) for rank in range(k)]


def test_three_arguments_of_a_query_are_kept_and_three_of_all(server: Scripted) -> None:
    """A model that keeps all it is shown keeps the first three of each query, and three of all."""

    def texts_searched(prompt: str) -> list[str]:
        lines = prompt.partition("searched for:")[2].splitlines()
        return [line.removeprefix("- ") for line in lines if line.startswith("- ")]

    def choice(prompt: str) -> Any:
        names = ("aspect", "retrieved", "justification")
        texts = dict.fromkeys(texts_searched(prompt))
        return {
            f"{name}_argument_{number}": text
            for number, text in enumerate([*texts][:3], 1)
            for name in names
        }

    answering(
        server,
        {
            **PAPER,
            "Searches": {"SEARCH_1": query(IDEA), "SEARCH_2": query(IDEA, "SUPPORT")},
            "Best": lambda prompt: {"arguments": [*numbered(prompt).values()], "justification": ""},
            "Choice": choice,
        },
    )
    answer(server, index=NeverTheSame(), profile="paper")
    shortlisted = [[*numbered(prompt)] for prompt in prompts(server, "Best")]
    assert [len(texts) for texts in shortlisted] == [6, 6]
    (prompt,) = prompts(server, "Choice")
    assert sorted(texts_searched(prompt)) == sorted(
        text for texts in shortlisted for text in texts[:3]
    )
    (prompt,) = prompts(server, "Written")
    assert prompt.count("\nargument: ") == 3


FAILURES: dict[str, dict[str, Any]] = {
    "plan": {"Plan": RuntimeError()},
    "queries": {
        "Searches": RuntimeError(),
        "Written": {**WRITTEN, "response": ROUNDED, "arguments": [ROUNDED]},
    },
    "shortlist": {"Best": RuntimeError()},
    "selection": {"Choice": RuntimeError()},
    "response": {"Written": RuntimeError()},
    "nothing works": dict.fromkeys(PAPER, RuntimeError()),
    "nonsense": dict.fromkeys(PAPER, "I cannot do that."),
    "unknown names": {
        "Best": {"arguments": [99], "justification": ""},
        "Choice": {
            **ANSWERS["Choice"],
            "retrieved_argument_1": "made up",
            "retrieved_argument_2": "",
        },
        "Written": {**WRITTEN, "arguments": ["made up"]},
    },
}


@pytest.mark.parametrize("kind", FAILURES)
def test_whatever_step_fails_the_answer_is_valid_and_cites(server: Scripted, kind: str) -> None:
    answering(server, {**PAPER, **FAILURES[kind]})
    assert_valid(answer(server, profile="paper"))


def test_what_was_cited_before_is_not_cited_again_by_the_lean_profile(server: Scripted) -> None:
    answering(server, lean([IDEA], 1) | {"Written": RuntimeError()})
    first = answer(server, debate(IDEA))
    second = answer(
        server, debate(IDEA).with_response(first).with_utterance("No. The penny is worthless.")
    )
    assert {argument.id for argument in first.arguments}.isdisjoint(
        argument.id for argument in second.arguments
    )


@with_cases(("profile", "calls"), "debaters/steps_of_ablations.json")
def test_an_ablation_leaves_out_its_step(server: Scripted, profile: str, calls: list[str]) -> None:
    answer(server, profile=profile)
    assert called(server) == calls
