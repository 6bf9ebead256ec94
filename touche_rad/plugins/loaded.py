"""Plugins that are made: their methods, which use the user's prompts, and what each can do."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

from touche_rad.calls import call_context
from touche_rad.contest import Contest, Outcome
from touche_rad.debate import Debate, Hit, Response, Verdicts
from touche_rad.errors import UserError
from touche_rad.lists import T
from touche_rad.plugins.contracts import (
    Debater,
    ExplainedCandidate,
    Explains,
    Judge,
    Panel,
    Pipelined,
    Retriever,
    TakesSides,
)

Q = ParamSpec("Q")
R = TypeVar("R")


class Once(Generic[R]):
    """Makes a value when it is first asked for; threads that ask at the same time get the same."""

    def __init__(self, make: Callable[[], R]) -> None:
        """Make nothing yet."""
        self._make = make
        self._lock = threading.Lock()
        self._values: list[R] = []

    def __call__(self) -> R:
        """Return the value; after an error, the next call tries again."""
        with self._lock:
            if not self._values:
                self._values.append(self._make())
            return self._values[0]


class Loaded(Generic[T]):
    """A plugin as its author's class made it, with its name and the user's prompts for it."""

    def __init__(self, instance: T, name: str = "", prompts: Path | None = None) -> None:
        """Wrap an instance; without a name it is called by that of its class."""
        self.instance = instance
        self.name = name or type(instance).__name__
        self.prompts = prompts
        """Folder of prompt files that replace the plugin's own."""

    @property
    def module(self) -> str:
        """The module of the plugin's class."""
        return type(self.instance).__module__

    def _in_context(self, method: Callable[Q, R]) -> Callable[Q, R]:
        """Return a method that runs with this plugin's prompts, not with those of its caller.

        It is `async def` where the author's method is, because a plain function runs in a thread.
        """
        prompts = self.prompts  # not `self`, which would then be freed by the collector only

        async def awaited(*args: Q.args, **kwargs: Q.kwargs) -> object:
            with call_context(prompts=prompts):
                result: Any = method(*args, **kwargs)
                return await result

        def called(*args: Q.args, **kwargs: Q.kwargs) -> object:
            with call_context(prompts=prompts):
                result = method(*args, **kwargs)
            return _InContext(result, prompts) if inspect.isawaitable(result) else result

        is_async = inspect.iscoroutinefunction(method)
        return cast("Callable[Q, R]", awaited if is_async else called)


@dataclass
class _InContext:
    """What a plain method of a plugin returned to be awaited, with the prompts of the plugin."""

    awaitable: Awaitable[object]
    prompts: Path | None

    def __await__(self) -> Generator[Any, Any, object]:
        with call_context(prompts=self.prompts):
            return (yield from self.awaitable.__await__())

    def close(self) -> None:
        """Close a coroutine that nobody awaits."""
        if inspect.iscoroutine(self.awaitable):
            self.awaitable.close()


Explain = Callable[[Debate], Sequence[ExplainedCandidate] | Awaitable[Sequence[ExplainedCandidate]]]


class LoadedDebater(Loaded[Debater]):
    """A debater."""

    @cached_property
    def answer(self) -> Callable[[Debate], Response | Awaitable[Response]]:
        """Answers the user's last message."""
        return self._in_context(self.instance.answer)

    @cached_property
    def explain(self) -> Explain | None:
        """Lists the candidates for the answer, best first; None if the debater cannot."""
        if isinstance(self.instance, Explains):
            return self._in_context(self.instance.explain)
        return None

    @property
    def takes_sides(self) -> bool:
        """Whether it can argue for a claim, too, and reads `Debate.side`."""
        return isinstance(self.instance, TakesSides) and self.instance.takes_sides


class LoadedJudge(Loaded[Judge]):
    """A judge of single responses."""

    @cached_property
    def judge(self) -> Callable[[Debate], Verdicts | Awaitable[Verdicts]]:
        """Judges the last response of a debate."""
        return self._in_context(self.instance.judge)


class LoadedPanel(Loaded[Panel]):
    """A panel."""

    @cached_property
    def judge(self) -> Callable[[Contest], Outcome | Awaitable[Outcome]]:
        """Judges a whole debate of speeches."""
        return self._in_context(self.instance.judge)


class LoadedRetriever(Loaded[Retriever]):
    """A retriever."""

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the best `k` hits, best first."""
        with call_context(prompts=self.prompts):
            return self.instance.search(query, k)

    def pipeline(self, k: int = 100) -> Any:
        """Return the retriever as a PyTerrier transformer, if it is one of ours."""
        if not isinstance(self.instance, Pipelined):
            raise UserError(f"retriever {self.name} is no transformer (it has no method pipeline)")
        return self.instance.pipeline(k)
