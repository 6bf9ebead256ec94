"""What a plugin of each kind must give, and what it may give besides."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from touche_rad.contest import Contest, Outcome
from touche_rad.debate import Debate, Hit, Response, Verdicts


@runtime_checkable
class Debater(Protocol):
    """Answers the last turn of a debate. `answer` may be `def` or `async def`."""

    def answer(self, debate: Debate) -> Response | Awaitable[Response]:
        """Answer the user's last utterance."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A debater that can show how it chose: each candidate with its features, best first."""

    def explain(self, debate: Debate) -> list[dict[str, Any]]:
        """Return one row a candidate."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Judges the last response of a debate on the four maxims. `judge` may be async.

    The debate ends with the judged turn: what came later was cut off before.
    """

    def judge(self, debate: Debate) -> Verdicts | Awaitable[Verdicts]:
        """Give a verdict on each maxim."""
        ...


@runtime_checkable
class JudgesAll(Protocol):
    """A judge that may judge all responses of a debate at once."""

    async def judge_all(self, debate: Debate) -> Sequence[Verdicts] | None:
        """Give the verdicts on each turn, or None where each is to be asked for by itself."""
        ...


@runtime_checkable
class Panel(Protocol):
    """Judges a whole debate of speeches. `judge` may be async."""

    def judge(self, contest: Contest) -> Outcome | Awaitable[Outcome]:
        """Say who won, and why."""
        ...


@runtime_checkable
class Draws(Protocol):
    """A panel whose outcomes can be drawn in the report.

    Outcomes come from a file: nothing of one may reach the page unescaped. The page holds the style
    and the script once, and runs no other script.
    """

    @staticmethod
    def drawing(outcome: Outcome, contest: Contest | None) -> str:
        """Return a fragment of HTML, or nothing."""
        ...

    @staticmethod
    def drawing_style() -> str:
        """Return the style of all fragments."""
        ...

    @staticmethod
    def drawing_script() -> str:
        """Return the script of all fragments."""
        ...


@runtime_checkable
class Exports(Protocol):
    """A panel whose outcomes hold something that other programs open, such as a graph."""

    @staticmethod
    def exports(outcome: Outcome) -> Mapping[str, str]:
        """Return texts by the endings of their files; nothing where an outcome holds none."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Finds arguments for a query."""

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the best `k` hits, best first."""
        ...
