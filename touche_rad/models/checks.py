"""Checks of `touche-rad doctor -m`: what the server of a model can do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel

from touche_rad.models.errors import ModelError
from touche_rad.models.model import Model

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
    body = {"model": model.name, "max_tokens": 1}
    message = {"role": "user", "content": "Is water wet? Answer yes or no."}
    asked: dict[str, Any] = {**body, "messages": [message]}
    try:
        await backend.ready()
        await backend.complete(asked, _SECONDS)
    except ModelError as error:
        fix = "start the server or pass another one with -m URL#MODEL; check address and key"
        yield Check("model", False, str(error), fix)
        return
    yield Check("model", True, f"{model.name} answers at {backend.place}")
    yield await _schema(model, asked)
    yield await _logprobs(model, asked)
    longest = await _context(model)
    fix = f"serve it with at least --max-model-len {NEEDED}"
    size = "not reported" if longest is None else f"{longest} tokens"
    yield Check("model context", longest is None or longest >= NEEDED, size, fix)


async def _schema(model: Model, asked: dict[str, Any]) -> Check:
    inner = {"name": "Answer", "schema": _Answer.model_json_schema(), "strict": True}
    wanted = {"type": "json_schema", "json_schema": inner}
    fix = "answers are parsed and repaired instead; vLLM supports schemas"
    assert model.backend is not None
    try:
        reply = await model.backend.complete(
            {**asked, "max_tokens": 40, "response_format": wanted}, _SECONDS
        )
        _Answer.model_validate_json(str(reply["choices"][0]["message"]["content"]))
    except (ModelError, ValueError, LookupError, TypeError):
        return Check("model schemas", False, "the server ignores JSON schemas", fix)
    return Check("model schemas", True, "the server follows JSON schemas")


async def _logprobs(model: Model, asked: dict[str, Any]) -> Check:
    fix = "scores are 0 or 1 instead of probabilities; vLLM supports them"
    assert model.backend is not None
    try:
        reply = await model.backend.complete(
            {**asked, "logprobs": True, "top_logprobs": 5}, _SECONDS
        )
        found = bool(reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"])
    except (ModelError, LookupError, TypeError):
        found = False
    return Check("model logprobs", found, "available" if found else "not available", fix)


async def _context(model: Model) -> int | None:
    assert model.backend is not None
    try:
        return await model.backend.context()
    except ModelError:
        return None
