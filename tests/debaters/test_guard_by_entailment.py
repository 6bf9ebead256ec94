"""What lets a sentence stand that is no quotation: an NLI model, or the language model's word."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from retrieval.stance.nli import Nli
from tests.debaters.test_with_a_model import CHARITY, INVENTED, NEGATED, answer, writing
from tests.debaters.world import ARGUMENTS, cited_texts
from tests.models.by_schema import answering, called, prompts
from tests.models.scripted import Scripted
from tests.nli import always, taught
from tests.refusals import expect_error
from touche_rad.calls import call_context
from touche_rad.debaters.composed._debater import ByNli
from touche_rad.errors import OptionError
from touche_rad.evidence.guard import CheckedAnswer, Guard, SentenceFault

QUOTED = "Charities collect the penny that nobody misses."
FOLLOWS = "Small change is of use to those who help."
BESIDE = "Copper mines would have to close their gates."
TOLD_OTHERWISE = [NEGATED, INVENTED]


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An NLI model that knows which of our sentences follows, and from what."""
    other_texts = [argument.text for argument in ARGUMENTS if argument.text != CHARITY]
    return taught(
        tmp_path_factory.mktemp("knowing"),
        [
            (CHARITY, FOLLOWS, "ENTAILMENT"),
            (FOLLOWS, CHARITY, "neutral"),
            (CHARITY, BESIDE, "neutral"),
            (BESIDE, CHARITY, "neutral"),
            *((text, FOLLOWS, "neutral") for text in other_texts),
        ],
    )


@pytest.fixture(scope="module")
def credulous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An NLI model that finds everything entailed, with a probability of .69."""
    return always(tmp_path_factory.mktemp("credulous"), "ENTAILMENT", 1.5)


def verdicts(*entailed: str) -> dict[str, Any]:
    """The model's answer about sentences."""
    return {"checks": [{"missing": "", "entailed": word} for word in entailed]}


@pytest.mark.services
@pytest.mark.parametrize("text", [f"{QUOTED} {FOLLOWS}", FOLLOWS])
def test_an_entailed_sentence_stands_without_a_second_call(
    server: Scripted, knowing: Path, text: str
) -> None:
    writing(server, text)
    response = answer(server, "composed", guard=f"nli:{knowing}")
    assert response.content == text
    assert cited_texts(response) == [CHARITY]
    assert called(server) == ["Written"]


@pytest.mark.services
def test_it_stays_by_default_and_goes_where_another_argument_is_cited(
    server: Scripted, knowing: Path
) -> None:
    writing(server, f"{QUOTED} {FOLLOWS}")
    assert answer(server, "composed").content == f"{QUOTED} {FOLLOWS}"
    rounded = ARGUMENTS[0].text
    writing(server, f"{FOLLOWS} {rounded}", cites=rounded)
    assert answer(server, "composed", guard=f"nli:{knowing}").content == rounded


@pytest.mark.services
@pytest.mark.parametrize(("sure", "stands"), [("0.6", True), ("0.8", False)])
def test_how_sure_it_must_be_is_an_option(
    server: Scripted, credulous: Path, sure: str, stands: bool
) -> None:
    writing(server, f"{QUOTED} {BESIDE}")
    response = answer(server, "composed", guard=f"nli:{credulous}", sure=sure)
    assert (BESIDE in response.content) is stands


@pytest.mark.services
def test_an_nli_model_may_have_two_labels_and_one_of_them_must_be_entailment(
    server: Scripted,
) -> None:
    labels = ("not_entailment", "entailment")
    model = always(Path("entailment"), "entailment", 3.0, labels)
    writing(server, f"{QUOTED} {BESIDE}")
    assert BESIDE in answer(server, "composed", guard=f"nli:{model}").content
    labels = ("not_contradiction", "contradiction")
    no_entailment = always(Path("contradiction"), "not_contradiction", 3.0, labels)
    message = "not_contradiction, contradiction"
    with expect_error(message):
        answer(server, "composed", guard=f"nli:{no_entailment}")


@pytest.mark.services
@pytest.mark.parametrize("sentence", TOLD_OTHERWISE)
def test_what_turns_an_argument_around_goes_whoever_finds_it_entailed(
    server: Scripted, credulous: Path, sentence: str
) -> None:
    writing(server, f"{QUOTED} {sentence}", entailed=verdicts("yes"))
    assert answer(server, "composed", guard=f"nli:{credulous}", sure="0.5").content == QUOTED
    assert answer(server, "composed", guard="model").content == QUOTED


@pytest.mark.services
def test_an_nli_model_that_fails_lets_nothing_stand(
    server: Scripted, credulous: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("no memory is left")

    monkeypatch.setattr(Nli, "read", fails)
    writing(server, f"{QUOTED} {BESIDE}")
    response = answer(server, "composed", guard=f"nli:{credulous}", sure="0.5")
    assert response.content == QUOTED


@pytest.mark.services
def test_an_nli_model_that_hangs_is_not_waited_for(
    credulous: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = threading.Event()
    monkeypatch.setattr(Nli, "read", lambda *_: done.wait())

    async def checked() -> CheckedAnswer:
        guard = Guard(ByNli(str(credulous), 0.5))
        with call_context(deadline=time.monotonic() + 0.2):
            return await guard.checked(f"{QUOTED} {BESIDE}", [CHARITY])

    try:
        assert anyio.run(checked).faults == [SentenceFault(BESIDE, "support")]
    finally:
        done.set()


def test_the_model_is_asked_only_of_what_is_no_quotation(server: Scripted) -> None:
    writing(server, f"{QUOTED} {FOLLOWS} {BESIDE}", entailed=verdicts("yes", "no"))
    response = answer(server, "composed", guard="model")
    assert response.content == f"{QUOTED} {FOLLOWS}"
    assert called(server) == ["Written", "Entailments"]
    (prompt,) = prompts(server, "Entailments")
    assert f"1. {FOLLOWS}\n2. {BESIDE}" in prompt
    assert f"- {CHARITY}" in prompt
    assert QUOTED not in prompt


@pytest.mark.parametrize(
    "entailed",
    [RuntimeError(), "yes", verdicts("maybe"), verdicts("yes", "yes"), verdicts(), {"checks": [7]}],
    ids=["down", "no JSON", "no such word", "too many", "none", "no words"],
)
def test_without_a_valid_answer_nothing_is_entailed(server: Scripted, entailed: Any) -> None:
    writing(server, f"{QUOTED} {BESIDE}", entailed=entailed)
    assert answer(server, "composed", guard="model").content == QUOTED
    assert "Written" not in called(server)[1:]


def test_without_a_citation_only_additions_are_faults_and_nobody_is_asked(server: Scripted) -> None:
    answering(server, {"Written": {"numbers": [], "response": f"{BESIDE} {INVENTED}"}})
    assert answer(server, "composed", guard="model").content == BESIDE
    assert called(server) == ["Written"]


def test_a_wrong_guard_is_told_before_any_turn(server: Scripted) -> None:
    writing(server, QUOTED)
    with expect_error("guard='nli:'", OptionError):
        answer(server, "composed", guard="nli:")
    with expect_error("guard='entailment'", OptionError):
        answer(server, "composed", guard="entailment")
    assert not server.asked


@pytest.mark.services
def test_a_missing_guard_model_is_an_error_before_any_turn(server: Scripted) -> None:
    writing(server, QUOTED)
    with expect_error("'nowhere'"):
        answer(server, "composed", guard="nli:nowhere")
    assert not server.asked
