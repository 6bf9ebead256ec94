"""Checks of `touche-rad doctor -m`: what the server of a model can do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel

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
from touche_rad.models.thinking import OLLAMA_OFF, SWITCH, family_of, place_of_thoughts, switch_of

NEEDED: Final = 4_096
"""Context length in tokens that the longest prompts and answers need."""
CONTEXT: Final = "model context"
"""The name of the check of the context length."""
_SECONDS: Final = 60.0
_SHORT: Final = 64
"""Tokens that are enough for an answer without thoughts."""
_SWITCHES: Final[tuple[Fields, ...]] = (
    SWITCH,
    {"chat_template_kwargs": {"thinking": False}},
    OLLAMA_OFF,
)
"""Fields that switch thinking off on some server."""


@dataclass(frozen=True)
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
    if backend is None:
        yield Check("model", True, "EMPTY: answers come from the cache only")
        return
    message = {"role": "user", "content": "Is water wet? Answer yes or no."}
    fields = model.settings.fields_for(model.name)
    much = _SHORT + model.settings.think_tokens
    request: dict[str, Any] = {"model": model.name, "messages": [message], **fields}

    async def ask(*more: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the reply to the first request that the server accepts."""
        for one in more:
            with suppress(ModelError):
                return await backend.complete({**request, **one}, _SECONDS)
        return None

    def answers(reply: Mapping[str, Any] | None, question: ObjectQuestion | ChoiceQuestion) -> bool:
        with suppress(ModelError, NoObject):
            return reply is not None and bool(question.read(reply, model.name))
        return False

    try:
        await model.check()
        await backend.ready()
        reply = await backend.complete(request | {"max_tokens": much}, _SECONDS)
    except ModelError as error:
        yield Check("model", False, error.what, error.fix or "see the server's log")
        return
    yield Check("model", True, f"{model.name} answers at {backend.place}")

    place, switch, limit = _place(reply), {}, _SHORT
    family = family_of(model.name)
    if not place:
        sent = switch_of(model.name, model.settings.think).fields
        why = f" (sent with each request: {json.dumps(sent)})" if sent else ""
        yield Check("model thinking", True, f"it answers without thoughts{why}", optional=True)
    else:
        of_family = (family.off,) if family is not None and family.off else ()
        for one in (*of_family, *_SWITCHES):
            off = await ask({"max_tokens": _SHORT, **one})
            if answers(off, _WORD) and not _place(off):
                switch = dict(one)
                break
        where = f"it thinks before it answers (thoughts in `{place}`)"
        if switch:
            line = " ".join(f"-O 'model.{key}={json.dumps(one)}'" for key, one in switch.items())
            if switch == switch_of(model.name, "off").fields:
                line = "-O model.think=off"
            yield Check(
                "model thinking", False, where, f"switch thinking off with {line}", optional=True
            )
        else:
            limit, ended = much, answers(reply, _WORD)
            found = f"{where}, and no request field switches that off"
            found += "" if ended else f"; it was still thinking after {much} tokens"
            room = "raise -O model.think_tokens, or use a model that does not think"
            yield Check("model thinking", ended, found, room, optional=True)

    form = {**_OBJECT.forms[0], "max_tokens": limit}
    follows = answers(await ask(form | switch), _OBJECT)
    found = f"the server {'follows' if follows else 'ignores'} JSON schemas"
    fix = "answers are parsed and repaired instead; vLLM supports schemas"
    wanted = {**switch, "messages": [{**message, "content": _JSON}], "max_tokens": much}
    writes = follows or answers(await ask({**_OBJECT.forms[1], **wanted}, wanted), _OBJECT)
    if switch and follows:
        both = answers(await ask({**form, "max_tokens": much}), _OBJECT)
        found += ", with thoughts too" if both else ", but not together with thoughts"
    elif place and not follows:
        parser = (family.vllm if family else {}).get("reasoning-parser", "NAME")
        found = "no JSON object after its thoughts"
        fix = f"{NO_THINKING}; start vLLM with --reasoning-parser {parser}"
    elif not writes:
        found += ", and its answers have no JSON when the prompt asks for it"
        fix = "pass another model, or a server that follows schemas, such as vLLM"
    yield Check("model schemas", follows, found, fix, optional=writes)

    scored_forms = _WORD.forms[:2]
    reply = await ask(*({**one, "max_tokens": limit, **switch} for one in scored_forms)) or {}
    likely, scored = False, False
    with suppress(ModelError):
        likely = _WORD.likely(first_choice(reply, model.name)) is not None
        scored = has_scores(reply)
    found = "available" if likely else "not of the answer's token" if scored else "not available"
    fix = "scores are 0 or 1 instead of probabilities; vLLM supports them"
    yield Check("model logprobs", likely, found, fix, optional=True)
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
