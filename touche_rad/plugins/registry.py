"""Plugins by name: those that packages declare by entry points, and those that are decorated."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from touche_rad.errors import OptionError, UserError, WorkError, nearest
from touche_rad.plugins.plugin import KINDS, Kind, Plugin

C = TypeVar("C", bound=type)

_decorated: dict[tuple[Kind, str], Plugin] = {}


def _register(kind: Kind, name: str, needs: Sequence[str]) -> Callable[[C], C]:
    def register(plugin: C) -> C:
        plugin.needs = tuple(needs) or getattr(plugin, "needs", ())  # type: ignore[attr-defined]
        _decorated[kind, name] = Plugin(kind, name, plugin.__module__, lambda: plugin)
        return plugin

    return register


def debater(name: str, *, needs: Sequence[str] = ()) -> Callable[[C], C]:
    """Register a class as a debater."""
    return _register("debater", name, needs)


def judge(name: str, *, needs: Sequence[str] = ()) -> Callable[[C], C]:
    """Register a class as a judge."""
    return _register("judge", name, needs)


def panel(name: str, *, needs: Sequence[str] = ()) -> Callable[[C], C]:
    """Register a class as a judge of whole debates."""
    return _register("panel", name, needs)


def retriever(name: str, *, needs: Sequence[str] = ()) -> Callable[[C], C]:
    """Register a class as a retriever."""
    return _register("retriever", name, needs)


def index_home(name: str, *, needs: Sequence[str] = ()) -> Callable[[C], C]:
    """Register a class as a home for indexes."""
    return _register("index", name, needs)


def registered(kind: Kind) -> dict[str, Plugin]:
    """Return all plugins of a kind by name; a decorated one replaces an installed one."""
    group = "touche_rad.indexes" if kind == "index" else f"touche_rad.{kind}s"
    found = {point.name: _from_entry_point(kind, point) for point in entry_points(group=group)}
    found |= {name: plugin for (of, name), plugin in _decorated.items() if of == kind}
    return dict(sorted(found.items()))


def _from_entry_point(kind: Kind, point: EntryPoint) -> Plugin:
    source = point.dist.name if point.dist else point.value
    return Plugin(kind, point.name, source, point.load)


def find(kind: Kind, name: str) -> Plugin:
    """Return the plugin of this name, or name the nearest."""
    known = registered(kind)
    if name not in known:
        raise OptionError(f"there is no {kind} {name!r}{nearest(name, known)}")
    return known[name]


def secret_names() -> frozenset[str]:
    """Return what the secret options of any plugin are called; broken plugins have none."""
    names: set[str] = set()
    for kind in KINDS:
        for plugin in registered(kind).values():
            with suppress(WorkError):
                names |= plugin.secrets
    return frozenset(names)


def trainer(name: str) -> Callable[..., Mapping[str, Any]]:
    """Return the trainer of this name (entry points of `touche_rad.trainers`)."""
    known = {point.name: point for point in entry_points(group="touche_rad.trainers")}
    if name not in known:
        raise OptionError(f"there is no trainer {name!r}{nearest(name, known)}")
    loaded: Callable[..., Mapping[str, Any]] = known[name].load()
    return loaded


def import_plugins(places: Iterable[str]) -> None:
    """Import modules or Python files, so that their decorators register what they hold."""
    for place in places:
        try:
            if place.endswith(".py"):
                _import_file(Path(place))
            else:
                importlib.import_module(place)
        except Exception as error:
            raise UserError(f"--plugin {place}: cannot be imported: {error}") from error


def _import_file(path: Path) -> None:
    name = f"touche_rad_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
