"""Errors of model calls: one class per cause."""

from __future__ import annotations

from touche_rad.errors import WorkError


class ModelError(WorkError):
    """The model gave no valid answer. Retryable errors may go away with a new request."""

    retryable = False
    problem = "the model gave no valid answer"
    """What happened, for users."""

    def __init__(
        self, what: str, *, fix: str = "", after: float | None = None, is_down: bool | None = None
    ) -> None:
        """Make an error; `what` has the address, and the message adds `fix`.

        A new request is allowed after `after` seconds; `is_down`: the server answers no request.
        """
        super().__init__(f"{what}; {fix}" if fix else what)
        self.what, self.fix = what, fix
        self.after = after
        lasting = Unreachable, Unauthorized, WrongModel
        self.is_down = isinstance(self, lasting) if is_down is None else is_down


class Unreachable(ModelError):
    """No connection, or the connection broke."""

    problem = "model unreachable"
    retryable = True


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


class Unauthorized(ModelError):
    """The server does not accept the API key."""

    problem = "the API key was refused"


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
