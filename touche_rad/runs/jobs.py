"""What a run does, as data: its plugins, its input, and the settings that decide its results.

A command, a bench and a tournament describe a run by the same specification, so that each gets the
same results and the same identity. The specifications lie beside the work that they
open: `play.py`, `judging.py`, `panels.py`, and `two_sides.py` of the contests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from touche_rad.errors import ToucheRadError
from touche_rad.frozen import frozen_by_name
from touche_rad.plugins import Configured, Services, annotations_of, vectors_of
from touche_rad.runs.work import Work


def index_in_words(identity: Mapping[str, Any]) -> str:
    """Say whether a run that may use an index had one, by its identity; empty of any other."""
    if "index" not in identity:
        return ""
    return "with an index" if identity["index"] else "without an index (-i)"


@frozen_by_name
class JobSpec(ABC):
    """A run, before anything is opened or made."""

    verb: ClassVar[str]
    """The command that runs it, as its status and its identity say."""
    title: ClassVar[str]
    """What a progress bar shows."""
    source: Path
    deadline: float | None = None
    """Time limit in seconds of an answer or a verdict."""

    @property
    @abstractmethod
    def plugins(self) -> Sequence[Configured[object]]:
        """The plugins of the run."""

    @property
    def needs_index(self) -> bool:
        """Whether the run does not work without an index."""
        return any("index" in configured.plugin.needs for configured in self.plugins)

    @property
    def uses_index(self) -> bool:
        """Whether the run works without an index, but has other results with one."""
        return any("index" in configured.plugin.uses for configured in self.plugins)

    @property
    def cites(self) -> bool:
        """Whether results have arguments of the index, if there is one."""
        return self.needs_index

    def for_estimate(self) -> Self:
        """Return a run on the same source, a sample of which shows what this one costs."""
        return self

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What decides the results besides the source and what all jobs have."""

    def identity(self, services: Services) -> dict[str, Any]:
        """Return everything that decides the results, besides the content of the source.

        A run with another identity cannot resume. The index and the model count only if a plugin
        uses them.
        """
        from touche_rad.plugins.digests import code_of  # only here: most commands make no identity

        identity = {**self.settings, "seed": services.seed, "deadline": self.deadline}
        if not services.criteria.official:
            identity["criteria"] = services.criteria.tag
        if self.uses_index:
            identity["index"] = None
        if services.index is not None and (self.cites or self.uses_index):
            identity["index"] = services.index.fingerprint
            for encoder, digest in vectors_of(services.index).items():
                identity[f"vectors.{encoder}"] = digest
            with suppress(ToucheRadError):  # annotations that cannot be read have no fingerprint
                for name, annotations in annotations_of(services.index).items():
                    identity[f"annotations.{name}"] = annotations.fingerprint
        if services.model and any(configured.plugin.uses_model for configured in self.plugins):
            identity["model"] = services.model.identity
        for configured in self.plugins:
            identity |= code_of(configured)
        return identity

    @abstractmethod
    def open(self, services: Services) -> Work[Any]:
        """Make the plugins, and return the work on the units of the source."""
