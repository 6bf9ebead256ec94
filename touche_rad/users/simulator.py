"""The interface of simulated users, their selection by name, and their fallback."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import anyio

from touche_rad.debate import Debate
from touche_rad.errors import OptionError, nearest
from touche_rad.models.context import Calls, call_context, deadline_in
from touche_rad.plugins import Options, Plugin, Services
from touche_rad.text import clean, count_words, cut_to_words
from touche_rad.users.model_user import DEFAULT, ModelUser, Persona, persona
from touche_rad.users.official import OfficialUser
from touche_rad.users.rules import RuleUser


@runtime_checkable
class UserSimulator(Protocol):
    """Plays the user. Both methods may be `def` or `async def`, and may raise.

    A user keeps no state between calls, because a run may be continued in another process.
    """

    def open(self, claim: Debate) -> str | Awaitable[str]:
        """Return the first utterance of a debate that has a claim and no turns yet."""
        ...

    def reply(self, debate: Debate) -> str | Awaitable[str]:
        """Return the reply to the last response of the debate."""
        ...


@runtime_checkable
class Describes(Protocol):
    """A user that describes itself in the configuration of a simulation."""

    def describe(self, debate: Debate) -> Mapping[str, Any]:
        """Return the fields of `user` in the configuration of a simulation."""
        ...


def describe_user(user: UserSimulator, debate: Debate) -> dict[str, Any]:
    """Return the user's entry in the configuration of a simulation."""
    said = {"class": type(user).__name__, "model": debate.user}
    return {**said, **user.describe(debate)} if isinstance(user, Describes) else said


log = logging.getLogger("touche_rad")

_ENOUGH: Final = 20_000
"""Maximum characters of an utterance."""
_LETTERS_A_WORD: Final = 20
"""Maximum average characters per word of an utterance."""


@dataclass(frozen=True)
class Utterance:
    """The user's utterance, with notes on failures and changes."""

    utterance: str
    notes: tuple[str, ...] = ()
    replaced: bool = False
    """Whether it is from the fallback user."""


class Speaker:
    """Calls a user, with a time limit and a fallback; never raises."""

    def __init__(
        self,
        user: UserSimulator,
        stand_in: RuleUser | None = None,
        *,
        name: str = "",
        max_words: int = 0,
        deadline: float | None = None,
    ) -> None:
        """Make a speaker.

        Args:
            user: The selected user.
            stand_in: The fallback user.
            name: The name of the selected user.
            max_words: Word limit of an utterance, cut at sentence ends; 0 = no limit.
            deadline: Time limit of an utterance in seconds.
        """
        self.user = user
        self.stand_in = stand_in or RuleUser(None)
        self.name = name or type(user).__name__
        self.max_words = max_words
        self.deadline = deadline
        self._call = Calls()

    async def speak(self, debate: Debate) -> Utterance:
        """Return the user's next utterance."""
        turn = len(debate.turns)
        try:
            limit = deadline_in(self.deadline)
            with call_context(
                plugin=f"user {self.name}", debate=debate.key, turn=turn, deadline=limit
            ):
                return self._bounded(await self._asked(_words_of(self.user, debate), debate))
        except Exception as error:
            log.debug("the simulated user failed", exc_info=error)
            failure = f"user fallback: {_describe(error)}"
        return Utterance(await self._stood_in(debate), (failure,), replaced=True)

    async def _stood_in(self, debate: Debate) -> str:
        """Return the fallback's utterance; without an index if the index fails."""
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

    def _bounded(self, said: object) -> Utterance:
        if not isinstance(said, str):
            raise TypeError(f"expected words, got {type(said).__name__}")
        whole = clean(said[:_ENOUGH])
        if not whole:
            raise ValueError("it said nothing")
        if not self.max_words:
            return Utterance(whole)
        kept = cut_to_words(whole, self.max_words)[: _LETTERS_A_WORD * self.max_words].rstrip()
        if kept == whole:
            return Utterance(whole)
        return Utterance(kept, (f"user cut: {count_words(whole)} words to {count_words(kept)}",))


def _words_of(user: UserSimulator, debate: Debate) -> Callable[[Debate], str | Awaitable[str]]:
    return user.reply if debate.turns else user.open


def _anew(user: RuleUser, debate: Debate) -> Callable[[Debate], str]:
    return user.anew if debate.turns else user.open


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {clean(str(error)[:_ENOUGH])[:300]}"


RULES: Final = "rules"
MODEL: Final = "model"
OFFICIAL: Final = "official"


@dataclass(frozen=True)
class UserChoice:
    """A selected user with its options."""

    plugin: Plugin
    options: Options
    persona: Persona | None = None
    url: str = ""

    @property
    def name(self) -> str:
        """Its name in notes and traces."""
        return f"{MODEL}:{self.persona.name}" if self.persona else self.plugin.name

    @property
    def asks_elsewhere(self) -> bool:
        """Whether it calls an endpoint."""
        return bool(self.url)

    @property
    def identity(self) -> dict[str, Any]:
        """Its part of the identity of a run, with the digest of a persona."""
        tag = self.plugin.identity(self.options).replace(self.plugin.name, self.name, 1)
        identity = {"user": tag}
        if self.persona:
            identity["persona"] = self.persona.digest
        if self.url:
            identity["user_url"] = OfficialUser(self.url).place
        return identity

    def make(self, services: Services) -> UserSimulator:
        """Make it."""
        if isinstance(self.options, OfficialUser.Options):
            return OfficialUser(self.url, self.options)
        if isinstance(self.options, ModelUser.Options) and self.persona:
            model = services.need_model(f"user {self.name}")
            return ModelUser(model, self.persona, services.index, services.seed, self.options)
        return self._rules(services)

    def speaker(self, services: Services, deadline: float | None) -> Speaker:
        """Make it, with the user by rules as its fallback."""
        return Speaker(
            self.make(services), self._rules(services), name=self.name,
            max_words=self._words, deadline=deadline,
        )  # fmt: skip

    def _rules(self, services: Services) -> RuleUser:
        options = self.options
        if not isinstance(options, RuleUser.Options):
            options = RuleUser.Options(max_words=min(self._words, RuleUser.Options().max_words))
        return RuleUser(services.index, services.seed, options)

    @property
    def _words(self) -> int:
        return int(getattr(self.options, "max_words", 0))


def parse_user(who: str, given: Mapping[str, str]) -> UserChoice:
    """Read what `--user` says, and the user's options.

    Raises:
        UserError: There is no such user, persona or option.
    """
    if who.lower().startswith(("http://", "https://")):
        plugin = Plugin("user", OFFICIAL, "touche-rad", lambda: OfficialUser)
        OfficialUser(who)
        return UserChoice(plugin, plugin.parse(given), url=who)
    kind, colon, name = who.partition(":")
    if kind == MODEL and (name or not colon):
        plugin = Plugin("user", MODEL, "touche-rad", lambda: ModelUser)
        return UserChoice(plugin, plugin.parse(given), persona(name or DEFAULT))
    if who == RULES:
        plugin = Plugin("user", RULES, "touche-rad", lambda: RuleUser)
        return UserChoice(plugin, plugin.parse(given))
    known = (RULES, MODEL, f"{MODEL}:PERSONA", "URL")
    raise OptionError(f"there is no user {who!r}{nearest(who, known)}")
