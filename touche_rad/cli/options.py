"""Typed options: each command has one class with its options, and the shared ones are here.

A field of such a class is an option: `option`, `flag`, `argument` and others return a field of a
dataclass, whose name and type are the option's. Click parses the command line, and the command gets
the finished object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import get_annotations
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from touche_rad.cli.program import Command
from touche_rad.errors import UserError
from touche_rad.files import traces
from touche_rad.runs.shard import Shard

Options = TypeVar("Options")
Bounds = tuple[Any, Any]
"""The least and the most of a number, or None."""

_PARAMETER: Final = "parameter"
_KEY_VALUE: Final = re.compile(r"^(?:([a-z]+)\.)?([A-Za-z_][\w-]*)=(.*)$", re.DOTALL)


def command(
    name: str, *examples: str, group: click.Group | None = None
) -> Callable[[Callable[[Options], object]], Command]:
    """Declare a command: a function of one object, whose class declares the options."""

    def declare(function: Callable[[Options], object]) -> Command:
        options_class: Any = get_type_hints(function)["options"]
        made = Command(name, function, options_class, parameters_of(options_class), examples)
        if group is not None:
            group.add_command(made)
        return made

    return declare


def parameters_of(options_class: type) -> dict[str, click.Parameter]:
    """Return the parameters of an options class by field: its own ones, then those of its bases."""
    hints = get_type_hints(options_class)
    parameters: dict[str, click.Parameter] = {}
    declared = [(base, name) for base in options_class.__mro__ for name in get_annotations(base)]
    for base, name in declared:
        make = base.__dataclass_fields__[name].metadata.get(_PARAMETER)  # type: ignore[attr-defined]
        if make and name not in parameters:
            parameters[name] = make(name, hints[name])
    return parameters


@dataclass(frozen=True)
class PluginSpec:
    """A plugin as it is named on the command line: `NAME` or `NAME(KEY=VALUE,...)`."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        inner = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}({inner})" if inner else self.name


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


def option(
    text: str,
    names: str = "",
    *,
    default: Any = None,
    least: float | None = None,
    most: float | None = None,
    **more: Any,
) -> Any:
    """Declare an option; the type of the field decides how its value is parsed.

    `names` are those of the command line; without `--`, the one of the settings file. `env=True`
    reads the variable that is named after the field.
    """
    value = None if isinstance(default, PluginOptions) else default
    make = partial(_option, names.split(), value, (least, most), {"help": text, **more})
    return field(default=default, metadata={_PARAMETER: make})


def _option(
    names: Sequence[str],
    default: Any,
    bounds: Bounds,
    more: Mapping[str, Any],
    name: str,
    kind: Any,
) -> click.Parameter:
    """Make the option of a field from the name and the type of the field."""
    settings = {**_settings(kind, bounds), **more}
    env = settings.pop("env", False)
    if env:
        settings["envvar"] = f"TOUCHE_RAD_{name.upper()}" if env is True else env
    if default is not None or settings.get("is_flag"):
        shows = not settings.get("is_flag") and default not in ((), "")
        text = default.name if isinstance(default, PluginSpec) else default
        settings = {"default": text, "show_default": shows, **settings}
    flags = [one for one in names if one.startswith("-")] or [f"--{name.replace('_', '-')}"]
    return click.Option([*flags, *(set(names) - set(flags) or (name,))], **settings)


flag = partial(option, default=False)
say = partial(option, names="--say", metavar="TEXT")


def argument(metavar: str | None = None, *, required: bool = True, **more: Any) -> Any:
    """Declare an argument of the command line."""
    make = partial(_argument, {"metavar": metavar, "required": required, **more})
    return field(default=None, metadata={_PARAMETER: make})


def _argument(more: Mapping[str, Any], name: str, kind: Any) -> click.Parameter:
    settings = _settings(kind, (None, None))
    if settings.pop("multiple", False):
        settings |= {"nargs": -1, "callback": _without_traces}
    return click.Argument([name], **{**settings, **more})


def _without_traces(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Leave out the traces beside runs, which a pattern such as *.jsonl matches."""
    return tuple(one for one in value if not str(one).endswith(traces.TRACE)) or value


def _settings(kind: Any, bounds: Bounds) -> dict[str, Any]:
    """Return what click must know about values of a type."""
    least, most = bounds
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (one for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is tuple:
        return {**_settings(get_args(kind)[0], bounds), "multiple": True}
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}
    if kind is bool:
        return {"is_flag": True}
    if kind is int:
        return {"type": click.IntRange(1 if least is None else least, most), "metavar": "N"}
    if kind is float:
        return {"type": click.FloatRange(least or 0, most, min_open=least is None), "metavar": "N"}
    if kind is Path:
        return {"type": click.Path(path_type=Path), "metavar": "FILE"}
    return {}


def plugin(text: str, names: str = "", **more: Any) -> Any:
    """Declare an option that names a plugin, or several if the field is a tuple."""

    def parse(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
        from touche_rad.plugins.registry import parse_plugin

        if isinstance(value, tuple):
            return tuple(PluginSpec(*parse_plugin(one)) for one in value)
        return PluginSpec(*parse_plugin(value)) if value is not None else None

    return option(text, names, metavar="NAME", callback=parse, **more)


def output(text: str, metavar: str = "FILE", *, checked: bool = False, **more: Any) -> Any:
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

    path = click.Path()  # of any kind, which the callback checks; shells complete it
    return option(text, "-o --output", type=path, metavar=metavar, callback=parse, **more)


def plugin_options(main: str | None, *others: str) -> Any:
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
    return option(
        f"{what}; repeatable.",
        "-O --option options",
        default=NONE,
        multiple=True,
        metavar="KEY=VALUE",
        callback=parse,
    )


DEBATER: Any = plugin(
    "Debater: NAME or NAME(KEY=VALUE,...); see touche-rad list.",
    "-d --debater",
    env=True,
    default=DEFAULT,
)
JUDGE: Any = plugin(
    "Judge or panel: NAME or NAME(KEY=VALUE,...).",
    "-j --judge",
    env=True,
    default=DEFAULT,
)
INDEX: Any = option(
    "Argument index: a folder, elasticsearch:URL/NAME, irds:NAME, or demo (the demo collection).",
    "-i --index",
    metavar="DIR",
    env=True,
)
FALLBACK_INDEX: Any = option(
    "Fallback index, used while the server of the first one is down.",
    metavar="DIR",
    env=True,
)
SEED: Any = option("Random seed.", least=0, env=True, default=0)
MAX_WORDS: Any = option(
    "Maximum words per response, cut after a sentence; 0 = no limit.", least=0, env=True, default=60
)
DEADLINE: Any = option(
    "Time limit per answer or verdict in seconds; on timeout a fallback gives it. [default: none]",
    metavar="SECONDS",
    env=True,
)
WORKERS: Any = option(
    "Number of debates processed and model calls open in parallel. [default: 4; 64 with a "
    "model, unless --deadline or --engine ray is given]",
    most=10_000,
    env=True,
)
SKIP_BAD: Any = flag("Skip invalid input lines and report how many.")
STRICT: Any = flag(
    "Stop with exit code 1 at the first result that is not from the selected plugin."
)
REPLACE: Any = flag("Replace an output that exists.", is_eager=True)
RESTART: Any = flag("Start from the beginning instead of resuming.")
TRUST: Any = flag("Send keys to the addresses that the plan names.")
QUIET: Any = flag("Print errors only.", "-q --quiet")
JSON: Any = flag("Print JSON.", "--json")
MODEL: Any = option(
    "Language model: URL#MODEL of an OpenAI-compatible server (several separated by commas), "
    "vllm:MODEL to start one, or scripted:FILE. "
    "[default: OPENAI_BASE_URL and OPENAI_MODEL]",
    "-m --model",
    metavar="MODEL",
    env=True,
)
CACHE: Any = option(
    "Cache the model's answers here and reuse them.",
    metavar="DIR",
    env=["TOUCHE_RAD_CACHE", "CACHE_DIR"],
    type=click.Path(file_okay=False, path_type=Path),
)
TRACE: Any = option(
    "Write each model call to RUN.trace.jsonl; touche-rad report shows it.",
    "--trace/--no-trace",
    env=True,
    show_default=True,
    default=True,
)
WAIT: Any = option(
    "Wait for the model's endpoint up to this many seconds; --wait alone: 600. "
    "[default: stop at once]",
    metavar="SECONDS",
    env=True,
    is_flag=False,
    flag_value=600,
)


@dataclass(frozen=True, kw_only=True)
class Common:
    """What opening plugins, model and index reads; a command without an option has its default."""

    plugin_options: PluginOptions = NONE
    index: str | None = None
    fallback_index: str | None = None
    model: str | None = None
    cache: Path | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    run_deadline: float | None = None
    wait: float | None = None
    trace: bool = True
    seed: int = 0
    max_words: int = 60
    deadline: float | None = None
    workers: int | None = None
    engine: Literal["local", "ray"] = "local"
    shard: Shard | None = None
    skip_bad: bool = False
    strict: bool = False
    quiet: bool = False
    in_worker: bool = False
    """Whether this is a process of `--engine ray`, which has a cache of its own."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Common):
    """The language model, and limits of its calls."""

    model: str | None = MODEL
    cache: Path | None = CACHE
    max_calls: int | None = option(
        "Maximum model calls per run; after that, plugins work without the model.",
        least=0,
        env=True,
    )
    max_tokens: int | None = option(
        "Maximum tokens per run, prompts and answers together.", env=True
    )
    run_deadline: float | None = option(
        "Seconds after which a run makes no more model calls.", metavar="SECONDS", env=True
    )
    wait: float | None = WAIT


@dataclass(frozen=True, kw_only=True)
class FileOptions(Common):
    """The options of all runs from a file of debates to an output file."""

    output: Path | None = None
    deadline: float | None = DEADLINE
    workers: int | None = WORKERS
    seed: int = SEED
    skip_bad: bool = SKIP_BAD
    strict: bool = STRICT
    replace: bool = REPLACE
    restart: bool = RESTART
    shard: Shard | None = option(
        "Process part I of N of the input into RUN.shards; touche-rad merge joins the parts.",
        metavar="I/N",
        callback=lambda ctx, parameter, value: Shard.parse(value) if value else None,
        env=True,
    )
    engine: Literal["local", "ray"] = option(
        "Do the work here, or with Ray: on the cluster of RAY_ADDRESS, or on one that is "
        "started here.",
        env=True,
        default="local",
    )
    actors: int | None = option(
        "With --engine ray: number of worker processes. [default: one per CPU]"
    )
    quiet: bool = QUIET
    dry_run: bool = flag("Print calls and tokens, estimated from four debates; run nothing.")
