"""The one row that a stance model begins with, whatever the network ends in."""

from __future__ import annotations

from typing import Any, Final

import pytest

pytestmark = pytest.mark.services

LABELS: Final = {0: "entailment", 1: "neutral", 2: "contradiction"}
_SMALL: Final = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "pad_token_id": 0,
}
NETWORKS: Final[dict[str, dict[str, Any]]] = {
    "Bert": _SMALL,
    "DebertaV2": _SMALL,
    "ModernBert": _SMALL,
    "DistilBert": {"vocab_size": 100, "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
    "Qwen2": {**_SMALL, "num_key_value_heads": 2},
}


def _made(kind: str, labels: dict[int, str]) -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        **NETWORKS[kind], id2label=labels, label2id={label: at for at, label in labels.items()}
    )
    return getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()


def _read(network: Any) -> Any:
    import torch

    with torch.no_grad():
        return network(input_ids=torch.tensor([[5, 6, 7, 8, 9, 2], [5, 9, 8, 7, 6, 2]])).logits


@pytest.mark.parametrize("kind", NETWORKS)
def test_it_is_entailment_less_contradiction(kind: str) -> None:
    network = _made(kind, LABELS)
    from retrieval.stance.training import one_row

    before = _read(network)
    assert one_row(network, kind) == "NLI"
    after = _read(network)
    assert after.shape == (2, 1)
    assert after[:, 0].numpy() == pytest.approx((before[:, 0] - before[:, 2]).numpy(), abs=1e-6)
    assert network.config.num_labels == 1
    assert one_row(network, kind) == "stance"
    assert (_read(network) == after).all()
