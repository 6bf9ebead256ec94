"""The registry: debaters, judges, panels, retrievers and indexes by name.

Ours are found as anyone's are: by an entry point (`touche_rad.debaters`, `touche_rad.judges`,
`touche_rad.panels`, `touche_rad.retrievers`, `touche_rad.indexes`) or by the decorator of the same
kind in a module that `--plugin` names. A plugin is a class; its docstring's first line is its
purpose, its inner `Options` its typed settings, and it is made with `(options, services)`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError

from touche_rad.contest import Contest, Outcome
from touche_rad.debate import Argument, Debate, Hit, Response, Verdicts
from touche_rad.errors import OptionError, UserError, WorkError, nearest
from touche_rad.models import Model
from touche_rad.schemes import Annotation, Annotator, Cost

Kind = Literal["debater", "judge", "panel", "retriever", "index", "user"]
KINDS: tuple[Kind, ...] = ("debater", "judge", "panel", "retriever", "index")

T = TypeVar("T")
C = TypeVar("C", bound=type)


class Options(BaseModel):
    """Base of a plugin's typed options."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ArgumentIndex(Protocol):
    """An opened argument index."""

    def __len__(self) -> int:
        """Count the arguments."""
        ...

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""
        ...

    @property
    def fingerprint(self) -> str:
        """What tells this index's content from another's."""
        ...

    def scored(self, field: str, queries: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """Return each query's best `k` ids with their scores; equal scores by id."""
        ...

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        """Return the best `k` arguments by one field: text, attacks, supports, topic or all."""
        ...

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search many queries at once."""
        ...

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument."""
        ...


@runtime_checkable
class GivesMany(Protocol):
    """An index that gives many arguments as quickly as one."""

    def get_all(self, ids: Sequence[str]) -> list[Argument | None]:
        """Return the argument of each id, or None."""
        ...


def arguments_by(index: ArgumentIndex, ids: Sequence[str]) -> list[Argument | None]:
    """Return the argument of each id, or None, asked at once where the index can do that."""
    return index.get_all(ids) if isinstance(index, GivesMany) else [index.get(one) for one in ids]


class IndexHome(Protocol):
    """A kind of place where an index lives, and how one is made there."""

    def accepts(self, location: str) -> bool:
        """Whether this location is one of mine."""
        ...

    def open(self, location: str) -> ArgumentIndex:
        """Open an index that is there."""
        ...

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Make an index there and return how many arguments it holds."""
        ...


class Meaning(Protocol):
    """What an index tells of texts that say alike in other words."""

    def nearest(self, field: str, texts: Sequence[str], k: int) -> list[list[str]]:
        """Return the ids of the arguments nearest to each text, nearest first."""
        ...

    def likeness(self, field: str, texts: Sequence[str], ids: Sequence[str]) -> list[list[float]]:
        """Return how like each text is to each argument by its field, -1 to 1."""
        ...


@runtime_checkable
class MeaningIndex(Protocol):
    """An index that may know meaning."""

    @property
    def meaning(self) -> Meaning | None:
        """What it knows, if it does."""
        ...


class Memory(Protocol):
    """What an index remembers of its arguments: which schemes they use, and how well."""

    def annotations(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return the annotation of each argument, or None where there is none."""
        ...

    def using(self, ids: Sequence[str]) -> list[bool | None]:
        """Return whether each argument uses any scheme, or None where that is not known."""
        ...


@runtime_checkable
class RemembersIndex(Protocol):
    """An index that may have a memory."""

    @property
    def memory(self) -> Memory | None:
        """Its memory, if it was annotated."""
        ...


@runtime_checkable
class KeepsMemory(Protocol):
    """A home that keeps a memory beside an index."""

    def annotate(
        self,
        location: str,
        annotator: Annotator,
        *,
        of: Iterable[Argument] | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> int:
        """Annotate what the index holds, going on where a killed run was.

        Args:
            location: The index.
            annotator: Who annotates.
            of: The arguments that the index must hold; another index is refused.
            report: Told how many arguments are done of how many.

        Returns:
            How many are annotated; 0 where all were before.
        """
        ...

    def cost_of_annotating(self, location: str, annotator: Annotator) -> Cost:
        """Return what annotating what is left will take, about."""
        ...


@dataclass(frozen=True)
class VectorsWanted:
    """Which vectors an index is given besides its words."""

    encoder: str
    fields: tuple[str, ...] = ("text", "attacks", "supports")
    precision: Literal["float16", "int8"] = "float16"
    graph: bool = False
    """Whether a graph for approximate search (HNSW) is made too."""


@runtime_checkable
class KeepsVectors(Protocol):
    """A home that keeps vectors beside an index."""

    def add_vectors(
        self,
        location: str,
        wanted: VectorsWanted,
        *,
        of: Iterable[Argument] | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> int:
        """Encode what the index holds, going on where a killed run was.

        Args:
            location: The index.
            wanted: Which vectors.
            of: The arguments that the index must hold; another index is refused.
            report: Told how many texts are done of how many.

        Returns:
            How many texts there are.
        """
        ...


@runtime_checkable
class OnAServer(Protocol):
    """A home whose indexes are no folders of this disk."""

    def exists(self, location: str) -> bool:
        """Whether an index is there."""
        ...


@runtime_checkable
class Dumps(Protocol):
    """A home on a server, whose indexes can be brought here whole."""

    def dump(
        self, location: str, path: Path, report: Callable[[int, int], None] | None = None
    ) -> int:
        """Write all arguments to a file of JSON lines and return how many there are."""
        ...


@dataclass(frozen=True)
class Services:
    """What a plugin may use besides the debate it is given."""

    index: ArgumentIndex | None = None
    seed: int = 0
    model: Model | None = None

    def need_model(self, who: str) -> Model:
        """Return the language model, or say how to give one."""
        if self.model is None:
            raise UserError(
                f"{who} needs a language model: give one with -m URL#MODEL, -m vllm:MODEL, or "
                "OPENAI_BASE_URL and OPENAI_MODEL in the environment"
            )
        return self.model

    def need_index(self, who: str) -> ArgumentIndex:
        """Return the index, or say how to give one."""
        if self.index is None:
            raise UserError(
                f"{who} needs an argument index: give one with -i DIR (touche-rad index)"
            )
        return self.index


@runtime_checkable
class Debater(Protocol):
    """Answers the last turn of a debate. `answer` may be `def` or `async def`."""

    def answer(self, debate: Debate) -> Response | Awaitable[Response]:
        """Answer the user's last utterance."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A debater that can show how it chose: each candidate with its features, best first."""

    def explain(self, debate: Debate) -> list[dict[str, Any]]:
        """Return one row a candidate."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Judges the last response of a debate on the four maxims. `judge` may be async.

    The debate ends with the judged turn: what came later was cut off before.
    """

    def judge(self, debate: Debate) -> Verdicts | Awaitable[Verdicts]:
        """Give a verdict on each maxim."""
        ...


@runtime_checkable
class JudgesAll(Protocol):
    """A judge that may judge all responses of a debate at once."""

    async def judge_all(self, debate: Debate) -> Sequence[Verdicts] | None:
        """Give the verdicts on each turn, or None where each is to be asked for by itself."""
        ...


@runtime_checkable
class Panel(Protocol):
    """Judges a whole debate of speeches. `judge` may be async."""

    def judge(self, contest: Contest) -> Outcome | Awaitable[Outcome]:
        """Say who won, and why."""
        ...


@runtime_checkable
class Draws(Protocol):
    """A panel whose outcomes can be drawn in the report.

    Outcomes come from a file: nothing of one may reach the page unescaped. The page holds the style
    and the script once, and runs no other script.
    """

    @staticmethod
    def drawing(outcome: Outcome, contest: Contest | None) -> str:
        """Return a fragment of HTML, or nothing."""
        ...

    @staticmethod
    def drawing_style() -> str:
        """Return the style of all fragments."""
        ...

    @staticmethod
    def drawing_script() -> str:
        """Return the script of all fragments."""
        ...


@runtime_checkable
class Exports(Protocol):
    """A panel whose outcomes hold something that other programs open, such as a graph."""

    @staticmethod
    def exports(outcome: Outcome) -> Mapping[str, str]:
        """Return texts by the endings of their files; nothing where an outcome holds none."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Finds arguments for a query."""

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the best `k` hits, best first."""
        ...


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
        try:
            return self.options.model_validate_strings(dict(given))
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0]) if first["loc"] else "?"
            raise OptionError(
                f"{self.kind} {self.name}: option {key}={given.get(key, '')!r}: {first['msg']}"
            ) from None

    def identity(self, options: Options) -> str:
        """The canonical name: the plugin and what was set on it, as a run's tag."""
        changed = options.model_dump(exclude_defaults=True)
        inner = ",".join(f"{key}={value}" for key, value in sorted(changed.items()))
        return f"{self.name}({inner})" if inner else self.name

    def make(self, services: Services, given: Mapping[str, str] | None = None) -> Any:
        """Make one, with options as strings and the services it may use."""
        made = self.factory(self.parse(given or {}), services)
        with suppress(AttributeError, TypeError):
            made.plugin_name = self.name
        return made


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


def name_of(plugin: object) -> str:
    """Return the name a plugin was made by; one made by hand goes by its class."""
    return str(getattr(plugin, "plugin_name", type(plugin).__name__))


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


def open_index(location: str) -> ArgumentIndex:
    """Open the index at a location, whatever kind of home it lives in."""
    return _home(location).open(location)


def build_index(
    arguments: Iterable[Argument],
    location: str,
    *,
    replace: bool = False,
    options: Mapping[str, str] | None = None,
) -> int:
    """Make an index at a location and return how many arguments it holds."""
    return _home(location, options).build(arguments, location, replace=replace)


def index_exists(location: str, options: Mapping[str, str] | None = None) -> bool:
    """Whether an index is at a location; options that its home has not are told first."""
    home = _home(location, options)
    return home.exists(location) if isinstance(home, OnAServer) else Path(location).is_dir()


def dump_index(
    location: str, path: Path, report: Callable[[int, int], None] | None = None
) -> int | None:
    """Write all arguments of a server's index to a file, going on where a killed dump was.

    Returns:
        How many there are, or None where the location is no server's.
    """
    home = _home(location)
    return home.dump(location, path, report) if isinstance(home, Dumps) else None


def add_vectors(
    location: str,
    wanted: VectorsWanted,
    *,
    of: Iterable[Argument] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> int:
    """Give an index vectors, and return how many texts were encoded."""
    home = _home(location)
    if not isinstance(home, KeepsVectors):
        raise UserError(f"{location}: no vectors can be kept there")
    return home.add_vectors(location, wanted, of=of, report=report)


def keeps_memory(location: str) -> KeepsMemory:
    """Return the home of an index that is to be annotated."""
    home = _home(location)
    if not isinstance(home, KeepsMemory):
        raise UserError(f"{location}: no memory can be kept there")
    return home


def _home(location: str, options: Mapping[str, str] | None = None) -> IndexHome:
    for plugin in registered("index").values():
        home: IndexHome = plugin.make(Services())
        if home.accepts(location):
            made: IndexHome = plugin.make(Services(), options) if options else home
            return made
    raise UserError(f"no index home accepts {location!r}{nearest(location, registered('index'))}")
