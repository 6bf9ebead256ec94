"""Which side an argument is on, where a stance model says it: its word is added to the score."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.debaters.test_with_a_model import answer, number_of
from tests.debaters.world import ARGUMENTS, PENNY, WORTH, WORTHLESS, BothSides, debate
from tests.models import scripted
from tests.models.by_schema import answering, prompts
from tests.nli import taught
from tests.profiles import with_settings
from touche_rad.debaters.grounded import Grounded
from touche_rad.errors import UserError
from touche_rad.plugins import Services, find

SAID = "The penny is a burden on everyone."
"""Both claims share the same words with it: words alone cannot tell its side."""
PLAIN = {"frame": "false", "k": "50", "floor": "0"}


def entailing(folder: Path, said: str, contradicted: str) -> Path:
    pairs = [(SAID, said, "ENTAILMENT"), (SAID, contradicted, "contradiction")]
    return taught(folder, pairs)


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An NLI model that knows that who says this finds the penny worthless."""
    return entailing(tmp_path_factory.mktemp("knowing"), WORTHLESS, WORTH)


@pytest.fixture(scope="module")
def contrary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that has it the other way round."""
    return entailing(tmp_path_factory.mktemp("contrary"), WORTH, WORTHLESS)


def make_grounded(**options: str) -> Grounded:
    loaded = find("debater", "grounded").make(Services(index=BothSides()), {**PLAIN, **options})
    assert isinstance(loaded.instance, Grounded)
    return loaded.instance


def sides(debater: Grounded) -> dict[str, float]:
    """What was added for its side to each argument about the penny."""
    rows = [row for row in debater.explain(debate(SAID)) if row.topic == PENNY]
    return {
        row.id: row.features["against"].adds if "against" in row.features else 0.0 for row in rows
    }


@pytest.mark.services
def test_who_speaks_against_the_user_comes_up_and_who_agrees_goes_down(knowing: Path) -> None:
    side_of = sides(make_grounded(stance=f"nli:{knowing}"))
    assert side_of["7.2"] < 0, "it supports what the user says"
    assert min(value for name, value in side_of.items() if name != "7.2") > 0


@pytest.mark.services
def test_the_answer_hangs_on_the_side(knowing: Path, contrary: Path) -> None:
    assert make_grounded(stance=f"nli:{knowing}").answer(debate(SAID)).arguments[0].id != "7.2"
    assert make_grounded(stance=f"nli:{contrary}").answer(debate(SAID)).arguments[0].id == "7.2"


@pytest.mark.services
def test_only_the_best_candidates_are_read(knowing: Path) -> None:
    debater = make_grounded(stance=f"nli:{knowing}", **with_settings(judged=1))
    words = make_grounded().explain(debate(SAID))
    assert [name for name, adds in sides(debater).items() if adds] == [words[0].id]


@pytest.mark.services
def test_a_model_that_breaks_leaves_the_words(
    knowing: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    debater = make_grounded(stance=f"nli:{knowing}")

    def breaks(*_: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr("retrieval.stance.nli.Nli.read", breaks)
    with caplog.at_level(logging.WARNING, "touche_rad"):
        assert debater.answer(debate(SAID)) == make_grounded().answer(debate(SAID))
    assert "out of memory" in caplog.text


@pytest.mark.services
def test_composed_is_shown_those_against_the_user_first(knowing: Path, contrary: Path) -> None:
    shown = []
    for model in (knowing, contrary):
        with scripted.serving() as server:
            answering(server, {"Written": {"numbers": [1], "response": "No."}})
            answer(server, "composed", debate(SAID), stance=f"nli:{model}")
            shown.append(number_of(prompts(server, "Written")[0], ARGUMENTS[1].text))
    assert shown[1] < shown[0]


@pytest.mark.parametrize("name", ["nil:x", "nli:", "model"])
def test_a_wrong_name_is_told(name: str) -> None:
    with pytest.raises((ValidationError, UserError), match="stance"):
        make_grounded(stance=name)
