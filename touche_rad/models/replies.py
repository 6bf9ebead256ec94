"""Reading a chat completion: its words or the choice it made, what it cost, how it failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from touche_rad.models.extract import probabilities
from touche_rad.models.faults import Cut, Empty, Invalid, Overflow, Refusal
from touche_rad.models.usage import Cost

_BLANKS: Final = 20


def _first(reply: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Empty(f"{model}: the answer holds no choice")
    first: Mapping[str, Any] = choices[0]
    message = first.get("message")
    if isinstance(message, dict) and message.get("refusal"):
        raise Refusal(f"{model} refused: {str(message['refusal'])[:200]}")
    if first.get("finish_reason") == "content_filter":
        raise Refusal(f"{model} refused: content filter")
    return first


def words_of(reply: Mapping[str, Any], model: str) -> str:
    """Return what the model said, or raise why there is nothing whole."""
    first = _first(reply, model)
    message = first.get("message")
    said = message.get("content") if isinstance(message, dict) else None
    if first.get("finish_reason") == "length":
        cut = Cut(f"{model}: the answer was cut off; allow more tokens")
        cut.blank = isinstance(said, str) and len(said) - len(said.rstrip()) >= _BLANKS
        raise cut
    if not isinstance(said, str) or not said.strip():
        raise Empty(f"{model}: the answer holds no words")
    return said


def chosen(reply: Mapping[str, Any], choices: tuple[str, ...]) -> dict[str, float]:
    """Return how likely each choice was; where the server does not say, the chosen one has 1."""
    first = _first(reply, str(reply.get("model", "the model")))
    tokens = (first.get("logprobs") or {}).get("content") or [{}]
    likely = probabilities(tokens[0].get("top_logprobs") if tokens else None, choices)
    if likely is not None:
        return likely
    message = first.get("message") or {}
    said = str(message.get("content") or "").strip().strip("\"'.").lower()
    fitting = [choice for choice in choices if said.startswith(choice.lower())]
    if len(fitting) != 1:
        raise Invalid(f"the answer is none of {', '.join(choices)}: {said[:80]!r}")
    return {choice: float(choice == fitting[0]) for choice in choices}


def check_room(reply: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Raise where an answer was cut off before its own bound: the prompt left it no room."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or first.get("finish_reason") != "length":
        return
    written = cost_of(reply).completion_tokens
    if 0 < written < body["max_tokens"]:
        raise Overflow(f"{body['model']}: the prompt leaves room for {written} tokens only")


def cost_of(reply: Mapping[str, Any]) -> Cost:
    """Return the tokens that the server says it used."""
    told = reply.get("usage")
    if not isinstance(told, dict):
        return Cost()
    cost = Cost(
        prompt_tokens=_whole(told.get("prompt_tokens")),
        completion_tokens=_whole(told.get("completion_tokens")),
    )
    details = told.get("prompt_tokens_details")
    if isinstance(details, dict):
        cost.cached_tokens = _whole(details.get("cached_tokens"))
    return cost


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
