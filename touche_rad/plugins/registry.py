"""Plugins by name: found by entry points or decorators, with their options and requirements."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from pydantic import ValidationError

from touche_rad import secrets as secret
from touche_rad.errors import OptionError, UserError, WorkError, nearest
from touche_rad.plugins.contracts import Options, Services

_WHOLE: Final = re.compile(r"^([\w.-]+)(?:\((.*)\))?$", re.DOTALL)
_NEXT: Final = re.compile(r",(?=\s*[A-Za-z_][\w-]*=)")
"""Commas between options; one within a value stays where no KEY= follows it."""


def spelled(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the options.

    Raises:
        OptionError: It is not spelled so.
    """
    match = _WHOLE.match(text.strip())
    if not match:
        raise OptionError(f"{text!r}: expected NAME or NAME(KEY=VALUE,...)")
    name, inner = match.groups()
    options: dict[str, str] = {}
    for part in _apart(inner or ""):
        key, equals, value = part.partition("=")
        if not equals:
            raise OptionError(f"{text!r}: expected KEY=VALUE in the brackets, got {part!r}")
        options[key.strip().replace("-", "_")] = value.strip()
    return name, options


def _apart(inner: str) -> list[str]:
    """Cut at commas that part options, though not within brackets of their own."""
    parts: list[str] = []
    start = 0
    for match in _NEXT.finditer(inner):
        before = inner[start : match.start()]
        if before.count("(") == before.count(")"):
            parts.append(before)
            start = match.end()
    rest = inner[start:].strip()
    return [*parts, rest] if rest else parts


Kind = Literal["debater", "judge", "panel", "retriever", "index", "user"]
KINDS: tuple[Kind, ...] = ("debater", "judge", "panel", "retriever", "index")


@dataclass(frozen=True)
class Plugin:
    """A registered class: what it is called, what it is for, and what it needs."""

    kind: Kind
    name: str
    source: str
    load: Callable[[], type] = field(repr=False)

    @property
    def factory(self) -> type:
        """The plugin's class; importing it may fail, which names the plugin."""
        try:
            return self.load()
        except Exception as error:
            raise WorkError(
                f"{self.kind} {self.name!r} of {self.source} is broken: {error}"
            ) from error

    @property
    def purpose(self) -> str:
        """The first line of the class's docstring."""
        return (inspect.getdoc(self.factory) or "").partition("\n")[0]

    @property
    def needs(self) -> tuple[str, ...]:
        """What it needs.

        `index`, `model`, `module:NAME` for a package that may be missing, or `extra:EXTRA/NAME` for
        one that an extra of ours brings.
        """
        return tuple(getattr(self.factory, "needs", ()))

    @property
    def uses(self) -> tuple[str, ...]:
        """What it makes use of where it is there, such as `model`, and does without where not."""
        return tuple(getattr(self.factory, "uses", ()))

    @property
    def options(self) -> type[Options]:
        """The class of its options."""
        return getattr(self.factory, "Options", Options)

    @property
    def secrets(self) -> frozenset[str]:
        """The names of its secret options; no value of one is told to anybody."""
        return secret.secret_fields(self.options)

    def missing(self, *, index: bool, model: bool = False) -> list[str]:
        """List what this machine lacks for it, each with what to do about it."""
        lacking: list[str] = []
        for need in self.needs:
            if need == "index" and not index:
                lacking.append("an argument index (-i DIR; make one with: touche-rad index)")
            elif need == "model" and not model:
                lacking.append("a language model (-m URL#MODEL, or -m vllm:MODEL)")
            elif need.startswith("extra:"):
                extra, _, module = need.removeprefix("extra:").partition("/")
                if importlib.util.find_spec(module) is None:
                    lacking.append(f"the extra {extra} (pip install 'touche-rad[{extra}]')")
            elif need.startswith("module:"):
                module = need.removeprefix("module:")
                if importlib.util.find_spec(module) is None:
                    lacking.append(f"the package {module}")
        return lacking

    @property
    def optional(self) -> bool:
        """Whether a machine is whole without what this plugin needs."""
        return any(need.startswith(("extra:", "module:", "model")) for need in self.needs)

    def parse(self, given: Mapping[str, str]) -> Options:
        """Turn `-o key=value` pairs into typed options, or name the wrong one."""
        known = self.options.model_fields
        for key in given:
            if key not in known:
                raise OptionError(
                    f"{self.kind} {self.name} has no option {key!r}{nearest(key, known)}"
                )
        secret.remember(*(given[key] for key in self.secrets if key in given))
        try:
            options = self.options.model_validate_strings(dict(given))
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0]) if first["loc"] else "?"
            value = secret.HIDDEN if key in self.secrets else repr(given.get(key, ""))
            raise OptionError(
                f"{self.kind} {self.name}: option {key}={value}: "
                f"{secret.without_secrets(first['msg'])}"
            ) from None
        secret.remember(*(getattr(options, key) for key in self.secrets))
        return options

    def identity(self, options: Options) -> str:
        """The canonical name: the plugin and what was set on it but secrets, as a run's tag."""
        changed = options.model_dump(exclude_defaults=True, exclude=set(self.secrets))
        inner = ",".join(f"{key}={value}" for key, value in sorted(changed.items()))
        return f"{self.name}({inner})" if inner else self.name

    def make(self, services: Services, given: Mapping[str, str] | None = None) -> Any:
        """Make one, with options as strings and the services it may use."""
        made = self.factory(self.parse(given or {}), services)
        with suppress(AttributeError, TypeError):
            made.plugin_name = self.name
        return made


def name_of(plugin: object) -> str:
    """Return the name a plugin was made by; one made by hand goes by its class."""
    return str(getattr(plugin, "plugin_name", type(plugin).__name__))


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
