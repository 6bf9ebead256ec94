"""A stance model of one's own: what it begins with, that it learns, and that a kill loses nothing.

The bases are real and tiny: it is the way that is tested, and that what was learnt on some topics
helps on others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval._tasks import split_of
from retrieval.stance import Stance
from retrieval.stance.backend import backend
from retrieval.stance.nli import Nli
from retrieval.stance.training import batches
from tests.nli import LABELS, by_chance
from tests.retrieval.collection_trainers import TrainerTests
from tests.retrieval.small import opened
from tests.retrieval.trainings import DEMO, Training, changed, metrics, report, written
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.plugins import Services, find

STANCE = Training("stance", {"rate": 0.003, "batch": 16, "epochs": 8, "save_every": 25})
STILL = 1e-30
"""A rate at which no weight changes."""
THINGS = "zoo tram school park harbour bridge museum market library river garden theatre".split()


def _spoken() -> list[Argument]:
    """Who is glad of a thing is for keeping it, and who is sad is for closing it.

    Nothing but text and claim together tells which claim is attacked.
    """
    chance = random.Random(0)
    found = []
    for number in range(240):
        thing, glad = chance.choice(THINGS), bool(number % 2)
        keep, close = f"keep the {thing}", f"close the {thing}"
        record = {
            "id": str(number),
            "topic": f"Discussion {number // 6}",
            "text": f"{'glad' if glad else 'sad'} {thing} {chance.choice(THINGS)}",
            "attacks": close if glad else keep,
            "supports": keep if glad else close,
            "original": chance.choice(("attacks", "supports")),
        }
        found.append(Argument.model_validate(record))
    return found


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(_spoken(), tmp_path_factory.mktemp("spoken"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder of two layers by chance, without a head."""
    base = by_chance(tmp_path_factory.mktemp("tiny"), num_hidden_layers=2)
    return _without_head(base)


def _without_head(base: Path) -> Path:
    from safetensors.torch import load_file, save_file

    config = json.loads((base / "config.json").read_text())
    for key in ("id2label", "label2id", "architectures", "num_labels"):
        config.pop(key, None)
    (base / "config.json").write_text(json.dumps(config))
    weights = base / "model.safetensors"
    kept = {key: value for key, value in load_file(weights).items() if "classifier" not in key}
    save_file(kept, weights, metadata={"format": "pt"})
    return base


@pytest.fixture(scope="module")
def trained(spoken: Path, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "stance"
    assert STANCE.train(spoken, out, tiny)["resumed"] is False
    return out


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """An NLI model that is stored in half precision."""
    from transformers import AutoModelForSequenceClassification

    base = by_chance(tmp_path / "base")
    AutoModelForSequenceClassification.from_pretrained(base).half().save_pretrained(base)
    return base


def _stances(model: Path, arguments: Iterable[Argument]) -> list[Stance]:
    """Return the stance of each argument to its own text."""
    made = backend(f"trained:{model}")
    return [stance for one in arguments for stance in made.stances(one.text, [one])]


class TestTrainer(TrainerTests):
    training, use, fewest = STANCE, "trained:{}", 1


def _said(texts: Iterable[str]) -> list[Argument]:
    return [
        Argument(id=str(number), text=text, attacks="a", supports="b")
        for number, text in enumerate(texts)
    ]


@given(st.lists(st.text(max_size=40), min_size=1, max_size=90), st.integers(1, 9))
def test_an_epoch_has_each_argument_once_and_is_the_seeds(texts: list[str], size: int) -> None:
    arguments = _said(texts)
    found = list(batches(arguments, size, "0 0"))
    assert sorted(one.id for part in found for one in part) == sorted(one.id for one in arguments)
    assert all(1 <= len(part) <= size for part in found)
    assert len(found) == -(-len(arguments) // size)
    assert found == list(batches(arguments, size, "0 0"))


@pytest.mark.services
def test_it_learns_what_helps_on_topics_that_it_never_saw(trained: Path) -> None:
    told = report(trained)
    assert (told["begun"], told["chance"]) == ("chance", 0.5)
    card = (trained / "README.md").read_text()
    assert "Its head was initialised at random." in card
    assert f"| all | {told['before']} | {told['after']} | {told['claim_only']} |" in card
    assert f"-O by=trained:{trained}" in card
    assert told["after"] > 0.9
    assert told["after"] > told["before"] + 0.2
    assert told["after"] > told["claim_only"] + 0.2
    assert set(told["by_origin"]) == {"attacks", "supports"}
    assert all(set(row) == {"before", "after", "claim_only"} for row in told["by_origin"].values())


@pytest.mark.services
def test_the_folder_is_a_backend_of_the_retriever(trained: Path, tmp_path: Path) -> None:
    arguments = _spoken()
    unseen = [one for one in arguments if split_of(one.topic) == "test"]
    stances = _stances(trained, unseen)
    assert all(one.same + one.opposite + one.unrelated == pytest.approx(1) for one in stances)
    assert np.mean([one.against < 0 for one in stances]) == pytest.approx(
        report(trained)["after"], abs=1e-4
    )
    against = next(one for one in unseen if one.text.startswith("sad zoo"))
    index = opened(arguments, tmp_path / "index")
    chosen = {"of": "text", "by": f"trained:{trained}", "weight": "9"}
    said = "glad zoo"
    hits = find("retriever", "stance").make(Services(index=index), chosen).search(said, 5)
    assert all(hit.argument.attacks == against.attacks for hit in hits)


@pytest.mark.services
def test_a_training_that_is_killed_ends_in_the_same_weights(
    spoken: Path, trained: Path, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    STANCE.dies(60, spoken, out, tiny)
    with pytest.raises(UserError, match="was not made by: touche-rad train stance"):
        backend(f"trained:{out}")
    assert STANCE.train(spoken, out, tiny)["resumed"] is True
    assert not changed(trained, out)
    assert report(out) == report(trained)
    assert metrics(out) == metrics(trained)


ENTAILED, CONTRADICTED, NEITHER = range(3)


def _odds(model: Path, more: int, less: int, arguments: Sequence[Argument]) -> Any:
    """What an NLI model's reading says for the supported claim against the attacked one."""
    nli, said = Nli(str(model)), [one.text for one in arguments]
    both = [
        nli.read(list(zip(said, claims, strict=True)))
        for claims in ([one.supports for one in arguments], [one.attacks for one in arguments])
    ]
    supported, attacked = (np.log(one[:, more]) - np.log(one[:, less]) for one in both)
    return supported - attacked


@pytest.mark.services
@pytest.mark.parametrize(
    ("labels", "more", "less"),
    [
        (LABELS, ENTAILED, CONTRADICTED),
        (("entailment", "neutral", "contradiction"), ENTAILED, CONTRADICTED),
        (("not_entailment", "entailment"), ENTAILED, NEITHER),
    ],
)
def test_an_nli_model_begins_with_what_it_knows(
    labels: tuple[str, ...], more: int, less: int, tmp_path: Path
) -> None:
    base, out = by_chance(tmp_path / "base", labels), tmp_path / "out"
    told = STANCE.train(DEMO, out, base, epochs=1, rate=STILL)
    assert told["begun"] == "NLI"
    unseen = [one for one in files.read_arguments(DEMO) if split_of(one.topic) == "test"]
    odds = _odds(base, more, less, unseen)
    assert told["before"] == told["after"] == pytest.approx(np.mean(odds > 0), abs=1e-4)
    assert 0 < told["before"] < 1
    stances = _stances(out, unseen)
    likely = np.array([one.same for one in stances]) / 0.8
    assert np.log(likely / (1 - likely)) == pytest.approx(odds, abs=1e-3)


@pytest.mark.services
def test_a_training_begins_anew_where_that_is_said_and_tells_how_far_it_is(
    spoken: Path, tiny: Path, tmp_path: Path
) -> None:
    words = ("-o", tmp_path / "out", "--epochs", "1", "--seed")
    first = STANCE.said(*words, "1", source=spoken, base=tiny)
    assert first.code == 0, first.err
    other = STANCE.said(*words, "2", "--restart", source=spoken, base=tiny)
    assert (other.code, "another seed: 1, now 2; replace it with --replace" in other.err) == (
        2,
        True,
    )
    anew = STANCE.said(*words, "2", "--replace", source=spoken, base=tiny)
    assert anew.code == 0, anew.err
    told = json.loads(anew.out)
    assert told["recipe"]["seed"] == 2
    assert told["resumed"] is False
    assert f"training: {told['steps']} of {told['steps']}" in anew.err
    assert len(metrics(tmp_path / "out")) == told["steps"]


@pytest.mark.services
def test_another_classifiers_head_is_left_and_a_stance_models_is_kept(
    spoken: Path, trained: Path, tmp_path: Path
) -> None:
    other = by_chance(tmp_path / "other", ("good", "bad", "so-so"))
    told = STANCE.train(spoken, tmp_path / "from other", other, epochs=1)
    assert told["begun"] == "chance"
    onward = STANCE.train(spoken, tmp_path / "onward", trained, epochs=1, rate=STILL)
    assert onward["begun"] == "stance"
    assert onward["before"] == onward["after"] == report(trained)["after"]


@pytest.mark.services
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_only_the_top_layers_and_the_head_learn_where_that_is_asked(
    spoken: Path, tmp_path: Path, precision: str
) -> None:
    base = by_chance(tmp_path / "base", num_hidden_layers=2)
    STANCE.train(spoken, tmp_path / "top", base, epochs=1, layers=1, precision=precision)
    names, parts = changed(base, tmp_path / "top"), ("layer.1.", "pooler.", "classifier.")
    assert all(any(part in name for name in names) for part in parts)
    assert all(any(part in name for part in parts) for name in names)
