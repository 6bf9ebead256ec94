"""What respond, simulate, judge and serve share: the chosen plugin made ready, and a run's end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from touche_rad.cli import shared
from touche_rad.cli.console import say
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.answering import Answerer
    from touche_rad.cli.tira import Places
    from touche_rad.debate import Debate
    from touche_rad.plugins import Judge, Services
    from touche_rad.status import Status
    from touche_rad.users import RuleUser


@dataclass(frozen=True)
class Debater:
    """The chosen debater with its fallbacks, and what names its run."""

    name: str
    tag: str
    answerer: Answerer
    services: Services
    identity: dict[str, Any]

    @classmethod
    def choose(cls, given: Mapping[str, Any], chosen: shared.Chosen) -> Debater:
        """Make the debater that the flags name."""
        from touche_rad.answering import Answerer, chain_of
        from touche_rad.plugins import find

        name, options = given["debater"], chosen.of("debater")
        plugin = find("debater", name)
        tag = plugin.identity(plugin.parse(options))
        services = shared.services(given["index"], given["seed"], given["spare_index"])
        answerer = Answerer(
            chain_of(name, options, services), services.index,
            max_words=given["max_words"], deadline=given["deadline"],
        )  # fmt: skip
        identity = {
            "debater": tag, "seed": given["seed"], "max_words": given["max_words"],
            "deadline": given["deadline"], "index": index_identity(services),
        }  # fmt: skip
        return cls(name, tag, answerer, services, identity)

    def explain(self, debate: Debate) -> list[dict[str, Any]]:
        """Return the debater's candidates with their features, best first."""
        from touche_rad.plugins import Explains

        chosen = self.answerer.chain[0][1]
        if not isinstance(chosen, Explains):
            raise UserError(f"debater {self.name} cannot explain its choice")
        return chosen.explain(debate)


def index_identity(services: Services) -> str:
    """Name the opened index's content, so that a run does not go on with another one."""
    return services.index.fingerprint if services.index else ""


def close(status: Status, places: Places, *, quiet: bool) -> int:
    """Say what was done, and return the exit code."""
    for line in status.lines():
        say(line, quiet=quiet)
    say(f"written: {places.out}", quiet=quiet)
    return 0


def judge(
    given: Mapping[str, Any], chosen: shared.Chosen, services: Services | None = None
) -> tuple[Judge, dict[str, Any]]:
    """Make the judge that the flags name, and what names its run."""
    from touche_rad.plugins import Services, find

    name, options = given["judge"], chosen.of("judge")
    plugin = find("judge", name)
    tag = plugin.identity(plugin.parse(options))
    if services is None:
        needs_index = given["index"] or "index" in plugin.needs
        seed = given["seed"]
        services = shared.services(given["index"], seed) if needs_index else Services(seed=seed)
    identity = {"judge": tag, "seed": services.seed, "deadline": given["deadline"]}
    if services.index is not None:
        identity["index"] = index_identity(services)
    return plugin.make(services, options), identity


def user_options(chosen: shared.Chosen) -> RuleUser.Options:
    """Read the simulated user's options (`-o user.KEY=VALUE`)."""
    from touche_rad.plugins import Plugin
    from touche_rad.users import RuleUser

    rules = Plugin("user", "rules", "touche-rad", lambda: RuleUser)
    options = rules.parse(chosen.of("user"))
    assert isinstance(options, RuleUser.Options)
    return options
