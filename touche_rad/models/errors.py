"""Errors of model calls: one class per cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from touche_rad import http
from touche_rad.http import RequestError


class ModelError(RequestError):
    """The model gave no valid answer."""

    problem = "the model gave no valid answer"
    """What happened, for users."""

    @property
    def stored(self) -> Mapping[str, str]:
        """What the cache has of a request that failed."""
        return {"error": type(self).__name__, "message": str(self)}


class Unreachable(ModelError):
    """No connection, or the connection broke."""

    problem = "model unreachable"
    retryable = True
    is_down = True


class Busy(ModelError):
    """The server cannot answer now (429, 5xx)."""

    problem = "the model's server failed"
    retryable = True


class BadReply(ModelError):
    """The reply is not JSON, incomplete, or has another structure."""

    problem = "the model's server sent no valid reply"
    retryable = True


class Timeout(ModelError):
    """No answer before the deadline."""

    problem = "the model timed out"


class Truncated(ModelError):
    """The answer reached its maximum tokens (finish_reason=length)."""

    problem = "the model's answer was cut off"

    blank = False
    """Whether it ended in spaces, as constrained decoding sometimes does."""
    thinking = False
    """Whether thoughts used up its tokens."""
    begun = False
    """Whether a JSON object had begun."""


class EmptyReply(ModelError):
    """The reply has no choice or no text."""

    problem = "the model's answer was empty"
    retryable = True


class Refusal(ModelError):
    """The model refused to answer."""

    problem = "the model refused"


class PromptTooLong(ModelError):
    """The prompt is longer than the model's context, even when shortened."""

    problem = "the prompt is too long for the model"


class WrongModel(ModelError):
    """The server has no model of this name."""

    problem = "unknown model"
    is_down = True


class Unauthorized(ModelError):
    """The server does not accept the API key."""

    problem = "the API key was refused"
    is_down = True


class BadRequest(ModelError):
    """The server rejects the request (400)."""

    problem = "the model's server refused the request"


class InvalidAnswer(ModelError):
    """The answer does not fit the schema, even after a repair request."""

    problem = "the model's answer was invalid"


class OverBudget(ModelError):
    """The budget of calls, tokens or seconds is used up."""

    problem = "the budget of model calls is used up"


class NotCached(ModelError):
    """There is no endpoint, and the answer is not in the cache."""

    problem = "no endpoint, and the answer is not in the cache"


def stored_error(stored: Mapping[str, object]) -> ModelError:
    """Return the error of which the cache has this; NotCached if it is damaged."""
    classes = {kind.__name__: kind for kind in ModelError.__subclasses__()}
    kind = classes.get(str(stored.get("error")), NotCached)
    return kind(str(stored.get("message", "")))


_CLASSES: Final[Mapping[type[RequestError], type[ModelError]]] = {
    http.NoConnection: Unreachable,
    http.NoReplyInTime: Timeout,
    http.BadReply: BadReply,
    http.Busy: Busy,
    http.Refused: BadRequest,
}


def model_error(error: RequestError) -> ModelError:
    """Return the error of a request as that of a model."""
    if isinstance(error, ModelError):
        return error
    return _CLASSES[type(error)](
        error.what,
        fix=error.fix,
        status=error.status,
        reason=error.reason,
        retry_after=error.retry_after,
    )
