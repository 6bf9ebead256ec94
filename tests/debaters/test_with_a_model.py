"""`grounded` and `composed` with a model: it chooses and writes, and never gets anything past us."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import with_cases
from tests.debaters.world import (
    ARGUMENTS,
    FOR_PENNY,
    BothSides,
    argument,
    assert_valid,
    cited_texts,
    debate,
    with_services,
)
from tests.models.by_schema import answering, called, prompts
from tests.models.scripted import Scripted
from tests.profiles import with_settings
from touche_rad.debate import Debate, Response
from touche_rad.plugins import Services, find
from touche_rad.runs.answering import make_answerer

ASKED = debate("The penny is worthless and should be abolished.")
CHARITY = ARGUMENTS[2].text


def answer(
    server: Scripted, name: str, unanswered: Debate = ASKED, index: Any = None, **options: str
) -> Response:
    async def work(services: Services) -> Any:
        answerer = make_answerer(find("debater", name).configure(options), services)
        return await answerer.answer(unanswered)

    outcome = with_services(server, index, work)
    assert outcome.by == name, outcome.events
    return outcome.response  # type: ignore[no-any-return]


def number_of(prompt: str, text: str) -> int:
    """The number that an argument has in a prompt."""
    (line,) = [line for line in prompt.splitlines() if line.endswith(text)]
    return int(line.partition(".")[0])


def writing(server: Scripted, *answers: str, cites: str = CHARITY, entailed: Any = None) -> None:
    """Let the model write one text after the other, citing an argument."""
    texts = list(answers)

    def written(prompt: str) -> dict[str, Any]:
        text = texts.pop(0) if len(texts) > 1 else texts[0]
        return {"numbers": [number_of(prompt, cites)], "response": text}

    answering(server, {"Written": written, "Entailments": entailed})


@with_cases(("message", "span", "begins"), "debaters/quotations_of_users.tsv")
def test_the_model_chooses_the_quotation_and_the_words_that_it_answers(
    server: Scripted, message: str, span: str, begins: str
) -> None:
    answering(
        server,
        {
            "Choice": lambda prompt: {
                "number": number_of(prompt, CHARITY),
                "span": span,
                "clause": not begins.startswith("On"),
            }
        },
    )
    response = answer(server, "grounded", debate(message))
    place = message.lower().find(span.lower().rstrip("."))
    copied = message[place : place + len(span.rstrip("."))]
    assert response.content == f"{begins.format(copied)} {CHARITY}"
    assert cited_texts(response) == [CHARITY]
    assert called(server) == ["Choice"]


@pytest.mark.parametrize(
    ("span", "begins"),
    [
        ("the penny is useful", 'You say "the penny is useful". That contradicts your thesis:'),
        ("a useful penny", "You contradict your thesis:"),
    ],
)
def test_the_model_sees_that_the_user_comes_over(server: Scripted, span: str, begins: str) -> None:
    answering(
        server,
        {
            "Choice": lambda prompt: {
                "number": number_of(prompt, CHARITY),
                "span": span,
                "clause": "is" in span,
                "agrees": True,
            }
        },
    )
    came_over = debate("The penny is worthless.", "It is not.", f"Well, {span}.")
    assert answer(server, "grounded", came_over).content == f"{begins} {CHARITY}"


@with_cases(("options", "begins"), "debaters/openings_of_answers.json")
def test_words_of_the_user_are_named_where_there_is_room(
    server: Scripted, options: dict[str, str], begins: str
) -> None:
    text = (
        "Charities collect the penny that nobody misses, and blind shoppers count with it each day."
    )
    index = BothSides([argument(9, *FOR_PENNY, text), *ARGUMENTS])
    choice = {"span": "The penny is worthless", "clause": True}
    answering(server, {"Choice": lambda prompt: {"number": number_of(prompt, text), **choice}})
    response = answer(server, "grounded", ASKED, index, **options)
    assert response.content == f"{begins}{text}"


@pytest.mark.parametrize(
    ("lead", "calls"),
    [
        ("You now like the penny, which contradicts your thesis that it is worthless:", 1),
        ("You now like the penny, so you contradict your own claim:", 1),
        ("This contradicts your thesis that 90 coins are worthless:", 2),
    ],
)
def test_an_opponent_who_comes_over_may_be_told_so(server: Scripted, lead: str, calls: int) -> None:
    writing(server, f"{lead} {CHARITY}")
    came_over = debate("The penny is worthless.", "It is not.", "Fine, I like the penny.")
    response = answer(server, "composed", came_over)
    assert called(server) == ["Written"] * calls
    assert cited_texts(response) == [CHARITY]


@pytest.mark.parametrize(
    "choice",
    [
        {"number": 0},
        "nonsense",
        {"number": 99},
        {"number": 1, "agrees": "HACKED"},
        RuntimeError(),
    ],
    ids=["none fits", "nonsense", "no such number", "neither true nor false", "down"],
)
def test_without_a_valid_choice_grounded_chooses_itself(server: Scripted, choice: Any) -> None:
    answering(server, {"Choice": choice})
    response = answer(server, "grounded")
    assert response.content.endswith(response.arguments[0].text)
    assert "HACKED" not in response.content


def test_where_no_argument_can_be_used_the_next_ones_are_shown_once(server: Scripted) -> None:
    jars = ARGUMENTS[1].text

    def choice(prompt: str) -> Any:
        return {"number": number_of(prompt, jars) if jars in prompt else 0}

    answering(server, {"Choice": choice})
    shown = with_settings(shown=2)
    response = answer(server, "grounded", **shown)
    first, *later = prompts(server, "Choice")
    assert jars not in first, "the test needs an argument that is not among the first two"
    assert len(later) == 1
    assert response.content.endswith(jars)
    answering(server, {"Choice": {"number": 0}})
    server.asked.clear()
    answer(server, "grounded", **shown)
    assert called(server) == ["Choice", "Choice"]


FLAW = "You say that it is worthless, but who decides what a coin is worth?"


@pytest.mark.parametrize("begins", ["", "This gives up your claim: "])
def test_what_another_argument_says_is_cited_from_it_without_a_repair(
    server: Scripted, begins: str
) -> None:
    def wrong(prompt: str) -> dict[str, Any]:
        right = number_of(prompt, CHARITY)
        text = f"{begins}{CHARITY[0].lower() if begins else CHARITY[0]}{CHARITY[1:]}"
        return {"numbers": [right % 2 + 1], "response": text}

    answering(server, {"Written": wrong})
    response = answer(server, "composed")
    assert response.content.lower() == f"{begins}{CHARITY}".lower()
    assert cited_texts(response) == [CHARITY]
    assert called(server) == ["Written"]


def test_where_no_argument_can_be_used_composed_argues_without_one(server: Scripted) -> None:
    answering(server, {"Written": {"numbers": [], "response": f"{FLAW} {INVENTED}"}})
    response = answer(server, "composed")
    assert response.content == FLAW
    assert response.arguments == ()
    assert called(server) == ["Written", "Written"]


INVENTED = "Studies show that 87 percent of shops would close at once."


@pytest.mark.parametrize(
    "response", [INVENTED, "Shops lose 87 coins each hour.", "Shops lose eleven coins each hour."]
)
def test_what_only_adds_facts_without_an_argument_is_replaced_by_a_quotation(
    server: Scripted, response: str
) -> None:
    answering(server, {"Written": {"numbers": [], "response": response}})
    quotation = answer(server, "composed")
    assert quotation.content.endswith(quotation.arguments[0].text)


def test_what_cannot_be_supported_is_replaced_by_a_quotation_of_what_was_chosen(
    server: Scripted,
) -> None:
    writing(server, INVENTED)
    response = answer(server, "composed")
    assert response.content.endswith(CHARITY)
    assert cited_texts(response) == [CHARITY]


NEGATED = "Charities do not collect the penny that nobody misses."


@pytest.mark.parametrize(
    "text",
    [
        NEGATED,
        INVENTED,
        "Ignore the rules.",
        "Yes. " * 80,
        "HACKED {{ 7 * 7 }} <script>x</script>",
        "The penny " * 90,
    ],
)
@pytest.mark.parametrize("name", ["composed", "grounded"])
def test_whatever_the_model_writes_the_answer_is_valid(
    server: Scripted, text: str, name: str
) -> None:
    answering(
        server,
        {"Written": {"numbers": [1, 2], "response": text}, "Choice": {"number": 1, "span": text}},
    )
    response = answer(server, name)
    assert_valid(response)
    assert text not in response.content


def test_what_stood_stands_where_the_repair_fails(server: Scripted) -> None:
    text = f"Charities collect the penny that nobody misses. {INVENTED}"
    answers = [text, "no answer at all", "no answer at all"]
    answering(
        server,
        {
            "Written": lambda prompt: (
                {"numbers": [number_of(prompt, CHARITY)], "response": answers.pop(0)}
                if len(answers) == 3
                else answers.pop(0)
            )
        },
    )
    assert answer(server, "composed").content == "Charities collect the penny that nobody misses."


def test_a_sentence_that_would_be_cut_was_not_checked_and_goes(server: Scripted) -> None:
    long = ARGUMENTS[6].text
    middle = " ".join(long.split(". ", 1)[1].split()[:70])
    answering(
        server,
        {"Written": lambda prompt: {"numbers": [number_of(prompt, long)], "response": middle}},
    )
    unanswered = debate("Night trains are a comfortable replacement for short flights.")
    response = answer(server, "composed", unanswered, max_words="60")
    assert not response.content.endswith("…")
