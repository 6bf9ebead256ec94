"""The guard: which sentences a model must write again, and which it never must."""

from __future__ import annotations

import pytest

from tests.debaters.test_with_a_model import CHARITY, answer, number_of, writing
from tests.debaters.world import ARGUMENTS, FOR_PENNY, BothSides, argument, cited_texts, debate
from tests.models.by_schema import answering, called, last_message
from tests.models.scripted import Scripted

SAID = "The penny is worthless, coins have no use, and clutter does NOT matter."
TINS = "Charities (and a few shops) collect the penny, which nobody misses, in tins at each till."
HANDS = "Nobody owns a coin for long, and a penny passes through many hands."
ASKED = "Shoppers generally are never asked to give up a penny of their own."
MAY = "A charity may keep each penny that a shopper drops into the tin."
THIS = "Tins collect the penny, and this pays for blankets."
TEN = "Ten shops of a street keep the penny in the till of the Royal Mint."
WORTHY = "The penny is not worthless, because shoppers count with it."
WASTE = "Pennies are not a waste but a help to charities."
USELESS = "A penny is not useless, because shoppers count with it."


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (TINS, "Charities collect the penny, which nobody misses, in tins at each till."),
        (TINS, "Charities (and a few shops) collect the penny in tins at each till."),
        (TINS, "Charities collect the penny, which nobody misses."),
        (TINS, "You say that the penny is worthless, but charities collect the penny in tins."),
        (TINS, "You assume that coins have no use: charities collect the penny, in tins."),
        (TINS, "You overlook that charities collect the penny, which nobody misses."),
        (TINS, "You deny that charities collect the penny, which nobody misses."),
        (TINS, "This contradicts your thesis: charities collect the penny, which nobody misses."),
        (TINS, "You now take my side. Charities collect the penny, which nobody misses."),
        (TINS, "That is not so. Clutter exists, but charities collect the penny."),
        (TINS, "You give no evidence that coins are clutter. Charities collect the penny in tins."),
        (TINS, "Who says so? Charities collect the penny in tins at each till."),
        (
            TINS,
            'You say "coins have no use", yet charities collect the penny, which nobody misses.',
        ),
        (HANDS, "A penny passes through many hands, and nobody owns a coin for long."),
        (ASKED, "Shoppers are generally never asked to give up a penny."),
        (ASKED, "Shoppers are never asked to give up a penny of their own."),
        (MAY, "The tin lets a charity keep each penny that a shopper drops."),
        (THIS, "Tins collect the penny, and the collection pays for blankets."),
        (TEN, "Shops of a street keep the penny, in the till of the Royal Mint."),
        (WASTE, "Pennies are a help to charities."),
        (USELESS, "I disagree: a penny is not useless."),
    ],
)
def test_a_faithful_answer_is_never_repaired(server: Scripted, source: str, text: str) -> None:
    writing(server, text, cites=source)
    index = BothSides([argument(9, *FOR_PENNY, source), *ARGUMENTS])
    response = answer(server, "composed", debate(SAID), index)
    assert called(server) == ["Written"]
    assert response.content == text
    assert cited_texts(response) == [source]


@pytest.mark.parametrize(
    ("source", "text", "named"),
    [
        (TINS, "Charities collect the penny in 40 tins at each till.", "40"),
        (TINS, "Charities collect the penny in eleven tins at each till.", "eleven"),
        (TINS, "You say that 90 coins are worthless, but charities collect the penny.", "90"),
        (TINS, "Studies show that charities collect the penny, which nobody misses.", "studies"),
        (TINS, "You overlook that experts say that charities collect the penny.", "experts"),
        (TINS, "Charities in Sweden collect the penny, which nobody misses.", "Sweden"),
        (TINS, "Finland tried this, and charities collect the penny at each till.", "Finland"),
        (TINS, 'You say "pennies are evil", but charities collect the penny.', "pennies are evil"),
        (TINS, "Charities do not collect the penny, which nobody misses.", ""),
        (TINS, "You overlook that charities do not collect the penny, which nobody misses.", ""),
        (TINS, "Charities collect the penny, which everybody misses, in tins at each till.", ""),
        (TINS, "It is not true that charities collect the penny, which nobody misses.", ""),
        (HANDS, "Everybody owns a coin for long, and a penny passes through many hands.", ""),
        (ASKED, "Shoppers generally are asked to give up a penny of their own.", ""),
        (USELESS, "A penny is useless, because shoppers count with it.", ""),
        (WORTHY, "The penny is worthless, because shoppers count with it.", ""),
        (USELESS, "Farmers plant wheat in spring and harvest it before the rain.", ""),
    ],
)
def test_an_answer_that_adds_or_denies_is_always_repaired(
    server: Scripted, source: str, text: str, named: str
) -> None:
    writing(server, text, source, cites=source)
    index = BothSides([argument(9, *FOR_PENNY, source), *ARGUMENTS])
    response = answer(server, "composed", debate(SAID), index)
    assert called(server) == ["Written", "Written"]
    request = last_message(server.asked[1])
    assert f'"{text}"' in request
    assert f"“{named}”" in request if named else f'"{source}"' in request
    assert response.content == source


INVENTED = "Studies show that 87 percent of shops would close at once."
QUOTED = "Charities collect the penny that nobody misses."


@pytest.mark.parametrize(
    ("first", "second", "sent"),
    [
        (f"{QUOTED} {INVENTED}", "Coins fill 30 tins in Sweden.", QUOTED),
        (f"{QUOTED} {INVENTED}", f"{INVENTED} {QUOTED} {INVENTED}", QUOTED),
        (f"{QUOTED} {INVENTED}", "Yes.", QUOTED),
        (f"{QUOTED} {INVENTED} This hurts each town.", INVENTED, QUOTED),
        (f"{INVENTED} This hurts the charities and their tins.", INVENTED, CHARITY),
        (f"{QUOTED} {INVENTED}", CHARITY, CHARITY),
    ],
    ids=["other faults", "more", "nothing", "a reference", "only a reference", "better"],
)
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
