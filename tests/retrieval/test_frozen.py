"""Layers that do not learn: what they make of a text is computed once, and training goes as before.

The networks are real, tiny and by chance. To compare, the same training is run with all layers
computed at each step.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.retrieval.trainings import metrics
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import trainer

TOPICS, WORDS = 8, "cat dog tree house river road bread money king war music snow ship gold fire"
KINDS = {
    "bert": ("BertModel", "BertConfig", {}),
    "mpnet": ("MPNetModel", "MPNetConfig", {}),
    "modernbert": (
        "ModernBertModel",
        "ModernBertConfig",
        {"eos_token_id": 1, "bos_token_id": 1, "cls_token_id": 1, "sep_token_id": 2},
    ),
    # Its states lie the other way round, token by token: they are not kept.
    "xlnet": ("XLNetModel", "XLNetConfig", {"d_head": 16, "d_inner": 32}),
}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Arguments whose texts are of one to twelve words, so that batches are padded."""
    chance = random.Random(0)

    def said() -> str:
        return " ".join(chance.choices(WORDS.split(), k=chance.randint(1, 12)))

    path = tmp_path_factory.mktemp("collection") / "arguments.jsonl"
    path.write_text(
        "".join(
            files.argument_line(
                Argument(
                    id=str(number),
                    topic=f"Discussion {number % TOPICS}",
                    text=said(),
                    attacks=said(),
                    supports=said(),
                )
            )
            + "\n"
            for number in range(96)
        )
    )
    return path


def _network(kind: str, folder: Path) -> Path:
    import torch
    import transformers

    from retrieval.dense.encoders import minilm_folder

    model, config, settings = KINDS[kind]
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_folder("minilm"))
    torch.manual_seed(0)
    made = getattr(transformers, model)(
        getattr(transformers, config)(
            vocab_size=tokenizer.vocab_size,
            hidden_size=32,
            num_hidden_layers=3,
            num_attention_heads=2,
            intermediate_size=32,
            pad_token_id=0,
            initializer_range=0.5,
            **settings,
        )
    )
    made.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


class Trained:
    """Trainings of one collection beside each other, each in a folder of its own."""

    def __init__(self, collection: Path, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.collection, self.root, self._patch = collection, root, patch

    def losses(self, base: Path, name: str, **settings: Any) -> list[float]:
        """Train, and return the loss of each step."""
        given = {"epochs": 3, "batch": 16, "rate": 1e-3, "layers": 1, **settings}
        trainer("encoder")(self.collection, self.root / name, base=str(base), **given)
        return [row["loss"] for row in metrics(self.root / name)]

    def by_all_layers(self, base: Path, **settings: Any) -> list[float]:
        """Train with all layers at each step."""
        from retrieval.dense.tuning import network

        with self._patch.context() as patch:
            patch.setattr(network, "frozen_outputs", lambda *_: None)
            return self.losses(base, "whole", **settings)

    def are_computed_anew(self, base: Path, why: str, caplog: pytest.LogCaptureFixture) -> None:
        """Train, and see that nothing is kept and that the log says why."""
        found = self.losses(base, "out")
        assert f"computed again at each step: {why}" in caplog.text
        assert found == self.by_all_layers(base)


@pytest.fixture
def trained(collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trained:
    return Trained(collection, tmp_path, monkeypatch)


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return _network("bert", tmp_path / "base")


@pytest.mark.services
@pytest.mark.parametrize("kind", ["bert", "mpnet", "modernbert"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_training_goes_as_with_all_layers_at_each_step(
    kind: str, precision: str, trained: Trained, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    base = _network(kind, tmp_path / "base")
    apart = trained.losses(base, "apart", precision=precision)
    assert not caplog.messages
    whole = trained.by_all_layers(base, precision=precision)
    assert apart != whole  # what is kept is rounded
    assert apart == pytest.approx(whole, abs=0.002 if precision == "float32" else 0.02)


@pytest.mark.services
def test_a_text_passes_the_frozen_layers_once(
    bert: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.models.bert.modeling_bert import BertLayer

    passed: Counter[int] = Counter()
    forward = BertLayer.forward

    def counted(self: Any, hidden_states: Any, *args: Any, **kwargs: Any) -> Any:
        passed[self.attention.self.layer_idx] += len(hidden_states)
        return forward(self, hidden_states, *args, **kwargs)

    def passes(name: str, epochs: int) -> Counter[int]:
        passed.clear()
        trained.losses(bert, name, epochs=epochs)
        return passed.copy()

    monkeypatch.setattr(BertLayer, "forward", counted)
    few, many = passes("few", 4), passes("many", 20)
    assert many[0] == many[1]
    assert many[0] < few[0] * 1.2
    assert many[2] > few[2] * 2


@pytest.mark.services
def test_what_is_large_lies_on_disk_while_it_trains(
    bert: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    from retrieval.dense.tuning import network as frozen

    in_memory = trained.losses(bert, "memory")
    made: list[Any] = []
    mapped = np.memmap

    def noted(*args: Any, **kwargs: Any) -> Any:
        made.append(mapped(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(frozen, "LARGE", 0)
    monkeypatch.setattr(np, "memmap", noted)
    assert trained.losses(bert, "disk") == in_memory
    assert len(made) == 1
    names = {one.name for one in (trained.root / "disk").iterdir()}
    assert names == {one.name for one in (trained.root / "memory").iterdir()}


@pytest.mark.services
def test_without_room_all_layers_are_computed_at_each_step(
    bert: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from retrieval.dense.tuning import network as frozen

    monkeypatch.setattr(frozen, "LARGE", 0)
    monkeypatch.setattr(frozen, "free_space", lambda _: 0)
    trained.are_computed_anew(bert, "not enough space for", caplog)


@pytest.mark.services
def test_layers_that_cannot_be_run_apart_are_computed_at_each_step(
    trained: Trained, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    xlnet = _network("xlnet", tmp_path / "base")
    trained.are_computed_anew(xlnet, "they do not return one state per token", caplog)


@pytest.mark.services
def test_a_network_whose_upper_layers_look_past_the_lower_ones_is_found_out(
    bert: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from transformers.models.bert.modeling_bert import BertLayer

    forward = BertLayer.forward
    first: list[Any] = []

    def leaning(self: Any, hidden_states: Any, *args: Any, **kwargs: Any) -> Any:
        """The last layer is told what the first one was."""
        place = self.attention.self.layer_idx
        if place == 0:
            first[:] = [hidden_states]
        elif place == 2 and first:
            hidden_states = hidden_states + first.pop()
        return forward(self, hidden_states, *args, **kwargs)

    monkeypatch.setattr(BertLayer, "forward", leaning)
    trained.are_computed_anew(bert, "the layers above give other vectors", caplog)


@pytest.mark.services
def test_nothing_is_kept_where_the_whole_encoder_learns(
    bert: Path, trained: Trained, caplog: pytest.LogCaptureFixture
) -> None:
    found = trained.losses(bert, "out", layers=0)
    assert not caplog.messages
    assert found == trained.by_all_layers(bert, layers=0)
