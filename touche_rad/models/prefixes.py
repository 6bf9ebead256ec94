"""How much of the prompts a server's prefix cache could serve: counted, not hoped for."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import Final

from touche_rad.models.prompts import Message
from touche_rad.models.usage import Cost

BLOCK: Final = 64
"""Characters that are known together or not at all: 16 tokens, the server's block, are as many."""
MOST: Final = 2_000_000


class Prefixes:
    """Remembers the beginnings of prompts, block by block, as a prefix cache does."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._lock = threading.Lock()

    def cost_of(self, messages: Sequence[Message]) -> Cost:
        """Note a prompt; return its length and how much of it began an earlier one, in letters."""
        text = "".join(f"\x00{message.role}\x00{message.content}" for message in messages)
        data = text.encode("utf-8", "replace")
        shared, chain, still = 0, b"", True
        with self._lock:
            for start in range(0, len(data) - BLOCK + 1, BLOCK):
                piece = data[start : start + BLOCK]
                chain = hashlib.blake2b(chain + piece, digest_size=12).digest()
                if still and chain in self._known:
                    shared += BLOCK
                    continue
                still = False
                if len(self._known) < MOST:
                    self._known.add(chain)
        return Cost(prompt_letters=len(data), shared_letters=shared)
