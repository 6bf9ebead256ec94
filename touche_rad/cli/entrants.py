"""Several debaters made ready for one run: they share the index and the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touche_rad.cli import asking, runs, shared
from touche_rad.errors import OptionError

if TYPE_CHECKING:
    from touche_rad.both_sides import Entrant
    from touche_rad.models import Model
    from touche_rad.plugins import Plugin, Services


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
    from touche_rad.answering import Answerer, chain_of
    from touche_rad.both_sides import Entrant
    from touche_rad.plugins import find

    plugins = [find("debater", name) for name, _ in specs]
    model = asking.model_for(
        {f"debater {plugin.name}": plugin for plugin in plugins}, given, chosen, out
    )
    services = shared.services(given["index"], given["seed"], given["spare_index"], model)
    entrants: list[Entrant] = []
    for plugin, (name, options) in zip(plugins, specs, strict=True):
        tag = plugin.identity(plugin.parse(options))
        mine = replace(services, model=own(model, tag)) if model is not None else services
        answerer = Answerer(
            chain_of(name, _at_length(plugin, options, words), mine), services.index,
            max_words=words, deadline=given["deadline"],
        )  # fmt: skip
        entrants.append(Entrant(tag, answerer))
    identity = {
        "seed": given["seed"], "words": words, "deadline": given["deadline"],
        **runs.index_identity(services), **asking.described(model),
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
