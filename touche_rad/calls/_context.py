"""The context of a call: which plugin, debate and turn, its deadline, and what its model did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final


@dataclass
class ModelUse:
    """The results of the model calls that one answer or verdict made."""

    answered: int = 0
    failures: list[Exception] = field(default_factory=list)
    without: Exception | None = None
    """Why the plugin gave a result that the model did not make, if it reported that."""
    prompts: set[str] = field(default_factory=set)
    """The prompt files that were used, as text."""

    @property
    def failure(self) -> Exception | None:
        """Why the result was made without the model; None if the model took part."""
        if self.without is None and self.failures and not self.answered:
            return self.failures[0]
        return self.without

    def add(self, other: ModelUse) -> None:
        """Add the calls of another result that this one was made from."""
        self.answered += other.answered
        self.failures += other.failures
        self.prompts |= other.prompts


@dataclass(frozen=True)
class CallContext:
    """The plugin, debate and turn of a model call, and its deadline."""

    plugin: str = ""
    debate: str = ""
    turn: int | None = None
    deadline: float | None = None
    """Time on the monotonic clock at which every model call must have ended."""
    prompts: Path | None = None
    """Folder of prompt files that replace the plugin's own."""
    model_use: ModelUse | None = None
    """Collects the results of the model calls."""
    report_failure: Callable[[Any, BaseException], None] | None = None
    """Receives each fallback of the current run, with its cause."""
    observe: Callable[[Mapping[str, Any]], None] | None = None
    """Receives each search and each model call as a JSON object, perhaps in another thread."""

    def record(self) -> dict[str, Any]:
        """Return the known values, for a line of the trace."""
        values = {"plugin": self.plugin, "debate": self.debate, "turn": self.turn}
        return {key: value for key, value in values.items() if value not in ("", None)}


_NOW: Final[ContextVar[CallContext]] = ContextVar("call_context", default=CallContext())  # noqa: B039


def current_context() -> CallContext:
    """Return the context of the current task."""
    return _NOW.get()


@contextmanager
def call_context(**values: Any) -> Iterator[None]:
    """Set values of the context for the calls made inside."""
    before = _NOW.set(replace(_NOW.get(), **values))
    try:
        yield
    finally:
        _NOW.reset(before)


def report_without_model(error: Exception) -> None:
    """Report that the plugin's answer or verdict is made without its model.

    A plugin calls this where it catches a model's error and answers by other means. The run then
    counts the result as a fallback. A result whose model calls all failed is counted anyway.
    """
    use = current_context().model_use
    if use is not None:
        use.without = error


def name_of(plugin: object) -> str:
    """Return the name of a plugin; the name of its class if it was not created by `make`."""
    return str(getattr(plugin, "plugin_name", type(plugin).__name__))
