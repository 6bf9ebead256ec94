"""An encoder of one's own: what it learns from, that it learns, and that a kill loses nothing.

The encoder is real and tiny, by chance at first: it is the way that is tested, and that what was
learnt on some topics helps on others.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval._tasks import split_of
from retrieval.dense.tuning.training import batches, false_negatives, queries
from tests.retrieval.small import encoder_by_chance
from tests.terminal import Ended, touche_rad, touche_rad_process
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.demo import demo_file
from touche_rad.errors import UserError
from touche_rad.plugins import (
    Services,
    VectorsWanted,
    add_vectors,
    build_index,
    find,
    open_index,
    trainer,
)

DEMO = demo_file("arguments.jsonl")
SETTINGS: dict[str, Any] = {"rate": 0.005, "batch": 32, "epochs": 20, "save_every": 40, "layers": 0}
CLAIMED = "cat dog tree house river road bread money king war music snow ship gold fire hand"
ARGUED = "blue seven under quick paper loud early north green empty sugar clock stone wide old red"


def _train(source: Path, out: Path, base: Path, **settings: Any) -> dict[str, Any]:
    """Train in this process, on one thread, so that sums round alike in each process."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return dict(trainer("encoder")(source, out, base=str(base), **SETTINGS | settings))
    finally:
        torch.set_num_threads(before)


def _words(source: Path, out: Path, base: Path, **settings: Any) -> list[str]:
    """Return the same as a command."""
    told = {"output": out, "base": base, **SETTINGS, **settings}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in told.items()]
    return ["train", "encoder", str(source), *options]


def _said(*words: str) -> Ended:
    return touche_rad_process(*words, env={"OMP_NUM_THREADS": "1"})


def _report(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return told


def _metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def _weights(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def _changed(before: Path, after: Path) -> set[str]:
    """Name the weights in which two models are not the same to the last bit."""
    first, second = _weights(before), _weights(after)
    assert first.keys() == second.keys()
    return {name for name in first if not np.array_equal(first[name], second[name])}


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
    path = tmp_path_factory.mktemp("spoken") / "arguments.jsonl"
    path.write_text("".join(files.argument_line(one) + "\n" for one in _spoken()))
    return path


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
    assert _train(spoken, out, tiny)["resumed"] is False
    return out


@pytest.mark.services
def test_a_training_leaves_a_model_its_metrics_a_report_and_a_card(
    spoken: Path, trained: Path
) -> None:
    told, arguments = _report(trained), list(files.read_arguments(spoken))
    assert told["tested_on"] == sum(split_of(one.topic) == "test" for one in arguments)
    assert told["trained_on"] + told["tested_on"] == len(arguments)
    rows = _metrics(trained)
    assert [row["step"] for row in rows] == list(range(1, told["steps"] + 1))
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert not (trained / "checkpoints").exists()
    card = (trained / "README.md").read_text()
    assert f"| `arguments.jsonl` | 240 | `{told['collection']}` |" in card
    assert f"| rate | {SETTINGS['rate']} |" in card
    assert "sentence-transformers " in card


@pytest.mark.services
def test_a_finished_training_tells_its_report_and_another_needs_replace(
    spoken: Path, trained: Path, tiny: Path, tmp_path: Path
) -> None:
    again = _said(*_words(spoken, trained, tiny))
    assert again.code == 0, again.err
    assert json.loads(again.out) == {**_report(trained), "resumed": True}
    assert f"--dense {trained}" in again.err
    assert "note:" not in again.err
    out = tmp_path / "out"
    _train(spoken, out, tiny, epochs=1, seed=1)
    with pytest.raises(UserError, match="seed was 1 and is now 2"):
        _train(spoken, out, tiny, epochs=1, seed=2, restart=True)
    anew = _said(*_words(spoken, out, tiny, epochs=1, seed=2), "--replace")
    assert anew.code == 0, anew.err
    told = json.loads(anew.out)
    assert (told["recipe"]["seed"], told["resumed"]) == (2, False)
    assert f"training: {told['steps']} of {told['steps']}" in anew.err
    assert len(_metrics(out)) == told["steps"]


@pytest.mark.services
def test_a_killed_training_ends_in_the_same_weights(
    spoken: Path, trained: Path, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    died = subprocess.run(
        [sys.executable, "-m", "tests.retrieval.dying_tuner", "60", *_words(spoken, out, tiny)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert not (out / "modules.json").exists()
    assert _train(spoken, out, tiny)["resumed"] is True
    assert not _changed(trained, out)
    assert _report(out) == _report(trained)
    assert _metrics(out) == _metrics(trained)


@pytest.mark.services
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_base_that_is_stored_in_half_precision_learns_in_whole(
    spoken: Path, tiny: Path, tmp_path: Path, precision: str
) -> None:
    from sentence_transformers import SentenceTransformer

    half, out = tmp_path / "base", tmp_path / "out"
    SentenceTransformer(str(tiny)).half().save(str(half))
    _train(spoken, out, half, epochs=2, precision=precision)
    assert {str(one.dtype) for one in _weights(half).values()} == {"float16"}
    assert {str(one.dtype) for one in _weights(out).values()} == {"float32"}
    assert all(np.isfinite(one).all() for one in _weights(out).values())


@pytest.mark.parametrize(("option", "value"), [("rate", "0"), ("layers", "-1"), ("batch", "1")])
def test_an_impossible_value_is_refused_and_nothing_is_written(
    option: str, value: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ran = touche_rad("train", "encoder", DEMO, "-o", out, f"--{option}", value)
    assert (ran.code, option in ran.err) == (2, True)
    assert not out.exists()


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "sentence_transformers", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match="needs sentence-transformers: pip install"):
        trainer("encoder")(DEMO, tmp_path / "out", base="minilm")


@pytest.mark.services
def test_it_learns_what_helps_on_topics_that_it_never_saw(trained: Path) -> None:
    for task in ("counter", "support"):
        gain = _report(trained)["measured"][f"{task} R@10"]
        assert gain["after"] > gain["before"] + 0.2
    gain = _report(trained)["measured"]["counter nDCG@10"]
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
    _train(spoken, tmp_path / "top", tiny, epochs=1, layers=1)
    names = _changed(tiny, tmp_path / "top")
    assert names
    assert all("layer.1." in name for name in names)
