"""What answers: anything that takes a chat completion's body and gives its reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Backend(Protocol):
    """A place where a model is. Replies have the shape of OpenAI's chat completions."""

    @property
    def model(self) -> str:
        """The model's name, which answers are cached under."""
        ...

    @property
    def place(self) -> str:
        """What a person calls it: an address, without a key."""
        ...

    async def ready(self) -> float:
        """Wait until it can be asked, and return the seconds that starting it took."""
        ...

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Answer a request within so many seconds, or raise a `ModelError`."""
        ...

    async def context(self) -> int | None:
        """Return how many tokens a prompt and its answer may have, where that is told."""
        ...

    async def close(self) -> None:
        """Let go of what is held, and stop what was started."""
        ...
