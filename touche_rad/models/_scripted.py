"""`scripted:FILE`: answers from a file, for demos, tests, and trying a plugin without a model.

Each line of the file is a JSON object: `answer` (a text, or an object that is sent as JSON) and
optionally `when`, a text that must be in the prompt. The first matching line answers. Lines with
the same `when` answer in turn; the last one answers from then on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touche_rad.files.records import read_models
from touche_rad.models.endpoint import Backend, completion
from touche_rad.models.errors import BadRequest
from touche_rad.records import FrozenRecord


class _Line(FrozenRecord):
    answer: object
    when: str = ""


class Scripted(Backend):
    """A backend that answers from a file."""

    def __init__(self, path: Path) -> None:
        """Read the file; an error names the line."""
        self.path = path
        self.model = f"scripted:{path.name}"
        self.place = f"scripted:{path}"
        self._lines: dict[str, list[str]] = {}
        for line in read_models(path, _Line):
            text = line.answer if isinstance(line.answer, str) else json.dumps(line.answer)
            self._lines.setdefault(line.when, []).append(text)

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Answer with the first matching line."""
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        for when, answers in self._lines.items():
            if when in prompt:
                text = answers.pop(0) if len(answers) > 1 else answers[0]
                return completion(text, len(prompt.split()), len(text.split()))
        raise BadRequest(f"{self.path}: no line matches the prompt: {prompt[-60:]!r}")
