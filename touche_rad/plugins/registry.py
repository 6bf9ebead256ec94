"""Plugins by name: found by entry points or decorators; their options, needs and services."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, lru_cache, partial
from importlib.metadata import Distribution, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Generic, Literal, Protocol, overload

from pydantic import ValidationError
from typing_extensions import TypeVar

from touche_rad.criteria import Criteria, grice
from touche_rad.errors import (
    OptionError,
    ToucheRadError,
    UserError,
    WorkError,
    describe,
    nearest,
)
from touche_rad.frozen import frozen
from touche_rad.models import Model
from touche_rad.plugins.contracts import ArgumentIndex
from touche_rad.plugins.folder import keep_folder, working_folder
from touche_rad.plugins.loaded import (
    Loaded,
    LoadedDebater,
    LoadedJudge,
    LoadedPanel,
    LoadedRetriever,
)
from touche_rad.plugins.profiles import (
    PROFILE_FILE,
    PROMPTS,
    Options,
    Profile,
    adapter,
    bundled_profiles,
    check_folder,
    digest_of_prompts,
    expected,
    has_profiles,
    is_setting,
    load_profile,
    prompt_files,
    with_prompts_option,
)
from touche_rad.text import key_values

_PLUGIN: Final = re.compile(r"^([\w./\\-]+)(?:\((.*)\))?$", re.DOTALL)
_COMMA: Final = re.compile(r",(?=\s*[A-Za-z_][\w-]*=)")
"""A comma between options: `KEY=` follows it. Other commas are part of a value."""


def parse_plugin(text: str) -> tuple[str, dict[str, str]]:
    """Parse `NAME` or `NAME(KEY=VALUE,...)` into the name and its options."""
    match = _PLUGIN.match(text.strip())
    if not match:
        raise OptionError(f"{text!r}: expected NAME or NAME(KEY=VALUE,...)")
    name, inner = match.groups()
    options: dict[str, str] = {}
    for part in _split(inner or "", _COMMA):
        key, equals, value = part.partition("=")
        if not equals:
            raise OptionError(f"{text!r}: expected KEY=VALUE in the brackets, got {part!r}")
        options[normalize(key)] = value.strip()
    return name, options


def plugin_text(name: str, options: Mapping[str, object]) -> str:
    """Return `NAME` or `NAME(KEY=VALUE,...)`."""
    return f"{name}({','.join(key_values(options))})" if options else name


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


_NEED: Final = re.compile(
    r"index|vectors|model|(?:module:|extra:(?P<extra>[\w-]+)/)(?P<module>[\w.]+)"
)
_OF_FILE: Final = "touche_rad_plugin_"
"""What the names of modules of `--plugin FILE.py` begin with."""
VECTORS: Final = "an index with vectors (touche-rad index SOURCE -o DIR --dense ENCODER)"
A_MODEL: Final = (
    "a language model (-m URL#MODEL or -m vllm:MODEL, or OPENAI_BASE_URL and OPENAI_MODEL)"
)
AN_INDEX: Final = "an argument index (-i DIR; make one with: touche-rad index)"
"""The texts of the needs `model` and `index` in messages."""

Kind = Literal["debater", "judge", "panel", "retriever", "index", "annotator", "user"]
KINDS: tuple[Kind, ...] = ("debater", "judge", "panel", "retriever", "index", "annotator")


@frozen
class NamesPlugins:
    """Marks an option of type text that names plugins: `of: Annotated[str, NamesPlugins(KIND)]`.

    The code and the files of these plugins decide the results, too.
    """

    kinds: tuple[Kind, ...]

    def find(self, text: str) -> Configured:
        """Return the plugin that a text names."""
        name, options = parse_plugin(text)
        kinds = [kind for kind in self.kinds if name in registered(kind)]
        return find(kinds[0] if kinds else self.kinds[0], name).configure(options)


RetrieverName = Annotated[str, NamesPlugins(("retriever",))]


@frozen
class MayNameFile:
    """Marks an option of type text that may name a file or folder, whose content decides results.

    An option of type Path needs no mark.
    """

    after: str = ""
    """What the text begins with, such as `nli:`."""
    variable: str = ""
    """The variable of the environment that replaces an empty text."""


NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})
L = TypeVar("L", covariant=True, default=object)
"""What a plugin is when it is made, such as LoadedDebater."""


@frozen
class Services:
    """What a plugin can use besides its input."""

    index: ArgumentIndex | None = None
    seed: int = 0
    model: Model | None = None
    criteria: Criteria = field(default_factory=grice)
    """What a judge judges by."""

    def need_model(self, who: str) -> Model:
        """Return the language model, or raise an error that says how to give one."""
        if not self.model:
            raise UserError(f"{who} needs {A_MODEL}")
        return self.model

    def need_index(self, who: str) -> ArgumentIndex:
        """Return the index, or raise an error that says how to give one."""
        if self.index is None:
            raise UserError(f"{who} needs {AN_INDEX}")
        return self.index


@frozen
class Plugin(Generic[L]):
    """A registered class with its name, purpose, needs and options."""

    kind: Kind
    name: str
    source: str
    """The package or module that has it."""
    load: Callable[[], type] = field(repr=False)
    needs_of_decorator: tuple[str, ...] = ()
    distribution: Distribution | None = field(default=None, repr=False)
    """The installed package that has it; None for what a decorator registered."""

    @cached_property
    def factory(self) -> type:
        """The plugin's class; if it cannot be imported, the error names the plugin."""
        try:
            with keep_folder():
                return self.load()
        except (Exception, SystemExit) as error:
            raise WorkError(
                f"{self.kind} {self.name!r} of {self.source} is broken: {describe(error)}; "
                "correct or uninstall its package"
            ) from error

    @property
    def file(self) -> Path | None:
        """The file of `--plugin FILE.py` that defines it; None for what is installed."""
        module = sys.modules.get(self.factory.__module__)
        is_file = self.factory.__module__.startswith(_OF_FILE)
        return Path(module.__file__) if is_file and module and module.__file__ else None

    @property
    def purpose(self) -> str:
        """The first line of the class's docstring."""
        return (inspect.getdoc(self.factory) or "").partition("\n")[0]

    @property
    def needs(self) -> tuple[str, ...]:
        """What the plugin needs.

        `index`, `vectors` (in the index), `model`, `module:NAME` (an importable module), or
        `extra:EXTRA/MODULE` (a module that an extra of touche-rad installs).
        """
        return self.needs_of_decorator or tuple(getattr(self.factory, "needs", ()))

    @property
    def uses(self) -> tuple[str, ...]:
        """What the plugin uses if it is available: `model`, `index`."""
        return tuple(getattr(self.factory, "uses", ()))

    @property
    def uses_model(self) -> bool:
        """Whether the plugin needs a language model, or uses one if there is one."""
        return "model" in (*self.needs, *self.uses)

    @cached_property
    def options(self) -> type[Options]:
        """The class of the options; a plugin with prompt files has the option `prompts`."""
        options: type[Options] = getattr(self.factory, "Options", Options)
        return with_prompts_option(options) if prompt_files(self.factory) else options

    def missing(self, *, index: bool, model: bool = False, vectors: bool = True) -> list[str]:
        """Return the needs that are not met, each with what to do."""
        unmet: list[str] = []
        for need in self.needs:
            match = _NEED.fullmatch(need)
            if not match:
                raise WorkError(
                    f"{self.kind} {self.name!r} of {self.source}: unknown need {need!r}: expected "
                    "index, vectors, model, module:NAME or extra:EXTRA/MODULE"
                )
            extra = match["extra"]
            module = match["module"]
            if need == "index" and not index:
                unmet.append(AN_INDEX)
            elif need == "vectors" and not vectors:
                unmet.append(VECTORS)
            elif need == "model" and not model:
                unmet.append(A_MODEL)
            elif module and importlib.util.find_spec(module) is None:
                package = f"the package {module} (pip install {module})"
                of_ours = f"the extra {extra} (pip install 'touche-rad[{extra}]')"
                unmet.append(of_ours if extra else package)
        return unmet

    @property
    def optional(self) -> bool:
        """Whether an installation is complete without this plugin."""
        return any(
            need.startswith(("extra:", "module:", "model", "vectors")) for need in self.needs
        )

    def profiles(self) -> list[Profile]:
        """Return the bundled profiles, each with its values and those of all other settings.

        They are in the order of their names, the default profile first.
        """
        if not has_profiles(self.options):
            return []
        fields = self.options.model_fields
        default = fields["profile"].default
        profiles: list[Profile] = []
        names = sorted(bundled_profiles(self.options), key=lambda name: (name != default, name))
        for name in names:
            profile = load_profile(self.options, name)
            settings = {
                key: profile.settings.get(key, field.default)
                for key, field in fields.items()
                if is_setting(field) or key in profile.settings
            }
            profiles.append(replace(profile, settings=settings))
        return profiles

    def configure(self, texts: Mapping[str, str] = NO_OPTIONS) -> Configured[L]:
        """Turn `KEY=VALUE` pairs of the command line into typed options."""
        who = f"{self.kind} {self.name}"
        fields = self.options.model_fields
        for key in texts:
            if key not in fields:
                names = [name for name, field in fields.items() if not is_setting(field)]
                raise OptionError(f"{who} has no option {key!r}{nearest(key, names)}")
            if is_setting(fields[key]):
                raise OptionError(
                    f"{who}: {key!r} is a setting: set it in a profile file and pass "
                    f"-O profile=FILE.toml (touche-rad list {self.name} shows the profiles)"
                )
        key = ""
        try:
            typed: dict[str, Any] = {}
            for key, text in texts.items():
                typed[key] = adapter(fields[key]).validate_strings(text)
            options = self.options.model_validate(typed)
        except ValidationError as error:
            path = error.errors()[0]["loc"]
            key = str(path[0]) if path and path[0] in fields else key
            value = texts.get(key, "")
            raise OptionError(f"{who}: option {key}={value!r}: {expected(error)}") from None
        except OptionError as error:
            raise OptionError(f"{who}: {error}") from None
        values = dict(options)
        if values.get(PROMPTS):
            check_folder(Path(values[PROMPTS]), self.factory)

        # The tag has the options that differ from the defaults. The values of a bundled profile are
        # in it by the profile's name, those of a user's file one by one.
        of_profile: Mapping[str, Any] = {}
        if has_profiles(self.options):
            if values["profile"].endswith(PROFILE_FILE):
                del values["profile"]
            else:
                of_profile = load_profile(self.options, values["profile"]).settings
        defaults = dict(self.options.model_construct(**of_profile))
        changed = {key: value for key, value in values.items() if value != defaults.get(key)}
        if PROMPTS in changed:
            changed[PROMPTS] = digest_of_prompts(Path(changed[PROMPTS]))
        tag = plugin_text(self.name, dict(sorted(changed.items())))
        return Configured(self, texts, options, tag)

    def make(self, services: Services, texts: Mapping[str, str] = NO_OPTIONS) -> L:
        """Create the plugin; a UserError is on options and needs, a WorkError on its own code."""
        return self.configure(texts).make(services)


@frozen
class Configured(Generic[L]):
    """A plugin with its options, which are valid."""

    plugin: Plugin[L]
    texts: Mapping[str, str]
    """The options as they were given."""
    options: Options
    tag: str
    """The plugin's name with the options that differ from the defaults."""
    model: str = ""
    """Its own language model instead of that of -m; `#NAME`: of the same server."""
    folder: Path = field(default_factory=working_folder, repr=False, compare=False)
    """The folder to which paths in the options are relative; a plugin may leave it."""

    @property
    def shares_server(self) -> bool:
        """Whether its model is on the server of -m."""
        return not self.model or self.model.startswith("#")

    @property
    def works_without_index(self) -> bool:
        """Whether the plugin needs an index, but not with these options."""
        works: Callable[[Options], bool] | None = getattr(
            self.plugin.factory, "works_without_index", None
        )
        return bool(works and works(self.options))

    @property
    def prompts(self) -> Path | None:
        """The user's folder of prompt files."""
        prompts = dict(self.options).get(PROMPTS)
        return self.folder / prompts if prompts else None

    def with_model(self, model: str) -> Configured[L]:
        """Return the plugin with a language model of its own; it is in the tag by its name."""
        name = model.rpartition("#")[2]
        tag = self.tag
        tag = f"{tag[:-1]},model={name})" if tag.endswith(")") else f"{tag}(model={name})"
        return replace(self, model=model, tag=tag)

    def make(self, services: Services) -> L:
        """Create the plugin; a UserError is on its needs, a WorkError on its own code."""
        who = f"{self.plugin.kind} {self.plugin.name}"
        index = services.index is not None or self.works_without_index
        if unmet := self.plugin.missing(index=index, model=services.model is not None):
            raise UserError(f"{who} needs {' and '.join(unmet)}")
        name = services.criteria.name
        known = {*getattr(self.plugin.factory, "criteria", ("grice",))}
        if self.plugin.kind == "judge" and not known & {"any", name}:
            has_scores = all(criterion.answers.scores for criterion in services.criteria)
            if not (has_scores and "scored" in known):
                fix = "choose a judge that asks a model, such as zsl or fsl1, or a jury of these"
                raise UserError(f"{who} judges by its own criteria, not by {name}: {fix}")
        # Paths stay right in another folder, in which the plugin may leave the process.
        paths = {key: self.folder / path for key, path in self.options if isinstance(path, Path)}
        options = self.options.model_copy(update=paths)
        try:
            with keep_folder():
                instance = self.plugin.factory(options, services)
        except ToucheRadError:
            raise
        except (Exception, SystemExit) as error:
            raise WorkError(f"{who} cannot be made: {describe(error)}") from error
        wrapper: Callable[..., Any] | None = _LOADED.get(self.plugin.kind)
        loaded: L = instance
        if wrapper:
            loaded = wrapper(instance, self.plugin.name, self.prompts)
        return loaded


_LOADED: Final[Mapping[Kind, type[Loaded[Any]]]] = {
    "debater": LoadedDebater,
    "judge": LoadedJudge,
    "panel": LoadedPanel,
    "retriever": LoadedRetriever,
}
"""What calls the plugins of a kind; those of the other kinds are called as they are."""


C = TypeVar("C", bound=type)

_decorated: dict[tuple[Kind, str], Plugin[Any]] = {}


class _Decorator(Protocol):
    def __call__(self, name: str, *, needs: Sequence[str] = ()) -> Callable[[C], C]: ...


def _named(kind: Kind, name: str, *, needs: Sequence[str] = ()) -> Callable[[C], C]:
    def register(plugin: C) -> C:
        # A fallback, and what a run's tag names, must be what we ship.
        if name in _installed(kind, tuple(sys.path)):
            raise UserError(f"there is a {kind} {name!r} already: choose another name")
        _decorated[kind, name] = Plugin(kind, name, plugin.__module__, lambda: plugin, tuple(needs))
        return plugin

    return register


debater: _Decorator = partial(_named, "debater")
"""`@debater("NAME", needs=(...))` registers a class as a debater."""
judge: _Decorator = partial(_named, "judge")
panel: _Decorator = partial(_named, "panel")
retriever: _Decorator = partial(_named, "retriever")
index_backend: _Decorator = partial(_named, "index")


def registered(kind: Kind) -> dict[str, Plugin[Any]]:
    """Return all plugins of a kind by name."""
    plugins = dict(_installed(kind, tuple(sys.path)))
    for (kind_of_plugin, name), plugin in _decorated.items():
        if kind_of_plugin == kind:
            plugins[name] = plugin
    return dict(sorted(plugins.items()))


@lru_cache(maxsize=32)
def _installed(kind: Kind, path: tuple[str, ...]) -> dict[str, Plugin[Any]]:
    """Read the entry points of a kind again only when the import path has changed."""
    group = "touche_rad.indexes" if kind == "index" else f"touche_rad.{kind}s"
    plugins: list[Plugin[Any]] = []
    for point in entry_points(group=group):
        source = point.dist.name if point.dist else point.value
        plugins.append(Plugin(kind, point.name, source, point.load, distribution=point.dist))
    plugins.sort(key=lambda plugin: plugin.source == "touche-rad")
    return {plugin.name: plugin for plugin in plugins}  # no package replaces what we ship


@overload
def find(kind: Literal["debater"], name: str) -> Plugin[LoadedDebater]: ...
@overload
def find(kind: Literal["judge"], name: str) -> Plugin[LoadedJudge]: ...
@overload
def find(kind: Kind, name: str) -> Plugin[Any]: ...
def find(kind: Kind, name: str) -> Plugin[Any]:
    """Return the plugin of this name; the error suggests the nearest name."""
    plugins = registered(kind)
    if name not in plugins:
        hint = f"{nearest(name, plugins)}; load your own with --plugin FILE.py"
        for place in IMPORTED:
            if place.endswith(".py") and not plugins_of(place):
                hint = f': {place} registers no plugin: write @{kind}("{name}") above its class'
        raise OptionError(f"there is no {kind} {name!r}{hint}")
    return plugins[name]


@overload
def make(kind: Literal["judge"], text: str, services: Services) -> LoadedJudge: ...
@overload
def make(kind: Literal["retriever"], text: str, services: Services) -> LoadedRetriever: ...
def make(kind: Kind, text: str, services: Services) -> object:
    """Create the plugin of `NAME` or `NAME(KEY=VALUE,...)`."""
    return configure(kind, text).make(services)


def configure(kind: Kind, text: str) -> Configured[Any]:
    """Return the plugin of `NAME` or `NAME(KEY=VALUE,...)` with its options."""
    name, options = parse_plugin(text)
    return find(kind, name).configure(options)


def trainer(name: str) -> Callable[..., Mapping[str, Any]]:
    """Return the trainer of this name (entry points of `touche_rad.trainers`)."""
    (point,) = entry_points(group="touche_rad.trainers", name=name)
    function: Callable[..., Mapping[str, Any]] = point.load()
    return function


IMPORTED: Final[dict[str, None]] = {}
"""The modules and files that `import_plugins` imported, for the workers of a run."""


def plugins_of(file: str) -> list[Plugin[Any]]:
    """Return the plugins that a file which was imported has registered."""
    module = f"{_OF_FILE}{Path(file).stem}"
    return [plugin for plugin in _decorated.values() if plugin.source == module]


def import_plugins(places: Iterable[str]) -> None:
    """Import modules or Python files, so that their decorators register plugins."""
    for place in places:
        IMPORTED[place] = None
        try:
            with keep_folder():
                if not place.endswith(".py"):
                    importlib.import_module(place)
                    continue
                path = Path(place)
                name = f"{_OF_FILE}{path.stem}"
                spec = importlib.util.spec_from_file_location(name, path)
                if not spec or spec.loader is None or (path.exists() and not path.is_file()):
                    raise UserError("expected a file, got a folder, a pipe or a device")
                module = importlib.util.module_from_spec(spec)
                sys.modules[name] = module
                spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del IMPORTED[place]
            reason = "it ends the program" if isinstance(error, SystemExit) else error
            raise UserError(f"--plugin {place}: cannot be imported: {reason}") from error
