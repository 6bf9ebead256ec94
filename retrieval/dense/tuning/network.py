"""The encoder as a network with gradients, with its frozen lower layers computed once."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

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


log = logging.getLogger("touche_rad")

LARGE: Final = 1 << 30
"""Bytes of answers beyond which they lie on disk, not in memory."""
_TOGETHER: Final = 64
_APART: Final = 1e-3
"""How far (1 - cosine) a text's vector may be off with what is kept; rounding gives 1e-5."""


class Freezable(Protocol):
    """What computes texts' vectors."""

    def tokens(self, texts: Sequence[str]) -> Any:
        """Return texts as the network takes them."""
        ...

    def vectors(self, tokens: Any) -> Any:
        """Compute one vector a text."""
        ...


@dataclass(frozen=True)
class Frozen:
    """Layers that do not learn, and what the last of them makes of each text."""

    layers: Sequence[Any]
    answers: NDArray[np.float16]
    """One row a token, text after text."""
    rows: dict[str, slice]
    alike: Callable[[Any], Any]
    """Gives states the form and type in which the layers hand them on."""

    @contextmanager
    def standing_in(self, texts: Sequence[str], mask: Any) -> Iterator[None]:
        """Have the layers answer what is kept of these texts, as long as this lasts."""
        import torch

        kept = np.concatenate([self.answers[self.rows[text]] for text in texts])
        states = torch.zeros(*mask.shape, kept.shape[1], device=mask.device)
        states[mask.bool()] = torch.from_numpy(kept).to(states)
        answer = self.alike(states)
        for layer in self.layers:
            layer.forward = lambda *_, **__: answer
        try:
            yield
        finally:
            for layer in self.layers:
                del layer.forward


def frozen(
    network: Freezable, layers: Sequence[Any], texts: Iterable[str], place: Path
) -> Frozen | None:
    """Return what layers make of texts.

    None where there are no such layers or they cannot be run apart (a line of the log says why):
    then all layers are computed at each step.
    """
    each = sorted(set(texts), key=lambda one: (len(one), one))
    if not layers or not each:
        return None
    try:
        return _kept(network, layers, each, place)
    except _NotApart as reason:
        log.warning("the layers that do not learn are computed anew at each step: %s", reason)
        return None


class _NotApart(Exception):
    """Why layers cannot be run apart."""


class _Heard(Exception):
    """Breaks a network off where its last frozen layer has answered."""


def below(model: Any, tops: Sequence[Any]) -> list[Any]:
    """Return the layers under those that learn."""
    from torch.nn import ModuleList

    for stack in model.modules():
        if isinstance(stack, ModuleList) and tops[0] in (whole := list(stack)):
            return whole[: whole.index(tops[0])]
    return []


def _kept(network: Freezable, layers: Sequence[Any], texts: Sequence[str], place: Path) -> Frozen:
    parts = [texts[at : at + _TOGETHER] for at in range(0, len(texts), _TOGETHER)]
    lengths = [int(one) for part in parts for one in network.tokens(part)["attention_mask"].sum(1)]
    ends = np.cumsum(lengths).tolist()
    rows = {
        text: slice(end - length, end)
        for text, length, end in zip(texts, lengths, ends, strict=True)
    }
    first = _heard(network, layers[-1], network.tokens(parts[0]))
    found = Frozen(layers, _room(ends[-1], first.states.shape[-1], place), rows, first.alike)
    for part in parts:
        batch = network.tokens(part)
        states = _heard(network, layers[-1], batch).states
        kept = states[batch["attention_mask"].bool()].half().cpu().numpy()
        if not np.isfinite(kept).all():
            raise _NotApart("their numbers are too large for half precision")
        found.answers[rows[part[0]].start : rows[part[-1]].stop] = kept
    for part in (parts[0], parts[-1]):
        _compare(network, found, part)
    log.info(
        "what %d layers make of %d texts is kept: %.0f MB",
        len(layers), len(texts), found.answers.nbytes / 1e6,
    )  # fmt: skip
    return found


@dataclass(frozen=True)
class _Answer:
    states: Any
    alike: Callable[[Any], Any]


def _heard(network: Freezable, layer: Any, batch: Any) -> _Answer:
    """Return what a layer answers to texts; the layers above it are spared."""
    import torch

    heard: list[Any] = []

    def hear(_: Any, __: Any, answer: Any) -> None:
        heard.append(answer)
        raise _Heard

    handle = layer.register_forward_hook(hear)
    try:
        with torch.no_grad():
            network.vectors(batch)
    except _Heard:
        pass
    finally:
        handle.remove()
    if not heard:
        raise _NotApart("they are not all used")
    states, *others = heard[0] if isinstance(heard[0], tuple) else heard
    if not isinstance(states, torch.Tensor) or states.shape[:-1] != batch["attention_mask"].shape:
        raise _NotApart("they do not answer with one state a token")
    if any(one is not None for one in others):
        raise _NotApart("they answer with more than states")
    dtype, form = states.dtype, type(heard[0])
    return _Answer(
        states,
        lambda one: (one.to(dtype), *others) if form is tuple else one.to(dtype),
    )


def _compare(network: Freezable, found: Frozen, part: Sequence[str]) -> None:
    import torch

    batch = network.tokens(part)
    with torch.no_grad():
        whole = network.vectors(batch)
        try:
            with found.standing_in(part, batch["attention_mask"]):
                apart = network.vectors(batch)
        except Exception as error:
            raise _NotApart(f"the layers above them fail without them ({error})") from None
    cosines = torch.nn.functional.cosine_similarity(whole, apart)
    if float(cosines.min()) < 1 - _APART:
        raise _NotApart("the layers above them give other vectors without them")


def _room(rows: int, width: int, place: Path) -> NDArray[np.float16]:
    """Return room in memory, or in a file that has no name and so outlasts no kill."""
    size = rows * width * np.dtype(np.float16).itemsize
    if size <= LARGE:
        return np.empty((rows, width), np.float16)
    if free(place) < 2 * size:
        raise _NotApart(f"no room for {size / 1e9:.1f} GB in {place}")
    with tempfile.TemporaryFile(dir=place) as file:
        return np.memmap(file, np.float16, "w+", shape=(rows, width))


def free(place: Path) -> int:
    """Return how many bytes are free where a folder lies."""
    return shutil.disk_usage(place).free
