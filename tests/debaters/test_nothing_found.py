"""What `grounded` never says: the words of either side; and what it says if nothing is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from judges.grice.grounded import GroundedJudge
from tests.debaters.world import PENNY, WORTH, WORTHLESS, BothSides, argument, debate
from tests.terminal import touche_rad
from touche_rad.debate import NOTHING_FOUND, Argument, Debate, Response
from touche_rad.debaters.grounded import Grounded
from touche_rad.evidence.support import Earlier
from touche_rad.plugins import Services, open_index
from touche_rad.runs.answering import guard
from touche_rad.text import count_words

PINEAPPLE = "Pineapple does not belong on pizza"
NOTHING = Response(content=NOTHING_FOUND)
USER = (
    "When the worthless penny fills every jar in every kitchen, cash is a burden for shops, and"
    " mints lose money on each coin that they strike."
)
JUDGE = GroundedJudge(GroundedJudge.Options(), Services())


def grounded(*texts: str, floor: float = 0) -> Grounded:
    arguments = [argument(n, PENNY, WORTHLESS, WORTH, text) for n, text in enumerate(texts)]
    return Grounded(Grounded.Options(floor=floor), Services(index=BothSides(arguments)))


@pytest.fixture(scope="module")
def demo(first_topics: Path) -> Services:
    return Services(index=open_index(str(first_topics)))


@pytest.mark.parametrize(
    "message",
    [
        PINEAPPLE,
        f"{PINEAPPLE}!",
        f"I believe: {PINEAPPLE.lower()}.",
        f"{PINEAPPLE}. That is my honest opinion.",
        "Television is bad.",
    ],
)
def test_a_claim_that_the_collection_does_not_cover_is_answered_with_one_honest_sentence(
    demo: Services, message: str
) -> None:
    unanswered = Debate().with_utterance(message)
    assert Grounded(Grounded.Options(), demo).answer(unanswered) == NOTHING
    assert Grounded(Grounded.Options(floor=0), demo).answer(unanswered).arguments


def test_the_floor_is_of_the_common_words_relative_to_both_lengths() -> None:
    """The message has five words, and so has the argument with its claim; two are common."""
    unanswered = debate("The worthless penny fills jars and drawers.")
    charity = "Charities collect the penny that nobody misses."
    assert grounded(charity, floor=0.39).answer(unanswered).arguments
    assert grounded(charity, floor=0.41).answer(unanswered) == NOTHING


def test_each_candidate_that_cannot_be_quoted_has_a_reason() -> None:
    charity = "Charities collect the penny that nobody misses."
    faults = {
        charity: "",
        f"{USER} {charity}": "repeats the debate or a better candidate",
        "They miss no penny.": "unclear without its context",
        "Penny jars help " * 40: "too long to be quoted whole",
    }
    assert {row.text: row.fault for row in grounded(*faults).explain(debate(USER))} == faults


def test_a_claim_that_the_collection_covers_is_answered(demo: Services) -> None:
    for claim in ("Zoos should be closed.", "Tipping should be abolished.", "Zoos are cruel."):
        assert Grounded(Grounded.Options(), demo).answer(Debate().with_utterance(claim)).arguments


OFF_TOPIC = Path(__file__).with_name("off_topic.txt").read_text("utf-8").splitlines()
"""Claims outside the demo's first 18 topics; the last 15 were written after the rules."""
ON_TOPIC = Path(__file__).with_name("on_topic.tsv").read_text("utf-8").splitlines()
"""Claims on each of its topics, with the number of the topic."""


def test_most_claims_off_the_topics_get_nothing_and_seldom_a_judge_that_is_content(
    demo: Services,
) -> None:
    debater = Grounded(Grounded.Options(), demo)
    careless = Grounded(Grounded.Options(floor=0), demo)  # it always quotes an argument
    judge = GroundedJudge(GroundedJudge.Options(), demo)
    found = []
    accepted = []
    for claim in OFF_TOPIC:
        unanswered = Debate().with_utterance(claim)
        if debater.answer(unanswered) != NOTHING:
            found.append(claim)
        verdicts = judge.judge(unanswered.with_response(careless.answer(unanswered)))
        if all(verdict.yes for verdict in verdicts.values()):
            accepted.append(claim)
    assert len(found) <= 0.2 * len(OFF_TOPIC), found
    assert len(accepted) <= 0.12 * len(OFF_TOPIC), accepted


def test_claims_on_the_topics_are_answered_on_the_topic(demo: Services) -> None:
    debater = Grounded(Grounded.Options(), demo)
    missed = []
    for line in ON_TOPIC:
        topic, claim = line.split("\t")
        cited = debater.answer(Debate().with_utterance(claim)).arguments
        if not cited or not cited[0].id.startswith(f"{topic}."):
            missed.append(claim)
    assert len(missed) <= 0.05 * len(ON_TOPIC), missed


def test_an_honest_answer_gets_yes_on_manner_only() -> None:
    text = "Paper bags consume timber and water."
    off_topic = debate("Zoos should be closed.").with_response(
        Response(content=text, arguments=(Argument(id="1", text=text),))
    )
    honest = debate("Zoos should be closed.").with_response(NOTHING)
    for answered, yes in ((honest, ["manner"]), (off_topic, ["quality", "manner"])):
        verdicts = JUDGE.judge(answered)
        assert [key for key, verdict in verdicts.items() if verdict.yes] == yes


def changed(text: str) -> list[str]:
    ways = {"quoted": '"{}"'.format, "upper case": str.upper}
    return [new for change in ways.values() if (new := change(text))]


@pytest.mark.parametrize("echo", changed(USER))
def test_the_users_words_are_never_quoted(echo: str) -> None:
    counter = "Charities collect the penny that nobody misses."
    for unanswered in (
        debate(USER),
        debate(USER, "No.", "The worthless penny should be abolished."),
    ):
        assert grounded(echo).answer(unanswered) == NOTHING
        assert grounded(echo, counter).answer(unanswered).content.endswith(counter)


def test_an_argument_that_contradicts_the_user_in_the_users_words_is_quoted() -> None:
    text = "The penny is not a burden for any shop, and no kitchen jar is full of pennies."
    unanswered = debate(
        "The penny is a burden for every shop, and each kitchen jar is full of pennies."
    )
    assert grounded(text).answer(unanswered).arguments


@pytest.mark.parametrize("message", ["The penny is worthless.", "Night trains are quiet and slow."])
def test_in_five_turns_nothing_is_said_twice_and_then_that_nothing_is_left(message: str) -> None:
    debater = Grounded(Grounded.Options(floor=0), Services(index=BothSides()))
    count, texts = len(list(BothSides().arguments())), []
    for _ in range(count + 2):
        texts.append(message)
        response = debater.answer(debate(*texts))
        if response != NOTHING:
            quoted = response.content.partition(": ")[2] or response.content
            assert not Earlier(texts).has(quoted)
        texts.append(response.content)
    assert texts[-1] == NOTHING_FOUND
    assert NOTHING_FOUND not in texts[:6]


def test_the_sentence_is_valid_everywhere(demo_index_path: Path) -> None:
    assert count_words(NOTHING_FOUND) <= 25
    assert guard(NOTHING, BothSides(), 60) == (NOTHING, ())
    claims = Path("claims.tsv")
    claims.write_text(f"TOPIC_DESCRIPTION\tUSER\n{PINEAPPLE}\trules\n")
    run, index = Path("run.jsonl"), ("-i", demo_index_path)
    touche_rad("simulate -d grounded", claims, "-o", run, *index)
    assert NOTHING_FOUND in run.read_text("utf-8")
    lines = touche_rad("check", run, *index, code=None).out.splitlines()
    faults = [line for line in lines if line.startswith("fault")]
    assert all("demo index" in line for line in faults), "citing nothing is only a warning"
    for warning in ("nothing is cited", "no argument is found"):
        assert any(line.startswith("warning") and warning in line for line in lines)


def test_a_long_collection_of_echoes_is_passed_over() -> None:
    """The new argument stands behind many that repeat the user."""
    texts = [f"{USER} {number}" for number in range(9)]
    response = grounded(*texts, "The penny helps charities.").answer(debate(USER))
    assert isinstance(response.arguments[0], Argument)
    assert response.arguments[0].text == "The penny helps charities."
