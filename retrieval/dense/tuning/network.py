"""The encoder as a network with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

_BATCH: Final = 16


class Network:
    """A sentence-transformers model in training."""

    def __init__(self, model: Any, max_tokens: int, half_precision: bool) -> None:
        self.model = model
        self._max_tokens = max_tokens
        self._half_precision = half_precision

    def encode(self, texts: Sequence[str]) -> Any:
        """Return unit vectors; texts of similar length share a batch, to save padding."""
        import torch

        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        vectors = []
        for start in range(0, len(order), _BATCH):
            batch = [texts[place] for place in order[start : start + _BATCH]]
            vectors.append(self.forward(self.tokenize(batch)))
        places = torch.tensor(order, device=self.model.device).argsort()
        return torch.nn.functional.normalize(torch.cat(vectors)[places], dim=1)

    def tokenize(self, texts: Sequence[str]) -> Any:
        """Return model inputs; lone surrogates, which tokenizers reject, are replaced."""
        valid = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return self.model.tokenizer(
            valid, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt"
        ).to(self.model.device)

    def forward(self, tokens: Any) -> Any:
        """Compute one vector per text."""
        import torch

        device = self.model.device.type
        with torch.autocast(device, torch.bfloat16, enabled=self._half_precision):
            return self.model(dict(tokens))["sentence_embedding"].float()
