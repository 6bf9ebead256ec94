"""Select a simulated user: a table of the kinds of `--user`, and a function for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import OptionError, nearest
from touche_rad.plugins import Options, Plugin, Services, parse_plugin
from touche_rad.users._model_user import ModelUser
from touche_rad.users._official import OfficialUser
from touche_rad.users._rules import RuleUser
from touche_rad.users._simulator import Speaker, UserSimulator
from touche_rad.users.persona import DEFAULT, load_persona


@dataclass(frozen=True)
class UserChoice:
    """A selected user with its options."""

    plugin: Plugin
    options: Options
    name: str
    """Its name in notes and traces."""
    make: Callable[[Services], UserSimulator]
    """Makes the user."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else is part of the identity of a run."""
    endpoint: OfficialUser | None = None
    """The user, if it calls an endpoint of its own."""

    @property
    def identity(self) -> dict[str, Any]:
        """Its part of the identity of a run."""
        tag = self.plugin.identity(self.options).replace(self.plugin.name, self.name, 1)
        return {"user": tag, **self.details}

    def fallback(self, services: Services) -> RuleUser:
        """Make the fallback: the user by rules."""
        options = self.options
        if not isinstance(options, RuleUser.Options):
            words = min(self._max_words, RuleUser.Options().max_words)
            options = RuleUser.Options(max_words=words)
        return RuleUser(services.index, services.seed, options)

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


def _rules(detail: str, values: Mapping[str, str]) -> UserChoice:
    plugin = Plugin("user", "rules", "touche-rad", lambda: RuleUser)
    options: Any = plugin.parse(values)

    def make(services: Services) -> RuleUser:
        return RuleUser(services.index, services.seed, options)

    return UserChoice(plugin, options, plugin.name, make)


def _model(detail: str, values: Mapping[str, str]) -> UserChoice:
    plugin = Plugin("user", "model", "touche-rad", lambda: ModelUser)
    options: Any = plugin.parse(values)
    persona = load_persona(detail or DEFAULT)
    name = f"{plugin.name}:{persona.name}"

    def make(services: Services) -> ModelUser:
        model = services.need_model(f"user {name}")
        return ModelUser(model, persona, services.index, services.seed, options)

    return UserChoice(plugin, options, name, make, {"persona": persona.digest})


def _endpoint(url: str, values: Mapping[str, str]) -> UserChoice:
    plugin = Plugin("user", "official", "touche-rad", lambda: OfficialUser)
    options: Any = plugin.parse(values)
    endpoint = OfficialUser(url, options)

    def make(services: Services) -> OfficialUser:
        return OfficialUser(url, options)

    details = {"user_url": endpoint.place}
    return UserChoice(plugin, options, plugin.name, make, details, endpoint)


_URL: Final = "URL"
_KINDS: Final[Mapping[str, Callable[[str, Mapping[str, str]], UserChoice]]] = {
    "rules": _rules,
    "model": _model,
    _URL: _endpoint,
}
"""The kinds of users: each parses the detail after the kind (a persona, a URL) and the options."""


def parse_user(text: str, values: Mapping[str, str], folder: Path | None = None) -> UserChoice:
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
        text, values = f"{name}:{persona}" if persona else name, {**inner, **values}
    kind, colon, detail = (_URL, "", text) if is_url else text.partition(":")
    if kind not in _KINDS or (colon and (kind != "model" or not detail)):
        raise OptionError(f"there is no user {text!r}{nearest(text, (*_KINDS, 'model:PERSONA'))}")
    return _KINDS[kind](detail, values)
