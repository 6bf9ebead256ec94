"""Models that think before they answer: what the table says of a model, and thoughts in replies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from touche_rad.records import FrozenRecord
from touche_rad.text import packaged_table

Think = Literal["off", "auto", "on"]
SWITCH: Final = {"chat_template_kwargs": {"enable_thinking": False}}
"""The field that most chat templates read; for models that the table does not have."""
_SWITCH_ON: Final = {"chat_template_kwargs": {"enable_thinking": True}}
OLLAMA_OFF: Final = {"reasoning_effort": "none"}
"""The only switch of Ollama's server, where models think unless it is off."""
_OLLAMA: Final = re.compile(r":[^/]*$")
"""A name with a tag, such as `qwen3:8b`."""


class Family(FrozenRecord):
    """What is known of the models with a name: see `families.toml`."""

    name: str
    pattern: str
    thinks: Literal["never", "asked", "default", "always"]
    off: Mapping[str, Any] = {}
    on: Mapping[str, Any] = {}
    vllm: Mapping[str, str] = {}


class Switch(NamedTuple):
    """How a request switches thinking off or on."""

    fields: Mapping[str, Any]
    thinks: bool
    """Whether thoughts are expected, so that the first request leaves room for them."""


UNKNOWN: Final = Family(name="", pattern="", thinks="default", off=SWITCH, on=_SWITCH_ON)
"""The family of the models that the table does not have."""


@cache
def family_of(model: str) -> Family:
    """Return the family of a model by its name."""
    table = packaged_table(__package__, "families.toml")
    name = model.rstrip("/").rpartition("/")[2].lower()
    families = map(Family.model_validate, table["family"])
    return next((family for family in families if re.search(family.pattern, name)), UNKNOWN)


@cache
def switch_of(model: str, think: Think) -> Switch:
    """Return how a model's thinking is switched.

    `auto` switches it off where the table says how: each step needs one JSON object or one word.
    """
    family = family_of(model)
    if family is UNKNOWN and think == "auto":
        return Switch({}, False)
    is_on = think == "on"
    fields = family.on if is_on else family.off
    if _OLLAMA.search(model) and family.thinks != "never" and "reasoning_effort" not in fields:
        return Switch({} if is_on else OLLAMA_OFF, is_on)
    return Switch(fields, is_on or family.thinks == "always")


_MARK: Final = r"[\w:|]*(?i:think(?:ing)?|thought)\|?[>\]▷]"
_BEGIN: Final = re.compile(rf"\s*(?:[<\[◁]{_MARK}|<\|(?:start|channel)\|?>|analysis(?=[A-Z]))")
"""A mark such as `<think>`, or a channel (Gemma 4, gpt-oss); a server may leave out its marks."""
_END: Final = re.compile(
    rf"[<\[◁]/{_MARK}|<channel\|>|<\|channel\|>\s*final\b[^\n]*?<\|message\|>|assistantfinal"
)
"""The end of thoughts; a chat template may have written their beginning into the prompt."""
_FIELDS: Final = ("reasoning", "reasoning_content")
"""The fields of a message in which servers put thoughts."""


def place_of_thoughts(message: object) -> str:
    """Return where a message of a reply has thoughts: a field of it, or empty if it has none."""
    if not isinstance(message, Mapping):
        return ""
    text = str(message.get("content") or "")
    within = "content" if text != without_thoughts(text) else ""
    return next((key for key in _FIELDS if message.get(key)), within)


def without_thoughts(text: str) -> str:
    """Return an answer without the thoughts before it; unfinished thoughts leave nothing."""
    if text.lstrip().startswith("{"):  # an object may quote a text with such a mark
        return text
    answer = _END.split(text)[-1]
    return "" if _BEGIN.match(answer) else answer
