"""Who plays the user: `rules`, `model`, `model:PERSONA`, or an endpoint's address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from touche_rad.errors import OptionError, nearest
from touche_rad.plugins import Options, Plugin, Services
from touche_rad.users.modelled import ModelUser
from touche_rad.users.official import OfficialUser
from touche_rad.users.personas import DEFAULT, Persona, persona
from touche_rad.users.rules import RuleUser
from touche_rad.users.simulator import UserSimulator
from touche_rad.users.speaking import Speaker

RULES: Final = "rules"
MODEL: Final = "model"
OFFICIAL: Final = "official"


@dataclass(frozen=True)
class Chosen:
    """A user that was named, with its options; it can be made when there is what it needs."""

    plugin: Plugin
    options: Options
    persona: Persona | None = None
    url: str = ""

    @property
    def name(self) -> str:
        """What it is called in notes and traces."""
        return f"{MODEL}:{self.persona.name}" if self.persona else self.plugin.name

    @property
    def asks_elsewhere(self) -> bool:
        """Whether somebody else's server has a say in what comes out."""
        return bool(self.url)

    @property
    def identity(self) -> dict[str, Any]:
        """What of it names a run; a persona's file by its content."""
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
        """Make it, with the rules to stand in for it."""
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


def chosen_user(who: str, given: Mapping[str, str]) -> Chosen:
    """Read what `--user` says, and the user's options.

    Raises:
        UserError: There is no such user, persona or option.
    """
    if who.lower().startswith(("http://", "https://")):
        plugin = Plugin("user", OFFICIAL, "touche-rad", lambda: OfficialUser)
        OfficialUser(who)
        return Chosen(plugin, plugin.parse(given), url=who)
    kind, colon, name = who.partition(":")
    if kind == MODEL and (name or not colon):
        plugin = Plugin("user", MODEL, "touche-rad", lambda: ModelUser)
        return Chosen(plugin, plugin.parse(given), persona(name or DEFAULT))
    if who == RULES:
        plugin = Plugin("user", RULES, "touche-rad", lambda: RuleUser)
        return Chosen(plugin, plugin.parse(given))
    known = (RULES, MODEL, f"{MODEL}:PERSONA", "URL")
    raise OptionError(f"there is no user {who!r}{nearest(who, known)}")
