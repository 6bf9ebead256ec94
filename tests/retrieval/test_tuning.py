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
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval._tasks import split_of
from retrieval.dense.tuning.training import batches, false_negatives, queries
from tests.records import read_json, read_records, write_lines
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
    values = {"output": out, "base": base, **SETTINGS, **settings}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    return ["train", "encoder", str(source), *options]


def _run_train(*words: str) -> Ended:
    return touche_rad_process(*words, env={"OMP_NUM_THREADS": "1"})


def _report(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = read_json(folder / "report.json")
    return report


def _metrics(folder: Path) -> list[dict[str, Any]]:
    return read_records(folder / "metrics.jsonl")


def _weights(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def _changed(before: Path, after: Path) -> set[str]:
    """Name the weights in which two models are not the same to the last bit."""
    old = _weights(before)
    new = _weights(after)
    assert old.keys() == new.keys()
    return {name for name in old if not np.array_equal(old[name], new[name])}


def _two_languages() -> list[Argument]:
    """Claims in the one half of a language, and texts in the other: each word has its like there.

    Nothing but the pairs tells which; who learns it on some topics knows it on the others.
    """
    chance = random.Random(0)
    words = list(zip(CLAIMED.split(), ARGUED.split(), strict=True))
    arguments = []
    for number in range(240):
        claim, text = map(" ".join, zip(*chance.sample(words, 4), strict=True))
        topic = f"Discussion {number % 40}"
        argument = _argument(text, claim, f"not {claim}", topic)
        arguments.append(argument.model_copy(update={"id": str(number)}))
    return arguments


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spoken") / "arguments.jsonl"
    return write_lines(path, map(files.argument_line, _two_languages()))


def _argument(text: str, attacks: str, supports: str, topic: str = "Zoos") -> Argument:
    return Argument(id=text, topic=topic, text=text, attacks=attacks, supports=supports)


def test_each_claim_has_its_argument_and_no_wrong_answer_that_is_on_the_same_claim() -> None:
    part = [
        _argument("Animals suffer.", "Zoos are good.", "Zoos are not good."),
        _argument("Zoos save species.", "zoos are not good", "zoos are good"),  # the other side
        _argument("Zoos are good!", "Zoos cost much.", ""),  # says the first one's claim
        _argument("Trains are slow.", "Trains are fast.", "Trains are slow.", "Trains"),
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
        _argument(str(number), "a claim", "", str(topic)) for number, topic in enumerate(topics)
    ]
    parts = list(batches(arguments, size, group, "0 0"))
    ids = [argument.id for argument in chain.from_iterable(parts)]
    assert sorted(ids) == sorted(argument.id for argument in arguments)
    assert all(len(part) == size for part in parts[:-1])
    assert parts == list(batches(arguments, size, group, "0 0"))


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
    report = _report(trained)
    splits = [split_of(argument.topic) for argument in files.read_arguments(spoken)]
    assert report["tested_on"] == splits.count("test")
    assert report["trained_on"] + report["tested_on"] == len(splits)
    rows = _metrics(trained)
    assert [row["step"] for row in rows] == list(range(1, report["steps"] + 1))
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert not (trained / "checkpoints").exists()
    card = (trained / "README.md").read_text()
    assert f"| `arguments.jsonl` | 240 | `{report['collection']}` |" in card
    assert f"| rate | {SETTINGS['rate']} |" in card
    assert "sentence-transformers " in card


@pytest.mark.services
def test_a_finished_training_prints_its_report(spoken: Path, trained: Path, tiny: Path) -> None:
    again = _run_train(*_words(spoken, trained, tiny))
    assert again.code == 0, again.err
    assert json.loads(again.out) == {**_report(trained), "resumed": True}
    assert f"--dense {trained}" in again.err
    assert "note:" not in again.err


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

    half = tmp_path / "base"
    SentenceTransformer(str(tiny)).half().save(str(half))
    assert {str(weights.dtype) for weights in _weights(half).values()} == {"float16"}
    _train(spoken, tmp_path / "out", half, epochs=2, precision=precision)
    for weights in _weights(tmp_path / "out").values():
        assert weights.dtype == np.float32
        assert np.isfinite(weights).all()


@pytest.mark.parametrize(("option", "value"), [("rate", "0"), ("layers", "-1"), ("batch", "1")])
def test_an_impossible_value_is_refused_and_nothing_is_written(
    option: str, value: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ran = touche_rad("train", "encoder", DEMO, "-o", out, f"--{option}", value, code=2)
    assert option in ran.err
    assert not out.exists()


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "sentence_transformers", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match="sentence-transformers"):
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
    arguments = _two_languages()[:40]
    place = str(tmp_path / "index")
    build_index(arguments, place)
    add_vectors(place, VectorsWanted(str(trained), ("text", "attacks", "all")))
    index = open_index(place)
    hits = find("retriever", "dense").make(Services(index=index)).search(arguments[3].attacks, 5)
    assert hits[0].argument.attacks == arguments[3].attacks
    assert hits[0].score == pytest.approx(1.0, abs=1e-3)


@pytest.mark.services
def test_only_the_top_layers_learn_where_that_is_asked(
    spoken: Path, tiny: Path, tmp_path: Path
) -> None:
    _train(spoken, tmp_path / "top", tiny, epochs=1, layers=1)
    names = _changed(tiny, tmp_path / "top")
    assert names
    assert all("layer.1." in name for name in names)
