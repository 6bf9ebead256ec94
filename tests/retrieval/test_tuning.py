"""An encoder of one's own: what it learns from, that it learns, and that a kill loses nothing.

The encoder is real and tiny, by chance at first: it is the way that is tested, and that what was
learnt on some topics helps on others.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.dense.tuning.training import batches, false_negatives, queries
from tests.retrieval.collection_trainers import TrainerTests
from tests.retrieval.small import encoder_by_chance
from tests.retrieval.trainings import Training, changed, report, written
from touche_rad.debate import Argument
from touche_rad.plugins import Services, VectorsWanted, add_vectors, build_index, find, open_index

ENCODER = Training(
    "encoder", {"rate": 0.005, "batch": 32, "epochs": 20, "save_every": 40, "layers": 0}
)
CLAIMED = "cat dog tree house river road bread money king war music snow ship gold fire hand"
ARGUED = "blue seven under quick paper loud early north green empty sugar clock stone wide old red"


def _spoken() -> list[Argument]:
    """Claims in the one half of a language, and texts in the other: each word has its like there.

    Nothing but the pairs tells which; who learns it on some topics knows it on the others.
    """
    chance = random.Random(0)
    words = list(zip(CLAIMED.split(), ARGUED.split(), strict=True))
    found = []
    for number in range(240):
        chosen = chance.sample(words, 4)
        claim, text = (" ".join(one) for one in zip(*chosen, strict=True))
        claims = {"attacks": claim, "supports": f"not {claim}"}
        found.append(
            Argument(id=str(number), topic=f"Discussion {number % 40}", text=text, **claims)
        )
    return found


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(_spoken(), tmp_path_factory.mktemp("spoken"))


def _argued(text: str, attacks: str, supports: str, topic: str = "Zoos") -> Argument:
    return Argument(id=text, topic=topic, text=text, attacks=attacks, supports=supports)


def test_each_claim_has_its_argument_and_no_wrong_answer_that_is_on_the_same_claim() -> None:
    part = [
        _argued("Animals suffer.", "Zoos are good.", "Zoos are not good."),
        _argued("Zoos save species.", "zoos are not good", "zoos are good"),  # the other side
        _argued("Zoos are good!", "Zoos cost much.", ""),  # says the first one's claim
        _argued("Trains are slow.", "Trains are fast.", "Trains are slow.", "Trains"),
    ]
    claims = queries(part)
    assert [place for _, place in claims] == [0, 0, 1, 1, 2, 3, 3]
    rows = dict(zip(claims, false_negatives(part), strict=True))
    assert rows["Zoos are good.", 0] == [False, True, True, False]
    assert rows["zoos are not good", 1] == [True, False, True, False]
    assert rows["Zoos cost much.", 2] == [False, False, False, False]
    assert rows["Trains are slow.", 3] == [False, False, False, False]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(2, 16), st.integers(1, 9))
def test_an_epoch_has_each_argument_once(topics: list[int], size: int, group: int) -> None:
    arguments = [
        _argued(str(number), "a claim", "", str(topic)) for number, topic in enumerate(topics)
    ]
    found = list(batches(arguments, size, group, "0 0"))
    assert sorted(one.id for part in found for one in part) == sorted(one.id for one in arguments)
    assert all(len(part) == size for part in found[:-1])
    assert found == list(batches(arguments, size, group, "0 0"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model of two layers whose weights are by chance."""
    return encoder_by_chance(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def trained(spoken: Path, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "encoder"
    assert ENCODER.train(spoken, out, tiny)["resumed"] is False
    return out


@pytest.fixture
def half(tiny: Path, tmp_path: Path) -> Path:
    """An encoder that is stored in half precision."""
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(tiny)).half().save(str(tmp_path / "base"))
    return tmp_path / "base"


class TestTrainer(TrainerTests):
    training, use, fewest = ENCODER, "--dense {}", 2


@pytest.mark.services
def test_it_learns_what_helps_on_topics_that_it_never_saw(trained: Path) -> None:
    for task in ("counter", "support"):
        gain = report(trained)["measured"][f"{task} R@10"]
        assert gain["after"] > gain["before"] + 0.2
    gain = report(trained)["measured"]["counter nDCG@10"]
    card = (trained / "README.md").read_text()
    assert f"| counter nDCG@10 | {gain['before']} | {gain['after']} |" in card


@pytest.mark.services
def test_the_folder_is_an_encoder_of_an_index(trained: Path, tmp_path: Path) -> None:
    from benchmarks.quality_pipelines import about

    arguments = _spoken()[:40]
    place = str(tmp_path / "index")
    build_index(arguments, place)
    add_vectors(place, VectorsWanted(str(trained), ("text", "attacks", "all")))
    index = open_index(place)
    hits = find("retriever", "dense").make(Services(index=index)).search(arguments[3].attacks, 5)
    assert hits[0].argument.attacks == arguments[3].attacks
    assert hits[0].score == pytest.approx(1.0, abs=1e-3)
    assert len(about(index).search(arguments[3].attacks)) >= 5


@pytest.mark.services
def test_only_the_top_layers_learn_where_that_is_asked(
    spoken: Path, tiny: Path, tmp_path: Path
) -> None:
    ENCODER.train(spoken, tmp_path / "top", tiny, epochs=1, layers=1)
    names = changed(tiny, tmp_path / "top")
    assert names
    assert all("layer.1." in name for name in names)
