"""Stance: real NLI cross-encoders (tiny, made here), and a language model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrieval.index.pisa import PisaArguments
from retrieval.stance import Stance
from retrieval.stance.backend import backend
from retrieval.stance.nli import Nli, Rows, rows_of
from tests.nli import always
from tests.retrieval.small import opened
from touche_rad.debate import Argument
from touche_rad.errors import OptionError, UserError
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


def _sums_to_one(stance: Stance) -> bool:
    return stance.same + stance.opposite + stance.unrelated == pytest.approx(1.0)


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that is always quite sure that the premise entails the hypothesis."""
    return always(tmp_path_factory.mktemp("nli"), "ENTAILMENT", 3.0)


@pytest.mark.services
def test_an_nli_model_is_read_by_its_own_labels(nli: Path) -> None:
    (found,) = backend(f"nli:{nli}").stances(SAID, [AGAINST])
    (other,) = backend(f"nli:{nli}").stances("\ud800", [OTHER])
    assert _sums_to_one(found)
    assert _sums_to_one(other)
    # What entails both claims alike is on neither side: half for each, and little is unrelated.
    assert found.against == pytest.approx(0.0, abs=1e-6)
    assert found.unrelated < 0.1
    assert backend(f"nli:{nli}").stances(SAID, []) == []


@pytest.mark.services
def test_a_hypothesis_of_which_something_may_be_cut_off_is_told(nli: Path) -> None:
    read = Nli(str(nli))
    assert read.reads_whole(SAID)
    assert not read.reads_whole("coin " * 300)


@pytest.mark.parametrize(
    ("labels", "rows"),
    [
        (("entailment", "neutral", "contradiction"), (0, 2, 1)),
        (("CONTRADICTION", "ENTAILMENT", "NEUTRAL"), (1, 0, 2)),
        (("contradicts", "entails"), (1, 0, None)),
        (("entailment", "not_entailment"), (0, None, 1)),
        (("Non-Entailment", "Entailment"), (1, None, 0)),
        (("NOT ENTAILED", "entailed"), (1, None, 0)),
        (("not_contradiction", "contradiction"), None),
        (("neutral", "entailment"), None),
        (("LABEL_0", "LABEL_1", "LABEL_2"), None),
        (("entailment", "entails", "contradiction"), None),
        (("entailment",), None),
    ],
)
def test_labels_of_nli_are_known_in_their_common_spellings(
    labels: tuple[str, ...], rows: tuple[int | None, ...] | None
) -> None:
    assert rows_of(dict(enumerate(labels))) == (Rows(*rows) if rows else None)


@pytest.mark.services
def test_what_is_no_nli_model_is_told() -> None:
    with pytest.raises(UserError, match="there is no such folder"):
        backend("nli:nowhere")
    with pytest.raises(OptionError, match="there is no stance backend 'rule'"):
        backend("rule")


def test_a_language_model_is_asked_once_for_all_candidates(zoos: PisaArguments) -> None:
    import re

    from tests.models import scripted
    from tests.test_prompt_formats import missing
    from touche_rad.models.errors import InvalidAnswer

    def judged(handler: Any) -> None:
        asked = handler.body["messages"][-1]["content"]
        numbered = dict(re.findall(r"^(\d+)\. (.*)$", asked, re.MULTILINE))
        sides = {AGAINST.text: "opposite", FOR.text: "same", OTHER.text: "unrelated"}
        told = [{"number": int(at), "position": sides[text]} for at, text in numbered.items()]
        scripted.content(json.dumps({"positions": told}))(handler)

    with scripted.serving() as server:
        server.always = judged
        asked = {"of": "text", "by": f"model:{server.url}#tiny", "weight": "2"}
        hits = find("retriever", "stance").make(Services(index=zoos), asked).search(SAID, 5)
        assert hits[0].argument.id == "1"
        assert hits[0].path[-1] == "same 0.05, opposite 0.90"
        assert len(server.asked) == 1
        system, user = server.asked[0]["messages"]
        assert SAID in user["content"]
        assert SAID not in system["content"]
        # The server lets a model that finds no end write no more positions than were asked for.
        schema = server.asked[0]["response_format"]["json_schema"]["schema"]
        positions = schema["properties"]["positions"]
        shown = len(re.findall(r"^\d+\. ", user["content"], re.MULTILINE))
        assert positions["minItems"] == positions["maxItems"] == shown == 2
        assert list(missing(f"{system['content']}\n{user['content']}", schema)) == []
        stances = backend(f"model:{server.url}#tiny").stances(SAID, [FOR, OTHER])
        assert [stance.against < 0 for stance in stances] == [True, False]
        assert stances[1].unrelated > 0.8
        server.always = scripted.content('{"positions": []}')
        (unknown,) = backend(f"model:{server.url}#tiny").stances(SAID, [FOR])
        assert unknown.against == 0
        server.always = scripted.content("I will not.")
        with pytest.raises(InvalidAnswer):
            backend(f"model:{server.url}#tiny").stances(SAID, [FOR])
