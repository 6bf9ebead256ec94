"""Checks of `touche-rad doctor -m`: what the server of a model can do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel

from touche_rad.models.errors import ModelError
from touche_rad.models.model import Model
from touche_rad.models.output import NO_THINKING, has_thoughts, without_thoughts

NEEDED: Final = 4_096
"""Context length in tokens that the longest prompts and answers need."""
_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Check:
    """Result of one check."""

    what: str
    ok: bool
    found: str
    fix: str = ""


class _Answer(BaseModel):
    relation: Literal["yes", "no"]


async def checks(model: Model) -> AsyncIterator[Check]:
    """Check what plugins need of a model; stop if the model does not answer."""
    backend = model.backend
    if backend is None:
        yield Check("model", True, "EMPTY: answers come from the cache only")
        return
    message = {"role": "user", "content": "Is water wet? Answer yes or no."}
    more = model.settings.more
    request: dict[str, Any] = {"model": model.name, "max_tokens": 40, "messages": [message], **more}
    try:
        await backend.ready()
        reply = await backend.complete(request, _SECONDS)
    except ModelError as error:
        fix = "start the server or pass another one with -m URL#MODEL; check address and key"
        yield Check("model", False, str(error), fix)
        return
    yield Check("model", True, f"{model.name} answers at {backend.place}")
    thinks = has_thoughts((reply.get("choices") or [{}])[0].get("message"))
    said = "it thinks before it answers" if thinks else "it answers without thoughts"
    yield Check("model thinking", not thinks, said, f"thoughts use up tokens: {NO_THINKING}")

    async def has(read: Callable[[Any], object], **more: Any) -> bool:
        """Whether `read` gives something for the answer to a request with more fields."""
        try:
            reply = await backend.complete(request | more, _SECONDS)
            return bool(read(reply["choices"][0]))
        except (ModelError, ValueError, LookupError, TypeError):
            return False

    inner = {"name": "Answer", "schema": _Answer.model_json_schema(), "strict": True}
    follows = await has(
        lambda choice: _Answer.model_validate_json(
            without_thoughts(str(choice["message"]["content"]))
        ),
        max_tokens=2_048 if thinks else 40,
        response_format={"type": "json_schema", "json_schema": inner},
    )
    found = f"the server {'follows' if follows else 'ignores'} JSON schemas"
    fix = "answers are parsed and repaired instead; vLLM supports schemas"
    if thinks and not follows:
        found, fix = "no answer after its thoughts with 2,048 tokens", NO_THINKING
    yield Check("model schemas", follows, found, fix)
    likely = await has(
        lambda choice: choice["logprobs"]["content"][0]["top_logprobs"],
        logprobs=True,
        top_logprobs=5,
        max_tokens=1,
    )
    fix = "scores are 0 or 1 instead of probabilities; vLLM supports them"
    yield Check("model logprobs", likely, "available" if likely else "not available", fix)
    longest = None
    with suppress(ModelError):
        longest = await backend.context()
    size = "not reported" if longest is None else f"{longest} tokens"
    fix = f"serve it with at least --max-model-len {NEEDED}"
    yield Check("model context", longest is None or longest >= NEEDED, size, fix)
