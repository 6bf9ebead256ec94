"""The encoder as a network with gradients, with the outputs of its frozen layers computed once.

The frozen layers are most of the work of a training: where two of six layers are trained, keeping
their outputs makes each epoch after the first about three times as fast.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger("touche_rad")

_BATCH: Final = 16
_FROZEN_BATCH: Final = 64
LARGE: Final = 1 << 30
"""Larger caches, in bytes, are kept on disk instead of in memory."""
_TOLERANCE: Final = 1e-3
"""The largest accepted change (1 - cosine) of a text's vector; rounding alone gives about 1e-5."""


class Network:
    """A sentence-transformers model in training."""

    def __init__(self, model: Any, max_tokens: int, half_precision: bool) -> None:
        self.model = model
        self._max_tokens = max_tokens
        self._half_precision = half_precision
        self._frozen: FrozenOutputs | None = None

    def cache_frozen(self, layers: Sequence[Any], texts: Iterable[str], folder: Path) -> None:
        """Compute the outputs of frozen layers for all texts, where the model allows it."""
        self._frozen = frozen_outputs(self, layers, texts, folder)

    def encode(self, texts: Sequence[str]) -> Any:
        """Return unit vectors; texts of similar length share a batch, to save padding."""
        import torch

        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        vectors = []
        for start in range(0, len(order), _BATCH):
            batch = [texts[place] for place in order[start : start + _BATCH]]
            tokens = self.tokenize(batch)
            cache = self._frozen
            with cache.replacing(batch, tokens["attention_mask"]) if cache else nullcontext():
                vectors.append(self.forward(tokens))
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


@dataclass(frozen=True)
class FrozenOutputs:
    """Frozen layers, and the output of the last one for each text."""

    layers: Sequence[Any]
    states: NDArray[np.float16]
    """One row per token, text after text."""
    rows: dict[str, slice]
    pack: Callable[[Any], Any]
    """Brings states into the type in which a layer returns them."""

    @contextmanager
    def replacing(self, texts: Sequence[str], mask: Any) -> Iterator[None]:
        """Let the frozen layers return the cached outputs of these texts."""
        import torch

        cached = np.concatenate([self.states[self.rows[text]] for text in texts])
        states = torch.zeros(*mask.shape, cached.shape[1], device=mask.device)
        states[mask.bool()] = torch.from_numpy(cached).to(states)
        output = self.pack(states)
        for layer in self.layers:
            layer.forward = lambda *_, **__: output
        try:
            yield
        finally:
            for layer in self.layers:
                del layer.forward


class _NotCacheable(Exception):
    """Why the outputs of frozen layers cannot be cached."""


class _Stop(Exception):
    """Ends a forward pass after the last frozen layer."""


def layers_below(model: Any, top: Sequence[Any]) -> list[Any]:
    """Return the layers under the trained ones."""
    from torch.nn import ModuleList

    for stack in model.modules():
        if isinstance(stack, ModuleList) and top[0] in (layers := list(stack)):
            return layers[: layers.index(top[0])]
    return []


def frozen_outputs(
    network: Network, layers: Sequence[Any], texts: Iterable[str], folder: Path
) -> FrozenOutputs | None:
    """Compute the outputs of frozen layers for all texts.

    Returns None, and logs why, if the layers cannot be run apart from the rest of the network.
    """
    each = sorted(set(texts), key=lambda one: (len(one), one))
    if not layers or not each:
        return None
    try:
        return _computed(network, layers, each, folder)
    except _NotCacheable as reason:
        log.warning("frozen layers are computed again at each step: %s", reason)
        return None


def _computed(
    network: Network, layers: Sequence[Any], texts: Sequence[str], folder: Path
) -> FrozenOutputs:
    batches = [texts[at : at + _FROZEN_BATCH] for at in range(0, len(texts), _FROZEN_BATCH)]
    lengths = [int(n) for part in batches for n in network.tokenize(part)["attention_mask"].sum(1)]
    ends = np.cumsum(lengths).tolist()
    rows = {
        text: slice(end - length, end)
        for text, length, end in zip(texts, lengths, ends, strict=True)
    }
    states, pack = _output_of(network, layers[-1], network.tokenize(batches[0]))
    outputs = FrozenOutputs(layers, _allocate(ends[-1], states.shape[-1], folder), rows, pack)
    for batch in batches:
        tokens = network.tokenize(batch)
        states, _ = _output_of(network, layers[-1], tokens)
        half = states[tokens["attention_mask"].bool()].half().cpu().numpy()
        if not np.isfinite(half).all():
            raise _NotCacheable("their numbers are too large for half precision")
        outputs.states[rows[batch[0]].start : rows[batch[-1]].stop] = half
    for batch in (batches[0], batches[-1]):
        _verify(network, outputs, batch)
    log.info(
        "cached the outputs of %d frozen layers for %d texts: %.0f MB",
        len(layers),
        len(texts),
        outputs.states.nbytes / 1e6,
    )
    return outputs


def _output_of(network: Network, layer: Any, tokens: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Run the network up to a layer; return the layer's states and how it returns states."""
    import torch

    outputs: list[Any] = []

    def record(_: Any, __: Any, output: Any) -> None:
        outputs.append(output)
        raise _Stop

    handle = layer.register_forward_hook(record)
    try:
        with torch.no_grad():
            network.forward(tokens)
    except _Stop:
        pass
    finally:
        handle.remove()
    if not outputs:
        raise _NotCacheable("the network does not use all of them")
    is_tuple = isinstance(outputs[0], tuple)
    states, *others = outputs[0] if is_tuple else outputs
    if not isinstance(states, torch.Tensor) or states.shape[:-1] != tokens["attention_mask"].shape:
        raise _NotCacheable("they do not return one state per token")
    if any(one is not None for one in others):
        raise _NotCacheable("they return more than states")
    dtype = states.dtype
    return states, lambda one: (one.to(dtype), *others) if is_tuple else one.to(dtype)


def _verify(network: Network, outputs: FrozenOutputs, batch: Sequence[str]) -> None:
    """Compare vectors computed with and without the cache."""
    import torch

    tokens = network.tokenize(batch)
    with torch.no_grad():
        expected = network.forward(tokens)
        try:
            with outputs.replacing(batch, tokens["attention_mask"]):
                cached = network.forward(tokens)
        except Exception as error:
            raise _NotCacheable(f"the layers above need more than states ({error})") from None
    cosines = torch.nn.functional.cosine_similarity(expected, cached)
    if float(cosines.min()) < 1 - _TOLERANCE:
        raise _NotCacheable("the layers above give other vectors without them")


def _allocate(rows: int, width: int, folder: Path) -> NDArray[np.float16]:
    """Return an array in memory or in a temporary file, which disappears with the process."""
    size = rows * width * np.dtype(np.float16).itemsize
    if size <= LARGE:
        return np.empty((rows, width), np.float16)
    if free_space(folder) < 2 * size:
        raise _NotCacheable(f"not enough space for {size / 1e9:.1f} GB in {folder}")
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, np.float16, "w+", shape=(rows, width))


def free_space(folder: Path) -> int:
    """Return the free bytes on a folder's disk."""
    return shutil.disk_usage(folder).free
