"""The interface of simulated users, and the speaker that calls one with a fallback."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol, runtime_checkable

from touche_rad.calls import Caller, Calls, call_context
from touche_rad.debate import Debate
from touche_rad.errors import describe
from touche_rad.events import Event, EventKind, log
from touche_rad.frozen import frozen
from touche_rad.text import clean, count_words, cut_to_words, is_blank
from touche_rad.users._rules import RuleUser


class UserSimulator(Protocol):
    """Plays the user. Both methods may be `def` or `async def`, and may raise.

    A user keeps no state between calls, because a run may be continued in another process.
    """

    def open(self, claim: Debate) -> str | Awaitable[str]:
        """Return the first utterance of a debate that has a claim and no turns yet."""

    def reply(self, debate: Debate) -> str | Awaitable[str]:
        """Return the reply to the last response of the debate."""


@runtime_checkable
class DescribesItself(Protocol):
    """A user that says more about itself than its class."""

    def describe(self, debate: Debate) -> Mapping[str, Any]:
        """Return what it is, as JSON data."""


def describe_user(user: UserSimulator, debate: Debate) -> dict[str, Any]:
    """Return the entry in a simulation's configuration; a user may `describe` itself."""
    details = user.describe(debate) if isinstance(user, DescribesItself) else {}
    return {"class": type(user).__name__, "model": debate.user, **details}


_MAX_LETTERS: Final = 20_000
"""Maximum characters of an utterance."""
_LETTERS_PER_WORD: Final = 20
"""Maximum average characters per word of an utterance."""


@frozen
class UserUtterance:
    """What the user says, with events on failures and changes."""

    utterance: str
    events: tuple[Event, ...] = ()
    error: Exception | None = None
    """Why it is from the fallback user instead of the selected one."""


@dataclass
class Speaker:
    """Calls a user, with a time limit and a fallback; never raises."""

    user: UserSimulator
    fallback: RuleUser = field(default_factory=partial(RuleUser, None))
    name: str = ""
    """Empty: the name of the user's class."""
    max_words: int = 0
    """Maximum words of an utterance; 0: no limit."""
    deadline: float | None = None

    def __post_init__(self) -> None:
        self.name = self.name or type(self.user).__name__
        self._call = Calls()

    async def speak(self, debate: Debate) -> UserUtterance:
        """Return the user's next utterance."""
        method = self.user.reply if debate.turns else self.user.open
        try:
            with call_context(caller=Caller(f"user {self.name}", debate.key, len(debate.turns))):
                utterance = await self._call(method, debate, seconds=self.deadline)
            if not isinstance(utterance, str):
                raise TypeError(f"expected a text, got {type(utterance).__name__}")
            uncut = clean(utterance[:_MAX_LETTERS])
            if is_blank(uncut):
                raise ValueError("the utterance is empty")
        except Exception as error:
            log.debug("the simulated user failed", exc_info=error)
            event = EventKind.USER_FALLBACK.event(clean(describe(error)))
            return UserUtterance(await self._from_fallback(debate), (event,), error)
        if not self.max_words:
            return UserUtterance(uncut)
        short = cut_to_words(uncut, self.max_words)[: _LETTERS_PER_WORD * self.max_words].rstrip()
        if short == uncut:
            return UserUtterance(uncut)
        event = EventKind.USER_CUT.event(f"{count_words(uncut)} words to {count_words(short)}")
        return UserUtterance(short, (event,))

    async def _from_fallback(self, debate: Debate) -> str:
        """Return the fallback's utterance; without an index if the index fails."""
        user = self.fallback
        try:
            method = user.new_reply if debate.turns else user.open
            return clean(await self._call(method, debate, seconds=self.deadline))
        except Exception as error:  # its search takes too long
            log.debug("the fallback user failed", exc_info=error)
        user = RuleUser(None, user.seed, user.options)
        return clean(user.new_reply(debate) if debate.turns else user.open(debate))
