"""Speaking a turn, whatever breaks: the chosen user, else the rules, else the rules alone."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import anyio

from touche_rad.calls import Calls
from touche_rad.debate import Debate
from touche_rad.models.occasion import on, until
from touche_rad.text import clean, count_words, cut_to_words
from touche_rad.users.rules import RuleUser
from touche_rad.users.simulator import UserSimulator

log = logging.getLogger("touche_rad")

_ENOUGH: Final = 20_000
"""So many letters of an utterance are looked at."""
_LETTERS_A_WORD: Final = 20
"""A word of thousands of letters is one word to who counts words alone."""


@dataclass(frozen=True)
class Spoken:
    """What the user says, and what was done on the way to it."""

    utterance: str
    notes: tuple[str, ...] = ()
    replaced: bool = False
    """Whether a plainer user had to say it."""


class Speaker:
    """Speaks for a user: it never raises, and what it returns has words and is one line."""

    def __init__(
        self,
        user: UserSimulator,
        stand_in: RuleUser | None = None,
        *,
        name: str = "",
        max_words: int = 0,
        deadline: float | None = None,
    ) -> None:
        """Remember whom to ask.

        Args:
            user: The chosen user.
            stand_in: Who speaks where it fails.
            name: What the chosen user is called.
            max_words: The most words of an utterance, cut at sentence ends; 0 cuts none.
            deadline: Seconds that the chosen user has for an utterance.
        """
        self.user = user
        self.stand_in = stand_in or RuleUser(None)
        self.name = name or type(user).__name__
        self.max_words = max_words
        self.deadline = deadline
        self._call = Calls()

    async def speak(self, debate: Debate) -> Spoken:
        """Say what the user says next in a debate."""
        turn = len(debate.turns)
        try:
            limit = until(self.deadline)
            with on(plugin=f"user {self.name}", debate=debate.key, turn=turn, until=limit):
                return self._bounded(await self._asked(_words_of(self.user, debate), debate))
        except Exception as error:
            log.debug("the simulated user failed", exc_info=error)
            failure = f"user fallback: {_told(error)}"
        return Spoken(await self._stood_in(debate), (failure,), replaced=True)

    async def _stood_in(self, debate: Debate) -> str:
        """Let the rules speak; those that search an index may fail as well."""
        try:
            return clean(await self._asked(_anew(self.stand_in, debate), debate))
        except Exception as error:
            log.debug("the stand-in failed", exc_info=error)
        alone = RuleUser(None, self.stand_in.seed, self.stand_in.options)
        return clean(_anew(alone, debate)(debate))

    async def _asked(self, words: Callable[[Debate], str | Awaitable[str]], debate: Debate) -> str:
        with anyio.move_on_after(self.deadline):
            return await self._call(words, debate)
        raise TimeoutError(f"no utterance within {self.deadline:g} seconds")

    def _bounded(self, said: object) -> Spoken:
        if not isinstance(said, str):
            raise TypeError(f"expected words, got {type(said).__name__}")
        whole = clean(said[:_ENOUGH])
        if not whole:
            raise ValueError("it said nothing")
        if not self.max_words:
            return Spoken(whole)
        kept = cut_to_words(whole, self.max_words)[: _LETTERS_A_WORD * self.max_words].rstrip()
        if kept == whole:
            return Spoken(whole)
        return Spoken(kept, (f"user cut: {count_words(whole)} words to {count_words(kept)}",))


def _words_of(user: UserSimulator, debate: Debate) -> Callable[[Debate], str | Awaitable[str]]:
    return user.reply if debate.turns else user.open


def _anew(user: RuleUser, debate: Debate) -> Callable[[Debate], str]:
    return user.anew if debate.turns else user.open


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {clean(str(error)[:_ENOUGH])[:300]}"
