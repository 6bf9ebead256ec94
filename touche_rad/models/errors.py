"""Errors of model calls: one class per cause."""

from __future__ import annotations

from touche_rad.errors import WorkError


class ModelError(WorkError):
    """The model gave no valid answer. Retryable errors may go away with a new request."""

    retryable = False

    def __init__(self, message: str, *, after: float | None = None) -> None:
        """Set the message, and the seconds after which the server allows a new request."""
        super().__init__(message)
        self.after = after


class Unreachable(ModelError):
    """No connection, or the connection broke."""

    retryable = True


class Busy(ModelError):
    """The server cannot answer now (429, 5xx)."""

    retryable = True


class BadReply(ModelError):
    """The reply is not JSON, incomplete, or has another structure."""

    retryable = True


class Timeout(ModelError):
    """No answer before the deadline."""


class Truncated(ModelError):
    """The answer reached its maximum tokens (finish_reason=length)."""

    blank = False
    """Whether it ended in spaces, as constrained decoding sometimes does."""


class EmptyReply(ModelError):
    """The reply has no choice or no text."""

    retryable = True


class Refusal(ModelError):
    """The model refused to answer."""


class PromptTooLong(ModelError):
    """The prompt is longer than the model's context, even when shortened."""


class WrongModel(ModelError):
    """The server has no model of this name."""


class Unauthorized(ModelError):
    """The server does not accept the API key."""


class BadRequest(ModelError):
    """The server rejects the request (400)."""


class InvalidAnswer(ModelError):
    """The answer does not fit the schema, even after a repair request."""


class OverBudget(ModelError):
    """The budget of calls, tokens or seconds is used up."""


class NotCached(ModelError):
    """There is no endpoint, and the answer is not in the cache."""
