"""The scripted model endpoint, which keeps each request under the first part of its path.

So each command has its own requests. With `/fails/` in their path they fail.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from tests.models.by_prompt import answer_by_prompt
from tests.models.scripted import Handler

requests: defaultdict[str, list[str]] = defaultdict(list)
"""The requests of each command."""


class Recording(Handler):
    """One request."""

    def handle_one_request(self) -> None:
        self.body: Any = None
        super().handle_one_request()

    def do_GET(self) -> None:
        """Name the model."""
        self.keep()
        self.say(200, b'{"data": [{"id": "tiny"}]}')

    def keep(self) -> str:
        """Keep the request, and return its path."""
        _, command, path = self.path.split("/", 2)
        line = json.dumps([self.command, path, self.body], ensure_ascii=False)
        requests[command].append(line)
        return path


def answer(handler: Any) -> None:
    """Answer by the prompt."""
    if "fails/" in handler.keep():
        handler.say(500, b'{"error": {"message": "out of order"}}')
    else:
        answer_by_prompt(handler)
