"""What can go wrong when a model is asked, each with a name of its own."""

from __future__ import annotations

from touche_rad.errors import WorkError


class ModelError(WorkError):
    """A model gave no valid answer. Retryable errors may go away when the request is sent again."""

    retryable = False

    def __init__(self, told: str, *, after: float | None = None) -> None:
        """Say what happened; `after` is when the server wants to be asked again, in seconds."""
        super().__init__(told)
        self.after = after


class Unreachable(ModelError):
    """Nothing answers there, or the connection broke."""

    retryable = True


class Busy(ModelError):
    """The server is there and cannot answer now (429, 5xx)."""

    retryable = True


class BadReply(ModelError):
    """What came back is no answer of the protocol: no JSON, half of one, another shape."""

    retryable = True


class Timeout(ModelError):
    """No answer before the deadline."""


class Truncated(ModelError):
    """The answer was cut off at its longest (finish_reason=length)."""

    blank = False
    """Whether it ran out in blanks, as a model does that a grammar holds and that is lost."""


class EmptyReply(ModelError):
    """The answer holds no choice, or no words."""

    retryable = True


class Refusal(ModelError):
    """The model refused."""


class PromptTooLong(ModelError):
    """The prompt is longer than the model's context, also when shortened."""


class WrongModel(ModelError):
    """The endpoint does not know the model."""


class Unauthorized(ModelError):
    """The endpoint wants another key."""


class BadRequest(ModelError):
    """The endpoint refuses the request as it is."""


class InvalidAnswer(ModelError):
    """The model answered, and not with what the schema asks for, also when asked to repair it."""


class OverBudget(ModelError):
    """The run has no calls or tokens left."""


class NotCached(ModelError):
    """There is no endpoint, and the cache does not hold the answer."""
