"""Checks of `touche-rad doctor -m`: what the server of a model can do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final, Literal

from pydantic import BaseModel

from touche_rad.frozen import frozen
from touche_rad.models.errors import ModelError
from touche_rad.models.model import Model
from touche_rad.models.output import (
    NO_THINKING,
    ChoiceQuestion,
    Fields,
    NoObject,
    ObjectQuestion,
    first_choice,
    has_scores,
)
from touche_rad.models.thinking import (
    OLLAMA_OFF,
    SWITCH,
    UNKNOWN,
    family_of,
    place_of_thoughts,
    switch_of,
)

NEEDED: Final = 4_096
"""Context length in tokens that the longest prompts and answers need."""
CONTEXT: Final = "model context"
"""The name of the check of the context length."""
_SECONDS: Final = 60.0
_SHORT_ANSWER: Final = 64
"""Tokens that are enough for an answer without thoughts."""
_SWITCHES: Final[tuple[Fields, ...]] = (
    SWITCH,
    {"chat_template_kwargs": {"thinking": False}},
    OLLAMA_OFF,
)
"""Fields that switch thinking off on some server."""


@frozen
class Check:
    """Result of one check."""

    what: str
    ok: bool
    found: str
    fix: str = ""
    optional: bool = False
    """Whether only some plugins need it."""


class _Answer(BaseModel):
    relation: Literal["yes", "no"]


_WORD: Final = ChoiceQuestion(("yes", "no"))
_OBJECT: Final = ObjectQuestion(_Answer)
_JSON: Final = 'Is water wet? Answer as JSON: {"relation": "yes" or "no"}'


async def checks(model: Model) -> AsyncIterator[Check]:
    """Check what plugins need of a model; stop if the model does not answer."""
    backend = model.backend
    if not backend:
        yield Check("model", True, "EMPTY: answers come from the cache only")
        return
    message = {"role": "user", "content": "Is water wet? Answer yes or no."}
    fields = model.settings.fields_for(model.name)
    with_thoughts = _SHORT_ANSWER + model.settings.think_tokens
    request: dict[str, Any] = {"model": model.name, "messages": [message], **fields}

    async def ask(*forms: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the reply to the first form of the request that the server accepts."""
        for form in forms:
            with suppress(ModelError):
                return await backend.complete({**request, **form}, _SECONDS)
        return None

    def answers(reply: Mapping[str, Any] | None, question: ObjectQuestion | ChoiceQuestion) -> bool:
        with suppress(ModelError, NoObject):
            return reply is not None and bool(question.read(reply, model.name))
        return False

    try:
        await model.check()
        await backend.ready()
        reply = await backend.complete(request | {"max_tokens": with_thoughts}, _SECONDS)
    except ModelError as error:
        yield Check("model", False, error.what, error.fix or "see the server's log")
        return
    yield Check("model", True, f"{model.name} answers at {backend.place}")

    # Does it think, and which field switches that off?
    place = _place(reply)
    switch: Fields = {}
    limit = _SHORT_ANSWER
    family = family_of(model.name)
    is_fine = True
    fix = ""
    if not place:
        result = "it answers without thoughts"
        sent = switch_of(model.name, model.settings.think).fields
        if sent:
            result += f" (sent with each request: {json.dumps(sent)})"
    else:
        of_family = () if family is UNKNOWN else (family.off,)
        for off in filter(None, (*of_family, *_SWITCHES)):
            reply_without = await ask({"max_tokens": _SHORT_ANSWER, **off})
            if answers(reply_without, _WORD) and not _place(reply_without):
                switch = off
                break
        result = f"it thinks before it answers (thoughts in `{place}`)"
        if switch:
            is_fine = False
            line = " ".join(f"-O 'model.{key}={json.dumps(off)}'" for key, off in switch.items())
            if switch == switch_of(model.name, "off").fields:
                line = "-O model.think=off"
            fix = f"switch thinking off with {line}"
        else:
            limit = with_thoughts
            is_fine = answers(reply, _WORD)
            result += ", and no request field switches that off"
            if not is_fine:
                result += f"; it was still thinking after {with_thoughts} tokens"
            fix = "raise -O model.think_tokens, or use a model that does not think"
    yield Check("model thinking", is_fine, result, fix, optional=True)

    # Does it follow a schema, or at least write JSON?
    form = {**_OBJECT.forms[0], "max_tokens": limit}
    follows = answers(await ask({**form, **switch}), _OBJECT)
    result = "the server follows JSON schemas" if follows else "the server ignores JSON schemas"
    fix = "answers are parsed and repaired instead; vLLM supports schemas"
    messages = [{**message, "content": _JSON}]
    without_schema = {**switch, "messages": messages, "max_tokens": with_thoughts}
    json_mode = {**_OBJECT.forms[1], **without_schema}
    writes = follows or answers(await ask(json_mode, without_schema), _OBJECT)
    if switch and follows:
        both = answers(await ask({**form, "max_tokens": with_thoughts}), _OBJECT)
        result += ", with thoughts too" if both else ", but not together with thoughts"
    elif place and not follows:
        parser = family.vllm.get("reasoning-parser", "NAME")
        result = "no JSON object after its thoughts"
        fix = f"{NO_THINKING}; start vLLM with --reasoning-parser {parser}"
    elif not writes:
        result += ", and its answers have no JSON when the prompt asks for it"
        fix = "pass another model, or a server that follows schemas, such as vLLM"
    yield Check("model schemas", follows, result, fix, optional=writes)

    # Does it give the log probabilities of the answer's token?
    forms = [{**form, "max_tokens": limit, **switch} for form in _WORD.forms[:2]]
    reply = await ask(*forms) or {}
    likely = False
    result = "not available"
    with suppress(ModelError):
        likely = _WORD.likely(first_choice(reply, model.name)) is not None
        if likely:
            result = "available"
        elif has_scores(reply):
            result = "not of the answer's token"
    fix = "scores are those of the answers (0 or 1) instead of probabilities; vLLM supports them"
    yield Check("model logprobs", likely, result, fix, optional=True)

    longest = None
    with suppress(ModelError):
        longest = await backend.context()
    size = "not reported" if longest is None else f"{longest} tokens"
    fix = f"serve it with at least --max-model-len {NEEDED}"
    yield Check(CONTEXT, longest is None or longest >= NEEDED, size, fix)


def _place(reply: Mapping[str, Any] | None) -> str:
    with suppress(ModelError):
        return place_of_thoughts(first_choice(reply or {}, "the model")["message"])
    return ""
