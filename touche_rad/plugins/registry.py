"""Plugins by name: found by entry points or decorators; their options, needs and services."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import chdir, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar

from pydantic import ValidationError

from touche_rad.criteria import Criteria, grice
from touche_rad.errors import OptionError, ToucheRadError, UserError, WorkError, describe, nearest
from touche_rad.models import Model
from touche_rad.plugins.contracts import ArgumentIndex
from touche_rad.plugins.profiles import (
    PROFILE_FILE,
    PROMPTS,
    Options,
    Profile,
    adapter,
    bundled_profiles,
    check_folder,
    digest,
    expected,
    has_profiles,
    is_setting,
    load_profile,
    prompt_files,
    with_prompts_option,
)

_PLUGIN: Final = re.compile(r"^([\w.-]+)(?:\((.*)\))?$", re.DOTALL)
_COMMA: Final = re.compile(r",(?=\s*[A-Za-z_][\w-]*=)")
"""A comma between options: `KEY=` follows it. Other commas are part of a value."""


def parse_plugin(text: str) -> tuple[str, dict[str, str]]:
    """Parse `NAME` or `NAME(KEY=VALUE,...)` into the name and its options."""
    match = _PLUGIN.match(text.strip())
    if not match:
        raise OptionError(f"{text!r}: expected NAME or NAME(KEY=VALUE,...)")
    name, inner = match.groups()
    options: dict[str, str] = {}
    for part in _split(inner, _COMMA) if inner else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise OptionError(f"{text!r}: expected KEY=VALUE in the brackets, got {part!r}")
        options[normalize(key)] = value.strip()
    return name, options


def _split(text: str, comma: re.Pattern[str]) -> list[str]:
    parts: list[str] = []
    start = 0
    for match in comma.finditer(text):
        before = text[start : match.start()]
        if before.count("(") == before.count(")"):
            parts.append(before.strip())
            start = match.end()
    return [part for part in (*parts, text[start:].strip()) if part]


def split_plugins(text: str) -> list[str]:
    """Split `NAME,NAME(KEY=VALUE,...)` at the commas outside brackets."""
    return _split(text, re.compile(","))


def normalize(key: str) -> str:
    """Return an option's name as a Python identifier: `max-words` becomes `max_words`."""
    return key.strip().replace("-", "_")


_NEED: Final = re.compile(r"index|model|(?:module:|extra:(?P<extra>[\w-]+)/)(?P<module>[\w.]+)")
_OF_FILE: Final = "touche_rad_plugin_"
"""What the names of modules of `--plugin FILE.py` begin with."""
A_MODEL: Final = (
    "a language model (-m URL#MODEL or -m vllm:MODEL, or OPENAI_BASE_URL and OPENAI_MODEL)"
)
AN_INDEX: Final = "an argument index (-i DIR; make one with: touche-rad index)"
"""The texts of the needs `model` and `index` in messages."""

Kind = Literal["debater", "judge", "panel", "retriever", "index", "annotator", "user"]
KINDS: tuple[Kind, ...] = ("debater", "judge", "panel", "retriever", "index", "annotator")


@dataclass(frozen=True)
class Services:
    """What a plugin can use besides its input."""

    index: ArgumentIndex | None = None
    seed: int = 0
    model: Model | None = None
    criteria: Criteria = field(default_factory=grice)
    """What a judge judges by."""

    def need_model(self, who: str) -> Model:
        """Return the language model, or raise an error that says how to give one."""
        if self.model is None:
            raise UserError(f"{who} needs {A_MODEL}")
        return self.model

    def need_index(self, who: str) -> ArgumentIndex:
        """Return the index, or raise an error that says how to give one."""
        if self.index is None:
            raise UserError(f"{who} needs {AN_INDEX}")
        return self.index


@dataclass(frozen=True)
class Plugin:
    """A registered class with its name, purpose, needs and options."""

    kind: Kind
    name: str
    source: str
    load: Callable[[], type] = field(repr=False)

    @property
    def factory(self) -> type:
        """The plugin's class; if it cannot be imported, the error names the plugin."""
        try:
            with chdir("."):
                return self.load()
        except (Exception, SystemExit) as error:
            raise WorkError(
                f"{self.kind} {self.name!r} of {self.source} is broken: {describe(error)}; "
                "correct or uninstall its package"
            ) from error

    @property
    def file(self) -> Path | None:
        """The file of `--plugin FILE.py` that defines it; None for what is installed."""
        module = self.factory.__module__
        path = getattr(sys.modules.get(module), "__file__", None)
        return Path(path) if path and module.startswith(_OF_FILE) else None

    @property
    def purpose(self) -> str:
        """The first line of the class's docstring."""
        return (inspect.getdoc(self.factory) or "").partition("\n")[0]

    @property
    def needs(self) -> tuple[str, ...]:
        """What the plugin needs.

        `index`, `model`, `module:NAME` (an importable module), or `extra:EXTRA/MODULE` (a module
        that an extra of touche-rad installs).
        """
        return tuple(getattr(self.factory, "needs", ()))

    @property
    def uses(self) -> tuple[str, ...]:
        """What the plugin uses if it is available: `model`."""
        return tuple(getattr(self.factory, "uses", ()))

    @property
    def uses_model(self) -> bool:
        """Whether the plugin needs a language model, or uses one if there is one."""
        return "model" in (*self.needs, *self.uses)

    @property
    def options(self) -> type[Options]:
        """The class of the options; a plugin with prompt files has the option `prompts`."""
        own: type[Options] = getattr(self.factory, "Options", Options)
        return with_prompts_option(own) if prompt_files(self.factory) else own

    def missing(self, *, index: bool, model: bool = False) -> list[str]:
        """Return the needs that are not met, each with what to do."""
        unmet: list[str] = []
        for need in self.needs:
            match = _NEED.fullmatch(need)
            if match is None:
                raise WorkError(
                    f"{self.kind} {self.name!r} of {self.source}: unknown need {need!r}: expected "
                    "index, model, module:NAME or extra:EXTRA/MODULE"
                )
            extra, module = match["extra"], match["module"]
            if need == "index" and not index:
                unmet.append(AN_INDEX)
            elif need == "model" and not model:
                unmet.append(A_MODEL)
            elif module and importlib.util.find_spec(module) is None:
                unmet.append(
                    f"the extra {extra} (pip install 'touche-rad[{extra}]')"
                    if extra
                    else f"the package {module} (pip install {module})"
                )
        return unmet

    def works_without_index(self, options: Options) -> bool:
        """Whether the plugin needs an index, but not with these options."""
        works = getattr(self.factory, "works_without_index", None)
        return works is not None and bool(works(options))

    @property
    def optional(self) -> bool:
        """Whether an installation is complete without this plugin."""
        return any(need.startswith(("extra:", "module:", "model")) for need in self.needs)

    def profiles(self) -> list[Profile]:
        """Return the bundled profiles, each with its values and those of all other settings."""
        fields = self.options.model_fields
        return [
            replace(
                profile,
                settings={
                    key: profile.settings.get(key, field.default)
                    for key, field in fields.items()
                    if is_setting(field) or key in profile.settings
                },
            )
            for profile in bundled_profiles(self.options)
        ]

    def parse(self, texts: Mapping[str, str]) -> Options:
        """Turn `KEY=VALUE` pairs of the command line into typed options."""
        who, fields = f"{self.kind} {self.name}", self.options.model_fields
        for key in texts:
            if key not in fields:
                names = [name for name, field in fields.items() if not is_setting(field)]
                raise OptionError(f"{who} has no option {key!r}{nearest(key, names)}")
            if is_setting(fields[key]):
                raise OptionError(
                    f"{who}: {key!r} is a setting: set it in a profile file and pass "
                    f"-O profile=FILE.toml (touche-rad list {self.name} shows the profiles)"
                )
        values: dict[str, Any] = {}
        key = ""
        try:
            for key, text in texts.items():
                values[key] = adapter(fields[key]).validate_strings(text)
            options = self.options.model_validate(values)
        except ValidationError as error:
            wrong = error.errors()[0]["loc"]
            key = str(wrong[0]) if wrong and wrong[0] in fields else key
            raise OptionError(
                f"{who}: option {key}={texts.get(key, '')!r}: {expected(error)}"
            ) from None
        except OptionError as error:
            raise OptionError(f"{who}: {error}") from None
        if folder := getattr(options, PROMPTS, ""):
            check_folder(Path(folder), self.factory)
        return options

    def identity(self, options: Options) -> str:
        """Return the canonical name: the plugin and its effective options, as a run's tag.

        Values of a bundled profile are represented by the profile's name.
        """
        base: Mapping[str, Any] = {}
        profile = str(getattr(options, "profile", ""))
        by_file = profile.endswith(PROFILE_FILE)
        if has_profiles(type(options)) and not by_file:
            base = load_profile(type(options), profile).settings
        changed = {
            key: value
            for key, field in type(options).model_fields.items()
            if (value := getattr(options, key))
            != base.get(key, field.get_default(call_default_factory=True, validated_data={}))
            and not (key == "profile" and by_file)
        }
        if PROMPTS in changed:
            changed[PROMPTS] = digest(Path(changed[PROMPTS]))
        inner = ",".join(f"{key}={value}" for key, value in sorted(changed.items()))
        return f"{self.name}({inner})" if inner else self.name

    def make(self, services: Services, texts: Mapping[str, str] | None = None) -> Any:
        """Create the plugin; a UserError is on options and needs, a WorkError on its own code."""
        options = self.parse(texts or {})
        index = services.index is not None or self.works_without_index(options)
        unmet = self.missing(index=index, model=services.model is not None)
        if unmet:
            raise UserError(f"{self.kind} {self.name} needs {' and '.join(unmet)}")
        folder = getattr(options, PROMPTS, "")
        own = self.factory
        about = {
            "__module__": own.__module__,
            "__qualname__": own.__qualname__,
            "__doc__": own.__doc__,
            "plugin_name": self.name,
            "prompts_folder": Path(folder) if folder else None,
        }
        # A subclass, because an instance with __slots__ takes no attributes, nor does a frozen one.
        made = type(own.__name__, (own,), about)
        try:
            with chdir("."):  # our paths are relative: back to this folder if the plugin leaves it
                return made(options, services)
        except ToucheRadError:
            raise
        except (Exception, SystemExit) as error:
            raise WorkError(f"{self.kind} {self.name} cannot be made: {describe(error)}") from error


C = TypeVar("C", bound=type)

_decorated: dict[tuple[Kind, str], Plugin] = {}


class _Decorator(Protocol):
    def __call__(self, name: str, *, needs: Sequence[str] = ()) -> Callable[[C], C]: ...


def _decorator(kind: Kind) -> _Decorator:
    def named(name: str, *, needs: Sequence[str] = ()) -> Callable[[C], C]:
        def register(plugin: C) -> C:
            # A fallback, and what a run's tag names, must be what we ship.
            if name in _installed(kind, tuple(sys.path)):
                raise UserError(f"there is a {kind} {name!r} already: choose another name")
            plugin.needs = tuple(needs) or getattr(plugin, "needs", ())  # type: ignore[attr-defined]
            _decorated[kind, name] = Plugin(kind, name, plugin.__module__, lambda: plugin)
            return plugin

        return register

    return named


debater = _decorator("debater")
"""`@debater("NAME", needs=(...))` registers a class as a debater."""
judge = _decorator("judge")
panel = _decorator("panel")
retriever = _decorator("retriever")
index_backend = _decorator("index")


def registered(kind: Kind) -> dict[str, Plugin]:
    """Return all plugins of a kind by name."""
    ours = {name: plugin for (of, name), plugin in _decorated.items() if of == kind}
    return dict(sorted({**_installed(kind, tuple(sys.path)), **ours}.items()))


@functools.lru_cache(maxsize=32)
def _installed(kind: Kind, path: tuple[str, ...]) -> dict[str, Plugin]:
    """Read the entry points of a kind again only when the import path has changed."""
    group = "touche_rad.indexes" if kind == "index" else f"touche_rad.{kind}s"
    plugins = [
        Plugin(kind, point.name, point.dist.name if point.dist else point.value, point.load)
        for point in entry_points(group=group)
    ]
    plugins.sort(key=lambda one: one.source == "touche-rad")  # no package replaces what we ship
    return {one.name: one for one in plugins}


def find(kind: Kind, name: str) -> Plugin:
    """Return the plugin of this name; the error suggests the nearest name."""
    plugins = registered(kind)
    if name not in plugins:
        hint = nearest(name, plugins)
        with suppress(OSError, ValueError, LookupError, TypeError):
            project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
            if name in project["entry-points"][f"touche_rad.{kind}s"]:
                hint = ": the package in this folder is not installed: run pip install -e ."
        raise OptionError(f"there is no {kind} {name!r}{hint}")
    return plugins[name]


def make(kind: Kind, text: str, services: Services) -> Any:
    """Create the plugin of `NAME` or `NAME(KEY=VALUE,...)`."""
    name, options = parse_plugin(text)
    return find(kind, name).make(services, options)


def trainer(name: str) -> Callable[..., Mapping[str, Any]]:
    """Return the trainer of this name (entry points of `touche_rad.trainers`)."""
    points = {point.name: point for point in entry_points(group="touche_rad.trainers")}
    if name not in points:
        raise OptionError(f"there is no trainer {name!r}{nearest(name, points)}")
    function: Callable[..., Mapping[str, Any]] = points[name].load()
    return function


IMPORTED: Final[dict[str, None]] = {}
"""The modules and files that `import_plugins` imported, for the workers of a run."""


def import_plugins(places: Iterable[str]) -> None:
    """Import modules or Python files, so that their decorators register plugins."""
    for place in places:
        IMPORTED[place] = None
        try:
            with chdir("."):
                if place.endswith(".py"):
                    _import_file(Path(place))
                else:
                    importlib.import_module(place)
        except (Exception, SystemExit) as error:
            reason = "it ends the program" if isinstance(error, SystemExit) else error
            raise UserError(f"--plugin {place}: cannot be imported: {reason}") from error


def _import_file(path: Path) -> None:
    name = f"{_OF_FILE}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or (path.exists() and not path.is_file()):
        raise UserError("expected a file, got a folder, a pipe or a device")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
