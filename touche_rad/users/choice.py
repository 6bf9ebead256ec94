"""Select a simulated user: one class per kind of `--user`, and a table of the kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from touche_rad.errors import OptionError, nearest
from touche_rad.plugins import Options, Plugin, Services, parse_plugin
from touche_rad.users.model_user import ModelUser
from touche_rad.users.official import OfficialUser
from touche_rad.users.persona import DEFAULT, Persona, load_persona
from touche_rad.users.rules import RuleUser
from touche_rad.users.simulator import Speaker, UserSimulator


@dataclass(frozen=True)
class UserChoice(ABC):
    """A selected user with its options."""

    plugin: Plugin
    options: Options

    @property
    def name(self) -> str:
        """Its name in notes and traces."""
        return self.plugin.name

    @property
    def is_external(self) -> bool:
        """Whether it calls an endpoint of its own."""
        return False

    @property
    def identity(self) -> dict[str, Any]:
        """Its part of the identity of a run."""
        return {"user": self.plugin.identity(self.options).replace(self.plugin.name, self.name, 1)}

    @abstractmethod
    def make(self, services: Services) -> UserSimulator:
        """Make the user."""

    def fallback(self, services: Services) -> RuleUser:
        """Make the fallback: the user by rules."""
        words = min(self._max_words, RuleUser.Options().max_words)
        return RuleUser(services.index, services.seed, RuleUser.Options(max_words=words))

    def speaker(self, services: Services, deadline: float | None) -> Speaker:
        """Make the user with its fallback and a time limit in seconds."""
        return Speaker(
            self.make(services),
            self.fallback(services),
            name=self.name,
            max_words=self._max_words,
            deadline=deadline,
        )

    @property
    def _max_words(self) -> int:
        return int(getattr(self.options, "max_words", 0))


@dataclass(frozen=True)
class RulesChoice(UserChoice):
    """`--user rules`."""

    options: RuleUser.Options

    @classmethod
    def parse(cls, detail: str, given: Mapping[str, str]) -> RulesChoice:
        """Parse the options."""
        plugin = Plugin("user", "rules", "touche-rad", lambda: RuleUser)
        return cls(plugin, cast("RuleUser.Options", plugin.parse(given)))

    def make(self, services: Services) -> RuleUser:
        """Make the user."""
        return RuleUser(services.index, services.seed, self.options)

    fallback = make


@dataclass(frozen=True)
class PersonaChoice(UserChoice):
    """`--user model(persona=NAME|FILE.toml)`."""

    options: ModelUser.Options
    persona: Persona

    @classmethod
    def parse(cls, detail: str, given: Mapping[str, str]) -> PersonaChoice:
        """Parse the options and load the persona."""
        plugin = Plugin("user", "model", "touche-rad", lambda: ModelUser)
        options = cast("ModelUser.Options", plugin.parse(given))
        return cls(plugin, options, load_persona(detail or DEFAULT))

    @property
    def name(self) -> str:
        """Its name with the persona's."""
        return f"{self.plugin.name}:{self.persona.name}"

    @property
    def identity(self) -> dict[str, Any]:
        """Its part of the identity of a run, with a digest of the persona's file."""
        return super().identity | {"persona": self.persona.digest}

    def make(self, services: Services) -> ModelUser:
        """Make the user."""
        model = services.need_model(f"user {self.name}")
        return ModelUser(model, self.persona, services.index, services.seed, self.options)


@dataclass(frozen=True)
class EndpointChoice(UserChoice):
    """`--user URL`."""

    options: OfficialUser.Options
    url: str

    @classmethod
    def parse(cls, detail: str, given: Mapping[str, str]) -> EndpointChoice:
        """Parse the options and check the address."""
        plugin = Plugin("user", "official", "touche-rad", lambda: OfficialUser)
        OfficialUser(detail)
        return cls(plugin, cast("OfficialUser.Options", plugin.parse(given)), detail)

    @property
    def is_external(self) -> bool:
        """It calls its endpoint."""
        return True

    @property
    def identity(self) -> dict[str, Any]:
        """Its part of the identity of a run, with the address."""
        return super().identity | {"user_url": OfficialUser(self.url).place}

    def endpoint(self) -> OfficialUser:
        """Make the user, which needs no services."""
        return OfficialUser(self.url, self.options)

    def make(self, services: Services) -> OfficialUser:
        """Make the user."""
        return self.endpoint()


_URL: Final = "URL"
KINDS: Final[Mapping[str, Callable[[str, Mapping[str, str]], UserChoice]]] = {
    "rules": RulesChoice.parse,
    "model": PersonaChoice.parse,
    _URL: EndpointChoice.parse,
}
"""The kinds of users: each parses the detail after the kind (a persona, a URL) and the options."""


def parse_user(text: str, given: Mapping[str, str], folder: Path | None = None) -> UserChoice:
    """Parse `NAME(KEY=VALUE,...)`, `model:PERSONA` or a URL, and the user's options.

    Raises:
        UserError: The user, persona or option does not exist.
    """
    is_url = text.lower().startswith(("http://", "https://"))
    if "(" in text and not is_url:
        name, inner = parse_plugin(text)
        persona = inner.pop("persona", "")
        if folder is not None and persona and (folder / persona).is_file():
            persona = str(folder / persona)
        text, given = f"{name}:{persona}" if persona else name, {**inner, **given}
    kind, colon, detail = (_URL, "", text) if is_url else text.partition(":")
    if kind not in KINDS or (colon and (kind != "model" or not detail)):
        raise OptionError(f"there is no user {text!r}{nearest(text, (*KINDS, 'model:PERSONA'))}")
    return KINDS[kind](detail, given)
