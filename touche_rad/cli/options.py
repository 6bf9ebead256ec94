"""Typed options: each command has one class with its options, and the shared ones are here.

A field of such a class is an option: `option`, `flag`, `argument` and others return the default of
a field, with the type of its values. Click parses the command line, and the command gets the
finished object. All that is to be said about an option is said where it is declared: its text, its
values, its section in `--help`, and whether a settings file may set it for all commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from inspect import get_annotations
from itertools import count
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    get_args,
    overload,
)

import click

from touche_rad.cli.help_text import Option, Section
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.runs.shard import Shard

Value = TypeVar("Value")
Engine = Literal["local", "ray"]

_KEY_VALUE: Final = re.compile(r"^(?:([a-z]+)\.)?([A-Za-z_][\w-]*)=(.*)$", re.DOTALL)


_DECLARED: Final = "declared"


@dataclass(frozen=True)
class _Declared:
    """What a field of an options class is on the command line."""

    make: Callable[[str, int], click.Parameter]
    """Makes the parameter from the name of the field and its place among all options."""
    number: int = field(default_factory=count().__next__)
    """How many were declared before: options of a section are shown in this order."""
    is_offered: bool = True


def parameters_of(options_class: type) -> dict[str, click.Parameter]:
    """Return the parameters of an options class by field: its own ones, then those of its bases.

    An option that replaces the one of a base has the place of that one in the help.
    """
    offered: dict[str, _Declared] = {}
    numbers: dict[str, int] = {}
    for base in options_class.__mro__[:-1]:
        declarations = {one.name: one.metadata.get(_DECLARED) for one in fields(base)}
        for name in get_annotations(base):
            declared = declarations[name]
            if declared is None:
                continue
            numbers[name] = declared.number
            if declared.is_offered:
                offered.setdefault(name, declared)
    return {name: declared.make(name, numbers[name]) for name, declared in offered.items()}


@dataclass(frozen=True)
class PluginSpec:
    """A plugin as it is named on the command line: `NAME` or `NAME(KEY=VALUE,...)`."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        inner = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}({inner})" if inner else self.name

    def with_options(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """Return its options, with those of `-O` in the place of its own."""
        return {**self.options, **options}


@dataclass(frozen=True)
class PluginOptions:
    """The options of `-O` by the plugin that they are for; `model` and `vllm` are such, too."""

    by_plugin: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, plugin: str) -> Mapping[str, str]:
        """Return the options of a plugin."""
        return self.by_plugin.get(plugin, {})


DEFAULT: Final = PluginSpec("grounded")
"""The debater and the judge that need no model."""
NONE: Final = PluginOptions()
"""No options of plugins."""


class How(TypedDict, total=False):
    """How an option is set and shown."""

    metavar: str
    env: bool | Sequence[str]
    """Variables that set it; True: the one that is named after the field, `TOUCHE_RAD_NAME`."""
    least: float
    """The least value. By default integers are at least 1, and other numbers above 0."""
    most: float
    alone: float
    """The value of the option without a value."""
    only_folders: bool
    is_eager: bool
    """Whether it is parsed before the others, which read it."""
    shows_default: bool
    section: Section
    is_rare: bool
    """Whether only `--help-all` shows it."""
    place: int
    """The place in its section; equal places are in the order of declaration."""


def _declare(
    default: Value,
    text: str,
    names: str,
    values: Mapping[str, Any],
    how: How,
) -> Value:
    """Declare an option as a field with a default.

    `names` are those of the command line; without `--`, the one of the settings file.
    """

    def make(name: str, number: int) -> Option:
        settings: dict[str, Any] = {"help": text, "is_eager": how.get("is_eager", False), **values}
        if "metavar" in how:
            settings["metavar"] = how["metavar"]
        if env := how.get("env"):
            settings["envvar"] = f"TOUCHE_RAD_{name.upper()}" if env is True else env
        is_flag = values.get("is_flag", False)
        if is_flag or default not in (None, NONE):
            settings["default"] = default.name if isinstance(default, PluginSpec) else default
            shows = not is_flag and default not in ((), "")
            settings["show_default"] = how.get("shows_default", shows)
        if "alone" in how:
            settings |= {"is_flag": False, "flag_value": how["alone"]}
        words = names.split()
        flags = [word for word in words if word.startswith("-")] or [f"--{name.replace('_', '-')}"]
        key = next((word for word in words if not word.startswith("-")), name)
        return Option(
            [*flags, key],
            section=how.get("section"),
            is_rare=how.get("is_rare", False),
            rank=(how.get("place", 0), number),
            **settings,
        )

    return field(default=default, metadata={_DECLARED: _Declared(make)})


def _values_of(kind: type, how: How) -> dict[str, Any]:
    """Return what click must know about values of a type."""
    least, most = how.get("least"), how.get("most")
    if kind is int:
        bounds = 1 if least is None else int(least), None if most is None else int(most)
        return {"type": click.IntRange(*bounds), "metavar": "N"}
    if kind is float:
        return {"type": click.FloatRange(least or 0, most, min_open=least is None), "metavar": "N"}
    if kind is Path:
        folder = how.get("only_folders", False)
        return {"type": click.Path(file_okay=not folder, path_type=Path), "metavar": "FILE"}
    return {}


@overload
def option(
    kind: type[Value], text: str, names: str = "", *, default: Value, **how: Unpack[How]
) -> Value: ...
@overload
def option(kind: type[Value], text: str, names: str = "", **how: Unpack[How]) -> Value | None: ...
def option(
    kind: type[Value],
    text: str,
    names: str = "",
    *,
    default: Value | None = None,
    **how: Unpack[How],
) -> Value | None:
    """Declare an option with a value; without a default it may be left out."""
    return _declare(default, text, names, _values_of(kind, how), how)


def repeatable(
    kind: type[Value],
    text: str,
    names: str = "",
    *,
    default: tuple[Value, ...] = (),
    **how: Unpack[How],
) -> tuple[Value, ...]:
    """Declare an option that may be given several times."""
    return _declare(default, text, names, {**_values_of(kind, how), "multiple": True}, how)


def choice(
    values: Sequence[Value], text: str, names: str = "", *, default: Value, **how: Unpack[How]
) -> Value:
    """Declare an option with one of some values."""
    return _declare(default, text, names, {"type": click.Choice(values)}, how)


def choices(
    values: Sequence[Value],
    text: str,
    names: str = "",
    *,
    default: tuple[Value, ...],
    **how: Unpack[How],
) -> tuple[Value, ...]:
    """Declare an option with one of some values that may be given several times."""
    return _declare(default, text, names, {"type": click.Choice(values), "multiple": True}, how)


def flag(text: str, names: str = "", *, default: bool = False, **how: Unpack[How]) -> bool:
    """Declare an option without a value."""
    return _declare(default, text, names, {"is_flag": True}, how)


def say(text: str) -> str | None:
    """Declare `--say`."""
    return option(str, text, "--say", metavar="TEXT")


def _declare_argument(values: Mapping[str, Any], metavar: str | None, *, required: bool) -> Any:
    def make(name: str, number: int) -> click.Argument:
        settings = {**values, "metavar": metavar, "required": required}
        return click.Argument([name], **settings)

    return field(default=None, metadata={_DECLARED: _Declared(make)})


@overload
def argument(kind: type[Value], metavar: str | None = None) -> Value: ...
@overload
def argument(kind: type[Value], metavar: str, *, required: Literal[False]) -> Value | None: ...
def argument(
    kind: type[Value], metavar: str | None = None, *, required: bool = True
) -> Value | None:
    """Declare an argument of the command line."""
    value: Value | None = _declare_argument(_values_of(kind, {}), metavar, required=required)
    return value


def choice_argument(values: Sequence[Value]) -> Value:
    """Declare an argument that has one of some values."""
    value: Value = _declare_argument({"type": click.Choice(values)}, None, required=True)
    return value


def arguments(metavar: str, *, with_traces: bool = False) -> tuple[Path, ...]:
    """Declare the last argument, one or more files."""
    callback = None if with_traces else _without_traces
    values = {**_values_of(Path, {}), "nargs": -1, "callback": callback}
    paths: tuple[Path, ...] = _declare_argument(values, metavar, required=True)
    return paths


def _without_traces(
    ctx: click.Context, parameter: click.Parameter, paths: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Leave out the traces beside runs, which a pattern such as *.jsonl matches."""
    from touche_rad.files.traces import TRACE

    return tuple(path for path in paths if not str(path).endswith(TRACE)) or paths


def _parse_plugin(text: str) -> PluginSpec:
    from touche_rad.plugins.registry import parse_plugin

    return PluginSpec(*parse_plugin(text))


@overload
def plugin(
    text: str, names: str = "", *, default: PluginSpec, **how: Unpack[How]
) -> PluginSpec: ...
@overload
def plugin(text: str, names: str = "", **how: Unpack[How]) -> PluginSpec | None: ...
def plugin(
    text: str, names: str = "", *, default: PluginSpec | None = None, **how: Unpack[How]
) -> PluginSpec | None:
    """Declare an option that names a plugin."""

    def parse(
        ctx: click.Context, parameter: click.Parameter, value: str | None
    ) -> PluginSpec | None:
        return _parse_plugin(value) if value is not None else None

    return _declare(default, text, names, {"metavar": "NAME", "callback": parse}, how)


def plugins(
    text: str, names: str = "", *, default: tuple[PluginSpec, ...] = (), **how: Unpack[How]
) -> tuple[PluginSpec, ...]:
    """Declare an option that names a plugin and may be given several times."""

    def parse(
        ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
    ) -> tuple[PluginSpec, ...]:
        return tuple(map(_parse_plugin, values))

    values = {"metavar": "NAME", "callback": parse, "multiple": True}
    return _declare(default, text, names, values, how)


@overload
def output(
    text: str, metavar: str = "FILE", *, checked: bool = False, required: Literal[True]
) -> Path: ...
@overload
def output(text: str, metavar: str = "FILE", *, default: Path) -> Path: ...
@overload
def output(text: str, metavar: str = "FILE", *, checked: bool = False) -> Path | None: ...
def output(
    text: str,
    metavar: str = "FILE",
    *,
    checked: bool = False,
    required: bool = False,
    default: Path | None = None,
) -> Path | None:
    """Declare `-o`, the output path; a `checked` one may exist only with `--replace`."""

    def parse(
        ctx: click.Context, parameter: click.Parameter, value: str | Path | None
    ) -> Path | None:
        if value and _KEY_VALUE.match(str(value)):
            raise UserError(f"-o {value}: -o is the output; set an option with -O {value}")
        if value == "":
            raise UserError("-o: expected the name of an output, got an empty text")
        if checked:
            from touche_rad.files import check_output

            check_output(value, replace=ctx.params["replace"])
        return Path(value) if value else None

    # click checks nothing of the path, the callback does; shells complete it
    values = {"type": click.Path(), "callback": parse, "required": required}
    return _declare(default, text, "-o --output", values, {"metavar": metavar})


def plugin_options(main: str | None, *others: str) -> PluginOptions:
    """Declare `-O`; a flag replaces the value of the settings file for the same key.

    `main` is the plugin of a key without a prefix, `others` are those that a prefix can name.
    """
    plugins = [one for one in (main, *others, "model", "vllm") if one]

    def parse(
        ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
    ) -> PluginOptions:
        by_plugin: dict[str, dict[str, str]] = {}
        from_file = tuple((ctx.default_map or {}).get("options", ()))
        from_flags = () if values == from_file else values
        for text in (*from_file, *from_flags):
            match = _KEY_VALUE.match(text)
            if not match:
                raise UserError(f"-O {text}: expected KEY=VALUE")
            prefix, key, value = match.groups()
            plugin = {"panel": "judge"}.get(prefix, prefix) or main
            if plugin in plugins:
                by_plugin.setdefault(str(plugin), {})[key.replace("-", "_")] = value
            elif text in from_flags:
                names = " or ".join(f"{one}.KEY=VALUE" for one in plugins)
                raise UserError(f"-O {text}: this command has {names}")
        return PluginOptions(by_plugin)

    example = f"; -O {plugins[1]}.KEY=VALUE for the {plugins[1]}" if main else ""
    what = f"Set an option of the {main}{example}" if main else "Set model.KEY or vllm.KEY"
    values = {"multiple": True, "metavar": "KEY=VALUE", "callback": parse}
    return _declare(NONE, f"{what}; repeatable.", "-O --option options", values, {})


SETTINGS: Final = ["options", "plugins"]
"""The keys of a settings file above its tables, which are for all commands."""


class Shared(Generic[Value]):
    """An option of several commands: each class of options gets a field of its own."""

    def __init__(self, declared: Value, *, setting: str | None = None) -> None:
        """Take the declaration, and the key that sets it for all commands in a settings file."""
        self._field = cast("Field[Value]", declared)
        if setting is not None:
            SETTINGS.append(setting)

    def field(self) -> Value:
        """Return a field of a class whose command has the option."""
        return field(default=cast("Value", self._field.default), metadata=self._field.metadata)

    def hidden(self) -> Value:
        """Return a field with the option's default, which is not on the command line."""
        hidden = replace(self._field.metadata[_DECLARED], is_offered=False)
        return field(default=cast("Value", self._field.default), metadata={_DECLARED: hidden})


# The options of several commands; those of a section are in the order of its help.

DEBATER: Final = Shared(
    plugin(
        "Debater: NAME or NAME(KEY=VALUE,...); see touche-rad list.",
        "-d --debater",
        env=True,
        default=DEFAULT,
    ),
    setting="debater",
)
JUDGE: Final = Shared(
    plugin(
        "Judge or panel: NAME or NAME(KEY=VALUE,...).",
        "-j --judge",
        env=True,
        default=DEFAULT,
    ),
    setting="judge",
)
RETRIEVER: Final = Shared(
    plugin(
        "Retriever: NAME or NAME(KEY=VALUE,...).",
        "-r --retriever",
        env=True,
        default=PluginSpec("opposing"),
    ),
    setting="retriever",
)
INDEX: Final = Shared(
    option(
        str,
        "Argument index: a folder, elasticsearch:URL/NAME, irds:NAME, or demo (the demo "
        "collection).",
        "-i --index",
        metavar="DIR",
        env=True,
    ),
    setting="index",
)
MAX_WORDS: Final = Shared(
    option(
        int,
        "Maximum words per response, cut after a sentence; 0 = no limit.",
        least=0,
        env=True,
        default=60,
    ),
    setting="max_words",
)
TURNS: Final = Shared(option(int, "User turns per debate.", default=5), setting="turns")
HOST: Final = Shared(
    option(
        str,
        "Address to listen on; 0.0.0.0 = all, with --token or --open.",
        metavar="ADDRESS",
        env=True,
        default="127.0.0.1",
    ),
    setting="host",
)
PORT: Final = Shared(
    option(int, "Port; 0 = any free port.", least=0, most=65535, env=True, default=8080),
    setting="port",
)
TRUST: Final = Shared(flag("Send keys to the addresses that the plan names."))

MODEL: Final = Shared(
    option(
        str,
        "Language model: URL#MODEL of an OpenAI-compatible server (several separated by commas), "
        "vllm:MODEL to start one, or scripted:FILE. "
        "[default: OPENAI_BASE_URL and OPENAI_MODEL]",
        "-m --model",
        metavar="MODEL",
        env=True,
        section=Section.MODEL,
    ),
    setting="model",
)
JUDGE_MODEL: Final = Shared(
    option(
        str,
        "Language model of the judge. [default: --model]",
        metavar="MODEL",
        section=Section.MODEL,
    ),
)
CACHE: Final = Shared(
    option(
        Path,
        "Cache the model's answers here and reuse them.",
        metavar="DIR",
        env=("TOUCHE_RAD_CACHE", "CACHE_DIR"),
        only_folders=True,
        section=Section.MODEL,
        is_rare=True,
    ),
    setting="cache",
)
MAX_CALLS: Final = Shared(
    option(
        int,
        "Maximum model calls per run; after that, plugins work without the model.",
        least=0,
        env=True,
        section=Section.MODEL,
        is_rare=True,
    ),
    setting="max_calls",
)
MAX_TOKENS: Final = Shared(
    option(
        int,
        "Maximum tokens per run, prompts and answers together.",
        env=True,
        section=Section.MODEL,
        is_rare=True,
    ),
    setting="max_tokens",
)
RUN_DEADLINE: Final = Shared(
    option(
        float,
        "Seconds after which a run makes no more model calls.",
        metavar="SECONDS",
        env=True,
        section=Section.MODEL,
        is_rare=True,
    ),
    setting="run_deadline",
)
TRACE: Final = Shared(
    flag(
        "Write each model call to RUN.trace.jsonl; touche-rad report shows it.",
        "--trace/--no-trace",
        env=True,
        default=True,
        shows_default=True,
        section=Section.MODEL,
        is_rare=True,
    ),
    setting="trace",
)
WAIT: Final = Shared(
    option(
        float,
        "Wait for the model's endpoint up to this many seconds; --wait alone: 600. "
        "[default: stop at once]",
        metavar="SECONDS",
        env=True,
        alone=600,
        section=Section.MODEL,
        is_rare=True,
    ),
)

DEADLINE: Final = Shared(
    option(
        float,
        "Time limit per answer or verdict in seconds; on timeout a fallback gives it. "
        "[default: none]",
        metavar="SECONDS",
        env=True,
        section=Section.RUN,
    ),
    setting="deadline",
)
WORKERS: Final = Shared(
    option(
        int,
        "Number of debates processed and model calls open in parallel. [default: 4; 64 with a "
        "model, unless --deadline or --engine ray is given]",
        most=10_000,
        env=True,
        section=Section.RUN,
    ),
    setting="workers",
)
SEED: Final = Shared(
    option(int, "Random seed.", least=0, env=True, default=0, section=Section.RUN),
    setting="seed",
)
SKIP_BAD: Final = Shared(
    flag("Skip invalid input lines and report how many.", section=Section.RUN, is_rare=True),
    setting="skip_bad",
)
RESTART: Final = Shared(
    flag("Start from the beginning instead of resuming.", section=Section.RUN, is_rare=True),
)
REPLACE: Final = Shared(flag("Replace an output that exists.", is_eager=True, section=Section.RUN))
STRICT: Final = Shared(
    flag(
        "Stop with exit code 1 at the first result that is not from the selected plugin.",
        section=Section.RUN,
    ),
)
DRY_RUN: Final = Shared(
    flag("Print calls and tokens, estimated from four debates; run nothing.", section=Section.RUN),
)
FALLBACK_INDEX: Final = Shared(
    option(
        str,
        "Fallback index, used while the server of the first one is down.",
        metavar="DIR",
        env=True,
        section=Section.RUN,
        is_rare=True,
    ),
)


def _parse_shard(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Shard | None:
    from touche_rad.runs.shard import Shard

    return Shard.parse(value) if value else None


SHARD: Final = Shared["Shard | None"](
    _declare(
        None,
        "Process part I of N of the input into RUN.shards; touche-rad merge joins the parts.",
        "",
        {"callback": _parse_shard},
        {"metavar": "I/N", "env": True, "section": Section.CLUSTER, "is_rare": True},
    ),
)
ENGINE: Final = Shared[Engine](
    choice(
        get_args(Engine),
        "Do the work here, or with Ray: on the cluster of RAY_ADDRESS, or on one that is "
        "started here.",
        env=True,
        default="local",
        section=Section.CLUSTER,
        is_rare=True,
    ),
)
ACTORS: Final = Shared(
    option(
        int,
        "With --engine ray: number of worker processes. [default: one per CPU]",
        section=Section.CLUSTER,
        is_rare=True,
    ),
)

JSON: Final = Shared(flag("Print JSON.", "--json", section=Section.GLOBAL))
QUIET: Final = Shared(
    flag("Print errors only.", "-q --quiet", section=Section.GLOBAL),
    setting="quiet",
)


@dataclass(frozen=True, kw_only=True)
class Common:
    """What opening plugins, model and index reads; a command without an option has its default."""

    plugin_options: PluginOptions = NONE
    index: str | None = INDEX.hidden()
    fallback_index: str | None = FALLBACK_INDEX.hidden()
    model: str | None = MODEL.hidden()
    cache: Path | None = CACHE.hidden()
    max_calls: int | None = MAX_CALLS.hidden()
    max_tokens: int | None = MAX_TOKENS.hidden()
    run_deadline: float | None = RUN_DEADLINE.hidden()
    wait: float | None = WAIT.hidden()
    trace: bool = TRACE.hidden()
    seed: int = SEED.hidden()
    max_words: int = MAX_WORDS.hidden()
    deadline: float | None = DEADLINE.hidden()
    workers: int | None = WORKERS.hidden()
    engine: Engine = ENGINE.hidden()
    shard: Shard | None = SHARD.hidden()
    skip_bad: bool = SKIP_BAD.hidden()
    strict: bool = STRICT.hidden()
    quiet: bool = QUIET.hidden()
    in_worker: bool = False
    """Whether this is a process of `--engine ray`, which has a cache of its own."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Common):
    """The language model, and limits of its calls."""

    model: str | None = MODEL.field()
    cache: Path | None = CACHE.field()
    max_calls: int | None = MAX_CALLS.field()
    max_tokens: int | None = MAX_TOKENS.field()
    run_deadline: float | None = RUN_DEADLINE.field()
    wait: float | None = WAIT.field()


@dataclass(frozen=True, kw_only=True)
class FileOptions(Common):
    """The options of all runs from a file of debates to an output file."""

    output: Path | None = None
    deadline: float | None = DEADLINE.field()
    workers: int | None = WORKERS.field()
    seed: int = SEED.field()
    skip_bad: bool = SKIP_BAD.field()
    strict: bool = STRICT.field()
    replace: bool = REPLACE.field()
    restart: bool = RESTART.field()
    shard: Shard | None = SHARD.field()
    engine: Engine = ENGINE.field()
    actors: int | None = ACTORS.field()
    quiet: bool = QUIET.field()
    dry_run: bool = DRY_RUN.field()
