"""Answering a turn, whatever breaks: the chosen debater, poorer ones, at last a fixed sentence."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio

from touche_rad.debate import Debate, Response
from touche_rad.errors import ToucheRadError, UserError, WorkError
from touche_rad.models.context import call_context, deadline_in
from touche_rad.plugins import ArgumentIndex, Debater, Services, find, registered
from touche_rad.plugins.timeouts import Calls
from touche_rad.runs.guard import guard

log = logging.getLogger("touche_rad")

LAST_RESORT: Final = "last-resort"
HONEST: Final = (
    "I respectfully disagree, but I found no counter-argument in my collection that fits what "
    "you just said, and I will not make one up."
)
"""What is said when no debater could answer."""

FALLBACKS: Final = ("grounded", "verbatim")
"""Who is asked when the chosen debater fails, best first."""

_LEAST_PATIENCE = 2.0


@dataclass(frozen=True)
class Answer:
    """A valid response, who gave it, and what was done on the way to it."""

    response: Response
    by: str
    notes: tuple[str, ...] = ()


class Answerer:
    """Answers any debate: it never raises, and what it returns has passed the guard."""

    def __init__(
        self,
        chain: Sequence[tuple[str, Debater]],
        index: ArgumentIndex | None = None,
        *,
        max_words: int = 60,
        deadline: float | None = None,
    ) -> None:
        """Remember whom to ask.

        Args:
            chain: Names and debaters, the chosen one first, poorer ones after it.
            index: Where every cited argument must stand; None checks no citation.
            max_words: The most words of an answer, cut at sentence ends; 0 cuts none.
            deadline: Seconds the first debater has. Each poorer one has a quarter of them, though
                never under two, nor more than the first: they are asked to be quick.
        """
        self.chain = tuple(chain)
        self.index = index
        self.max_words = max_words
        self.deadline = deadline
        self._call = Calls()
        self._told: set[tuple[str, str]] = set()

    @property
    def chosen(self) -> str:
        """The name of the debater that should answer; any other stands in for it."""
        return self.chain[0][0] if self.chain else LAST_RESORT

    async def answer(self, debate: Debate) -> Answer:
        """Answer the last turn of a debate."""
        notes: list[str] = []
        for place, (name, debater) in enumerate(self.chain):
            try:
                patience = self._patience(place)
                turn = len(debate.turns) - 1
                with call_context(
                    plugin=name, debate=debate.key, turn=turn, deadline=deadline_in(patience)
                ):
                    response, done = await self._ask(debater, debate, patience)
            except Exception as error:
                reason = _told(error)
                self._tell(name, error, reason)
                notes.append(f"fallback from {name}: {reason}")
                continue
            return Answer(response, name, (*notes, *done))
        response, _ = guard(Response(content=HONEST), None, self.max_words)
        return Answer(response, LAST_RESORT, (*notes, f"{LAST_RESORT}: no debater answered"))

    def _tell(self, name: str, error: Exception, reason: str) -> None:
        """Log each kind of failure once as a warning, and every one of them for who looks close."""
        kind = name, type(error).__name__
        log.log(
            logging.DEBUG if kind in self._told else logging.WARNING,
            "debater %s failed: %s", name, reason, exc_info=log.isEnabledFor(logging.DEBUG),
        )  # fmt: skip
        self._told.add(kind)

    async def _ask(
        self, debater: Debater, debate: Debate, seconds: float | None
    ) -> tuple[Response, tuple[str, ...]]:
        with anyio.move_on_after(seconds):
            response = await self._call(debater.answer, debate)
            return await self._call(guard, response, self.index, self.max_words)
        raise TimeoutError(f"no answer within {seconds:g} seconds")

    def _patience(self, place: int) -> float | None:
        if self.deadline is None or place == 0:
            return self.deadline
        return min(self.deadline, max(_LEAST_PATIENCE, self.deadline / 4))


def _told(error: BaseException) -> str:
    words = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def make_chain(
    name: str, given: Mapping[str, str], services: Services
) -> tuple[tuple[str, Debater], ...]:
    """Make the chosen debater and the poorer ones that stand in for it.

    Args:
        name: The chosen debater's name.
        given: Its options, as strings.
        services: What debaters may use.

    Raises:
        UserError: There is no such debater, an option is wrong, or the machine lacks its needs.
        WorkError: The chosen debater could not be made.
    """
    chosen = _chosen(name, given, services)
    alone = replace(services, model=None)  # who stands in must not wait for what just failed
    asks = services.model is not None and "model" in find("debater", name).uses
    found = (_poorer(other, alone) for other in FALLBACKS if other != name or asks)
    poorer = [one for one in found if one]
    return (
        (name, chosen),
        *((f"{other} without a model" if other == name else other, made) for other, made in poorer),
    )


def _chosen(name: str, given: Mapping[str, str], services: Services) -> Debater:
    plugin = find("debater", name)
    lacking = plugin.missing(index=services.index is not None, model=services.model is not None)
    if lacking:
        raise UserError(f"debater {name} needs {' and '.join(lacking)}")
    try:
        made: Debater = plugin.make(services, given)
    except ToucheRadError:
        raise
    except Exception as error:
        raise WorkError(f"debater {name} cannot be made: {_told(error)}") from error
    return made


def _poorer(name: str, services: Services) -> tuple[str, Debater] | None:
    plugin = registered("debater").get(name)
    if plugin is None:
        return None
    try:
        if plugin.missing(index=services.index is not None):
            return None
        return name, plugin.make(services)
    except Exception as error:
        log.warning("debater %s cannot stand in: %s", name, _told(error))
        return None
