"""Real, tiny NLI models made on the spot, with labels in an order of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

LABELS: Final = ("contradiction", "ENTAILMENT", "neutral")
Case = tuple[str, str, str]
"""A premise, a hypothesis, and the label that is right."""


def always(folder: Path, label: str, odds: float, labels: Sequence[str] = LABELS) -> Path:
    """Make one that gives a label the same log odds, whatever it reads."""
    import torch

    model = _model(labels)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.zero_()
        model.classifier.bias[labels.index(label)] = odds
    return _saved(model, folder)


def by_chance(folder: Path, labels: Sequence[str] = LABELS, **settings: Any) -> Path:
    """Make one that says what chance says of a pair, the same each time."""
    import torch

    model = _model(labels, **settings)
    with torch.no_grad():
        model.classifier.weight.normal_()
        model.classifier.bias.normal_()
    return _saved(model, folder)


def taught(folder: Path, cases: Sequence[Case]) -> Path:
    """Make one that knows some pairs by heart."""
    import torch

    torch.manual_seed(0)
    model, tokenizer = _model(LABELS), _tokenizer()
    read = tokenizer(
        [case[0] for case in cases], [case[1] for case in cases], padding=True, return_tensors="pt"
    )
    right = torch.tensor([LABELS.index(case[2]) for case in cases])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(model(**read).logits, right)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return _saved(model, folder)


def _tokenizer() -> Any:
    from transformers import AutoTokenizer

    from retrieval.dense.encoders import minilm_folder

    return AutoTokenizer.from_pretrained(minilm_folder("minilm"))


def _model(labels: Sequence[str], **settings: Any) -> Any:
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    small: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
    }
    config = BertConfig(vocab_size=_tokenizer().vocab_size, **{**small, **settings})
    return BertForSequenceClassification(config)


def _saved(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder
