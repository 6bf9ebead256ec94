"""Select a simulated user by the text of `--user`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Final, TypeVar

from touche_rad.errors import OptionError, nearest
from touche_rad.frozen import frozen
from touche_rad.plugins import Configured, Options, Plugin, Services, parse_plugin
from touche_rad.users._model_user import ModelUser
from touche_rad.users._official import OfficialUser
from touche_rad.users._rules import RuleUser
from touche_rad.users._simulator import Speaker, UserSimulator
from touche_rad.users.persona import DEFAULT, load_persona

OptionsOf = TypeVar("OptionsOf", bound=Options)


@frozen
class UserChoice:
    """A selected user with its options."""

    configured: Configured
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
        tag = self.configured.tag.replace(self.configured.plugin.name, self.name, 1)
        return {"user": tag, **self.details}

    def without_endpoint(self) -> UserChoice:
        """Return the user, or its fallback if it calls an endpoint of its own."""
        return replace(self, make=self.fallback, endpoint=None) if self.endpoint else self

    def fallback(self, services: Services) -> RuleUser:
        """Make the fallback: the user by rules."""
        options = self.configured.options
        if not isinstance(options, RuleUser.Options):
            options = RuleUser.Options(max_words=min(self._max_words, RuleUser.Options().max_words))
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
        return int(dict(self.configured.options).get("max_words", 0))


def parse_user(text: str, values: Mapping[str, str]) -> UserChoice:
    """Parse `NAME(KEY=VALUE,...)` or a URL, and the user's options.

    Raises:
        UserError: The user, persona or option does not exist.
    """
    if text.lower().startswith(("http://", "https://")):
        configured, options = _configure("official", OfficialUser.Options, values)
        user = OfficialUser(text, options)
        return UserChoice(configured, "official", lambda _: user, {"user_url": user.place}, user)
    kind, options_in_text = parse_plugin(text)
    values = {**options_in_text, **values}
    if kind == "rules":
        configured, rule_options = _configure("rules", RuleUser.Options, values)
        return UserChoice(
            configured,
            "rules",
            lambda services: RuleUser(services.index, services.seed, rule_options),
        )
    if kind == "model":
        configured, model_options = _configure("model", ModelUser.Options, values)
        persona = load_persona(model_options.persona)
        # The path of a persona may be private.
        plain, _ = _configure("model", ModelUser.Options, {**values, "persona": DEFAULT})
        configured = replace(configured, tag=plain.tag)
        name = f"model:{persona.name}"

        def make(services: Services) -> ModelUser:
            return ModelUser(
                services.need_model(f"user {name}"),
                persona,
                services.index,
                services.seed,
                model_options,
            )

        return UserChoice(configured, name, make, {"persona": persona.digest})
    raise OptionError(f"there is no user {text!r}{nearest(text, ('rules', 'model', 'URL'))}")


USERS: Final = {
    "rules": Plugin("user", "rules", "touche-rad", lambda: RuleUser),
    "model": Plugin("user", "model", "touche-rad", lambda: ModelUser),
    "official": Plugin("user", "official", "touche-rad", lambda: OfficialUser),
}
"""The users by name; the official one is selected by a URL."""


def _configure(
    name: str, options: type[OptionsOf], values: Mapping[str, str]
) -> tuple[Configured, OptionsOf]:
    configured = USERS[name].configure(values)
    assert isinstance(configured.options, options)
    return configured, configured.options
