"""Prepare plugins for respond, simulate, judge and serve, and finish a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touche_rad.cli import options as shared
from touche_rad.cli.console import say
from touche_rad.errors import OptionError, ToucheRadError, UserError

if TYPE_CHECKING:
    from touche_rad.contests.two_sides import Entrant
    from touche_rad.debate import Debate
    from touche_rad.models import Model
    from touche_rad.plugins import Judge, Kind, Panel, Plugin, Services
    from touche_rad.runs.answering import Answerer
    from touche_rad.runs.runner import Progress, RunOptions
    from touche_rad.runs.status import Status
    from touche_rad.tira.places import Places
    from touche_rad.users import UserChoice as ChosenUser


@dataclass(frozen=True)
class Field:
    """Who takes part, and what names the run."""

    entrants: tuple[Entrant, ...]
    services: Services
    identity: dict[str, Any]


def field(
    specs: Sequence[tuple[str, Mapping[str, str]]],
    given: Mapping[str, Any],
    chosen: shared.Chosen,
    out: Path,
    *,
    words: int,
    own: Callable[[Model, str], Model] = lambda model, name: model,
) -> Field:
    """Make each debater with those that stand in for it.

    Args:
        specs: Names and options.
        given: The verb's options.
        chosen: What `-o` was given, for the model's settings.
        out: The run to write, which a trace goes beside.
        words: The most words of a speech; 0 cuts none.
        own: Gives a debater its view of the shared model, such as one with a budget.
    """
    from touche_rad.contests.two_sides import Entrant
    from touche_rad.plugins import find
    from touche_rad.runs.answering import Answerer, make_chain

    plugins = [find("debater", name) for name, _ in specs]
    model = shared.model_for(
        {f"debater {plugin.name}": plugin for plugin in plugins}, given, chosen, out
    )
    services = shared.services(given["index"], given["seed"], given["spare_index"], model)
    entrants: list[Entrant] = []
    for plugin, (name, options) in zip(plugins, specs, strict=True):
        tag = plugin.identity(plugin.parse(options))
        mine = replace(services, model=own(model, tag)) if model is not None else services
        answerer = Answerer(
            make_chain(name, _at_length(plugin, options, words), mine), services.index,
            max_words=words, deadline=given["deadline"],
        )  # fmt: skip
        entrants.append(Entrant(tag, answerer))
    identity = {
        "seed": given["seed"], "words": words, "deadline": given["deadline"],
        **index_identity(services), **shared.described(model),
    }  # fmt: skip
    return Field(tuple(entrants), services, identity)


def _at_length(plugin: Plugin, options: Mapping[str, str], words: int) -> Mapping[str, str]:
    """Tell a debater that has a `max_words` of its own how long a speech may be."""
    if words and "max_words" in plugin.options.model_fields and "max_words" not in options:
        longer = {**options, "max_words": str(words)}
        with suppress(OptionError):
            plugin.parse(longer)
            return longer
    return options


@dataclass(frozen=True)
class Debater:
    """The chosen debater with its fallbacks, and what names its run."""

    name: str
    tag: str
    answerer: Answerer
    services: Services
    identity: dict[str, Any]

    @property
    def model(self) -> Model | None:
        """The language model that it asks, if any."""
        return self.services.model

    @classmethod
    def choose(
        cls,
        given: Mapping[str, Any],
        chosen: shared.Chosen,
        out: Path | None = None,
        judge: str | None = None,
        user: ChosenUser | None = None,
    ) -> Debater:
        """Make the debater that the flags name.

        Args:
            given: The verb's options.
            chosen: What `-o` was given.
            out: The run to write, which a trace goes beside.
            judge: A judge that will share the model.
            user: A simulated user that may share it.
        """
        from touche_rad.plugins import find
        from touche_rad.runs.answering import Answerer, make_chain

        name, options = given["debater"], chosen.of("debater")
        plugin = find("debater", name)
        tag = plugin.identity(plugin.parse(options))
        sharing = {f"debater {name}": plugin}
        if judge is not None:
            sharing[f"judge {judge}"] = find("judge", judge)
        if user is not None and "model" in user.plugin.needs:
            sharing[f"user {user.name}"] = user.plugin
        model = shared.model_for(sharing, given, chosen, out)
        services = shared.services(given["index"], given["seed"], given["spare_index"], model)
        answerer = Answerer(
            make_chain(name, options, services), services.index,
            max_words=given["max_words"], deadline=given["deadline"],
        )  # fmt: skip
        identity = {
            "debater": tag, "seed": given["seed"], "max_words": given["max_words"],
            "deadline": given["deadline"], **index_identity(services),
            **_asked(sharing.values(), model),
        }  # fmt: skip
        return cls(name, tag, answerer, services, identity)

    def explain(self, debate: Debate) -> list[dict[str, Any]]:
        """Return the debater's candidates with their features, best first."""
        from touche_rad.plugins import Explains

        chosen = self.answerer.chain[0][1]
        if not isinstance(chosen, Explains):
            raise UserError(f"debater {self.name} cannot explain its choice")
        return chosen.explain(debate)


def index_identity(services: Services) -> dict[str, str]:
    """Name what the opened index holds and remembers, so that a run goes on with no other one.

    A memory that cannot be read names nothing: who needs it says so.
    """
    from touche_rad.plugins import annotations_of

    index = services.index
    if index is None:
        return {"index": ""}
    named = {"index": index.fingerprint}
    with suppress(ToucheRadError):
        for name, annotations in annotations_of(index).items():
            named[f"annotations.{name}"] = annotations.fingerprint
    return named


def _asked(plugins: Iterable[Plugin], model: Model | None) -> dict[str, Any]:
    """What of the model names a run: nothing, where no plugin asks one."""
    asks = any("model" in (*plugin.needs, *plugin.uses) for plugin in plugins)
    return shared.described(model) if asks else {}


@contextmanager
def tracked(
    verb: str, places: Places, given: Mapping[str, Any], method: Mapping[str, Any]
) -> Iterator[None]:
    """Measure what is done within, and write ir_metadata beside the run where that is wanted."""
    from touche_rad.tira import metadata
    from touche_rad.tira import places as tira

    wanted = given["metadata"]
    if wanted is None:
        wanted = tira.is_output(places.out.parent) and metadata.available()
    if not wanted:
        yield
        return
    with metadata.Tracked(places.metadata, verb, method) as tracker:
        yield
    if tracker.failure:
        say(f"note: no ir_metadata was written: {tracker.failure}", quiet=given["quiet"])


def method(
    kind: Kind, name: str, chosen: shared.Chosen, identity: Mapping[str, Any]
) -> dict[str, Any]:
    """Say what a run is made by: the plugin, all of its options, and what else decides."""
    from touche_rad.plugins import find

    whose = "judge" if kind == "panel" else kind
    options = find(kind, name).parse(chosen.of(whose)).model_dump(mode="json")
    deciding = {key: value for key, value in identity.items() if key != kind}
    return {"name": name, "kind": kind, "options": options, "run": deciding}


def run_options(
    given: Mapping[str, Any],
    places: Places,
    model: Model | None,
    progress: Progress,
    *,
    elsewhere: bool = False,
) -> RunOptions:
    """Say how the flags want a run done; `elsewhere`, a stranger's server has a say in it."""
    from touche_rad import files
    from touche_rad.runs.runner import RunOptions

    return RunOptions(
        given["workers"], given["restart"], files.BadLines(skip=given["skip_bad"]), progress,
        places.status_of(model, elsewhere), model,
    )  # fmt: skip


def close(status: Status, places: Places, *, quiet: bool) -> int:
    """Say what was done, and return the exit code."""
    for line in status.lines():
        say(line, quiet=quiet)
    say(f"written: {places.out}", quiet=quiet)
    return 0


def is_panel(name: str) -> bool:
    """Whether a judge's name is that of a panel, which judges debates as a whole."""
    from touche_rad.plugins import registered

    return name in registered("panel") and name not in registered("judge")


def panel(
    given: Mapping[str, Any], chosen: shared.Chosen, out: Path | None = None
) -> tuple[Panel, dict[str, Any], Model | None]:
    """Make the panel that the flags name, what names its run, and the model that it asks."""
    from touche_rad.plugins import find

    name, options = given["judge"], chosen.of("judge")
    plugin = find("panel", name)
    made, identity, services = _bench(plugin, f"panel {name}", options, given, chosen, out)
    return made, {"judge": identity.pop("tag"), **identity}, services.model


def _bench(
    plugin: Plugin,
    told: str,
    options: Mapping[str, str],
    given: Mapping[str, Any],
    chosen: shared.Chosen,
    out: Path | None,
) -> tuple[Any, dict[str, Any], Services]:
    """Make a judge or a panel with the services it needs."""
    from touche_rad.plugins import Services

    tag = plugin.identity(plugin.parse(options))
    model = shared.model_for({told: plugin}, given, chosen, out)
    if given["index"] or "index" in plugin.needs:
        services = shared.services(given["index"], given["seed"], model=model)
    else:
        services = Services(seed=given["seed"], model=model)
    identity = {"tag": tag, "seed": services.seed, "deadline": given["deadline"]}
    identity |= _asked([plugin], services.model)
    if services.index is not None:
        identity |= index_identity(services)
    return plugin.make(services, options), identity, services


def judge(
    given: Mapping[str, Any],
    chosen: shared.Chosen,
    services: Services | None = None,
    out: Path | None = None,
) -> tuple[Judge, dict[str, Any], Model | None]:
    """Make the judge that the flags name, what names its run, and the model that it asks."""
    from touche_rad.plugins import find

    name, options = given["judge"], chosen.of("judge")
    plugin = find("judge", name)
    if services is None:
        made, named, own = _bench(plugin, f"judge {name}", options, given, chosen, out)
        return made, {"judge": named.pop("tag"), **named}, own.model
    tag = plugin.identity(plugin.parse(options))
    identity = {"judge": tag, "seed": services.seed, "deadline": given["deadline"]}
    identity |= _asked([plugin], services.model)
    if services.index is not None:
        identity |= index_identity(services)
    return plugin.make(services, options), identity, services.model
