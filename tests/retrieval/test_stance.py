"""Stance: real NLI cross-encoders (tiny, made here), and a language model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from retrieval.index.pisa import PisaArguments
from retrieval.stance import Stance
from retrieval.stance.backend import backend
from retrieval.stance.nli import Nli, Rows, rows_of
from tests.cases import with_cases
from tests.models import scripted
from tests.models.by_schema import form_of, last_message
from tests.models.scripted import Scripted
from tests.nli import always
from tests.refusals import expect_error
from tests.retrieval.small import opened
from tests.test_prompt_formats import missing
from touche_rad.debate import Argument
from touche_rad.models.errors import InvalidAnswer
from touche_rad.plugins import Services, find

HARM = "Zoos should be closed because they harm animals."
HELP = "Zoos should not be closed because they help animals."
SPECIES = "Zoos save species from dying out."
AGAINST = Argument(id="1", topic="Zoos", text=SPECIES, attacks=HARM, supports=HELP)
FOR = Argument(id="2", topic="Zoos", text="Animals in zoos suffer.", attacks=HELP, supports=HARM)
OTHER = Argument(
    id="3",
    text="Night trains are slow.",
    attacks="Night trains save time.",
    supports="Night trains waste time.",
)
SAID = "I think that zoos harm their animals and should be closed."


@pytest.fixture(scope="module")
def zoos(tmp_path_factory: pytest.TempPathFactory) -> PisaArguments:
    return opened((AGAINST, FOR, OTHER), tmp_path_factory.mktemp("zoos") / "ix")


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that is always quite sure that the premise entails the hypothesis."""
    return always(tmp_path_factory.mktemp("nli"), "ENTAILMENT", 3.0)


@pytest.mark.services
def test_an_nli_model_is_read_by_its_own_labels(nli: Path) -> None:
    model = backend(f"nli:{nli}")
    stances = [*model.stances(SAID, [AGAINST]), *model.stances("\ud800", [OTHER])]
    sums = [stance.same + stance.opposite + stance.unrelated for stance in stances]
    assert sums == pytest.approx([1.0, 1.0])
    # What entails both claims alike is on neither side: half for each, and little is unrelated.
    assert stances[0].against == pytest.approx(0.0, abs=1e-6)
    assert stances[0].unrelated < 0.1
    assert model.stances(SAID, []) == []


@pytest.mark.services
def test_a_hypothesis_of_which_something_may_be_cut_off_is_not_read_whole(nli: Path) -> None:
    model = Nli(str(nli))
    assert model.reads_whole(SAID)
    assert not model.reads_whole("coin " * 300)


@with_cases(("labels", "rows"), "retrieval/labels_of_nli.json")
def test_labels_of_nli_are_known_in_their_common_spellings(
    labels: tuple[str, ...], rows: tuple[int | None, ...] | None
) -> None:
    assert rows_of(dict(enumerate(labels))) == (Rows(*rows) if rows else None)


@pytest.mark.parametrize("name", ["rule", "nli:", "nli:nowhere"])
def test_an_unknown_backend_or_folder_is_named(name: str) -> None:
    with expect_error(name.removeprefix("nli:") or name):
        backend(name)


def judge_positions(handler: scripted.Handler) -> None:
    """Answer with the true position of each argument in the prompt."""
    prompt = last_message(handler.body)
    sides = {AGAINST.text: "opposite", FOR.text: "same", OTHER.text: "unrelated"}
    positions = [
        {"number": int(number), "position": sides[text]}
        for number, text in re.findall(r"^(\d+)\. (.*)$", prompt, re.MULTILINE)
    ]
    scripted.content(json.dumps({"positions": positions}))(handler)


@pytest.fixture
def judging(server: Scripted) -> Scripted:
    server.always = judge_positions
    return server


def test_a_language_model_is_asked_once_for_all_candidates(
    judging: Scripted, zoos: PisaArguments
) -> None:
    options = {"of": "text", "by": f"model:{judging.url}#tiny", "weight": "2"}
    hits = find("retriever", "stance").make(Services(index=zoos), options).search(SAID, 5)
    assert hits[0].argument.id == "1"
    assert hits[0].path[-1] == "same 0.05, opposite 0.90"
    assert len(judging.asked) == 1


def test_the_prompt_shows_each_argument_and_the_schema_has_as_many_positions(
    judging: Scripted,
) -> None:
    backend(f"model:{judging.url}#tiny").stances(SAID, [FOR, OTHER])
    system, user = judging.asked[0]["messages"]
    assert SAID in user["content"]
    assert SAID not in system["content"]
    # The server lets a model that finds no end write no more positions than were asked for.
    schema = form_of(judging.asked[0])
    positions = schema["properties"]["positions"]
    assert len(re.findall(r"^\d+\. ", user["content"], re.MULTILINE)) == 2
    assert positions["minItems"] == 2
    assert positions["maxItems"] == 2
    assert list(missing(f"{system['content']}\n{user['content']}", schema)) == []


def test_a_language_model_tells_the_side(judging: Scripted) -> None:
    model = backend(f"model:{judging.url}#tiny")
    agreeing, unrelated = model.stances(SAID, [FOR, OTHER])
    assert agreeing.against < -0.8
    assert unrelated.against == 0
    assert unrelated.unrelated > 0.8
    assert model.stances(SAID, []) == []


def test_a_position_that_the_model_leaves_out_is_unknown(server: Scripted) -> None:
    server.always = scripted.content('{"positions": []}')
    (unknown,) = backend(f"model:{server.url}#tiny").stances(SAID, [FOR])
    assert unknown == Stance(1 / 3, 1 / 3, 1 / 3)


def test_an_answer_without_positions_is_invalid(server: Scripted) -> None:
    server.always = scripted.content("I will not.")
    with pytest.raises(InvalidAnswer):
        backend(f"model:{server.url}#tiny").stances(SAID, [FOR])
