"""An encoder behind an OpenAI-compatible /v1/embeddings endpoint, as vLLM serves one."""

from __future__ import annotations

import json
import os
import random
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrieval.dense.encoders import Vectors, unit
from touche_rad.errors import UserError, WorkError

BATCH = 64
TRIES = 5
SECONDS = 60.0
_LATER = {408, 425, 429, 500, 502, 503, 504, 524}


class Endpoint:
    """Asks a server for the vectors, in batches, and asks again when it is busy."""

    def __init__(self, name: str) -> None:
        address, _, model = name.removeprefix("openai:").partition("#")
        if not address.startswith(("http://", "https://")) or not model or "@" in address:
            raise UserError(f"encoder {name!r}: expected openai:http://HOST:PORT/v1#MODEL")
        self.name = f"openai:{model}"
        self._model = model
        self._address = f"{address.rstrip('/')}/embeddings"

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode what is asked."""
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Encode what is searched."""
        batches = [self._asked(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        return np.concatenate(batches) if batches else np.empty((0, 0), dtype=np.float32)

    def _asked(self, texts: Sequence[str]) -> Vectors:
        asked = json.dumps({"model": self._model, "input": list(texts), "encoding_format": "float"})
        answer = self._answer(asked.encode("utf-8"))
        try:
            rows = sorted(answer["data"], key=lambda row: int(row["index"]))
            vectors = [row["embedding"] for row in rows]
        except (KeyError, TypeError, ValueError):
            raise WorkError(f"{self._address}: expected data with embeddings") from None
        if len(vectors) != len(texts):
            told = f"{len(vectors)} vectors for {len(texts)} texts"
            raise WorkError(f"{self._address}: got {told}")
        return unit(vectors, self._address)

    def _answer(self, body: bytes) -> Any:
        headers = {"Content-Type": "application/json"}
        key = os.environ.get("OPENAI_API_KEY", "")
        if key:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self._address, body, headers)
        for left in reversed(range(TRIES)):
            try:
                with urllib.request.urlopen(request, timeout=SECONDS) as reply:
                    return json.loads(reply.read())
            except urllib.error.HTTPError as error:
                if error.code not in _LATER or not left:
                    raise WorkError(f"{self._address} answered {error.code}") from None
            except (OSError, ValueError) as error:
                if not left:
                    raise WorkError(f"{self._address}: {error}") from None
            time.sleep(min(8.0, 0.25 * 2 ** (TRIES - 1 - left)) * random.uniform(0.5, 1.0))
        raise AssertionError("the last try returns or raises")
