"""The guard: which sentences a model must write again, and which it never must."""

from __future__ import annotations

from tests.cases import with_cases
from tests.debaters.test_with_a_model import CHARITY, answer, number_of, writing
from tests.debaters.world import ARGUMENTS, FOR_PENNY, BothSides, argument, cited_texts, debate
from tests.models.by_schema import answering, called, last_message
from tests.models.scripted import Scripted
from touche_rad.debate import Response

SAID = "The penny is worthless, coins have no use, and clutter does NOT matter."


def answer_with(server: Scripted, source: str) -> Response:
    """Answer with an index that has one more argument for the penny."""
    index = BothSides([argument(9, *FOR_PENNY, source), *ARGUMENTS])
    return answer(server, "composed", debate(SAID), index)


@with_cases(("source", "text"), "debaters/faithful_answers.tsv")
def test_a_faithful_answer_is_never_repaired(server: Scripted, source: str, text: str) -> None:
    writing(server, text, cites=source)
    response = answer_with(server, source)
    assert called(server) == ["Written"]
    assert response.content == text
    assert cited_texts(response) == [source]


@with_cases(("source", "text", "named"), "debaters/unfaithful_answers.tsv")
def test_an_answer_that_adds_or_denies_is_always_repaired(
    server: Scripted, source: str, text: str, named: str
) -> None:
    writing(server, text, source, cites=source)
    response = answer_with(server, source)
    assert called(server) == ["Written", "Written"]
    request = last_message(server.asked[1])
    assert f'"{text}"' in request
    assert f"“{named}”" in request if named else f'"{source}"' in request
    assert response.content == source


@with_cases(("first", "second", "sent"), "debaters/second_answers.tsv")
def test_if_the_second_answer_is_not_better_the_first_goes_out_without_its_fault(
    server: Scripted, first: str, second: str, sent: str
) -> None:
    writing(server, first, second)
    response = answer(server, "composed")
    assert response.content.endswith(sent)
    assert "This" not in response.content
    assert cited_texts(response) == [CHARITY]


def test_an_argument_that_answers_in_few_of_its_words_is_cited(server: Scripted) -> None:
    text = "You never say what the poor lose without the penny."
    answering(
        server,
        {"Written": lambda prompt: {"numbers": [number_of(prompt, CHARITY)], "response": text}},
    )
    response = answer(server, "composed")
    assert response.content == text
    assert cited_texts(response) == [CHARITY]
