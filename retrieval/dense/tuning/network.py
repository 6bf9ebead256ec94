"""The network that learns: texts in, vectors of length 1 out, with gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from retrieval.dense.tuning.frozen import Frozen, frozen

TOGETHER: Final = 16


@dataclass
class Network:
    """A sentence-transformers model in training."""

    model: Any
    longest: int
    """The most tokens of a text."""
    halved: bool
    """Whether it computes in bfloat16."""
    kept: Frozen | None = field(default=None, init=False)

    def keep(self, layers: Sequence[Any], texts: Iterable[str], place: Path) -> None:
        """Compute once what layers that stay as they are make of texts, where that can be."""
        self.kept = frozen(self, layers, texts, place)

    def encoded(self, texts: Sequence[str]) -> Any:
        """Encode texts, those of a like length together: padding is most of the work otherwise."""
        import torch

        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = []
        for at in range(0, len(order), TOGETHER):
            part = [texts[place] for place in order[at : at + TOGETHER]]
            tokens = self.tokens(part)
            with self._lower(part, tokens):
                found.append(self.vectors(tokens))
        places = torch.tensor(order, device=self.model.device).argsort()
        return torch.nn.functional.normalize(torch.cat(found)[places], dim=1)

    def tokens(self, texts: Sequence[str]) -> Any:
        """Return texts as the model takes them; tokenizers refuse lone surrogates."""
        whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return self.model.tokenizer(
            whole, padding=True, truncation=True, max_length=self.longest, return_tensors="pt"
        ).to(self.model.device)

    def vectors(self, tokens: Any) -> Any:
        """Compute one vector a text."""
        import torch

        with torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.halved):
            return self.model(dict(tokens))["sentence_embedding"].float()

    def _lower(self, texts: Sequence[str], tokens: Any) -> AbstractContextManager[None]:
        if self.kept is None:
            return nullcontext()
        return self.kept.standing_in(texts, tokens["attention_mask"])
